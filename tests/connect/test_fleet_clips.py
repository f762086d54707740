"""systemd/edged-upload.*: clips to a store, in a real systemd with rclone, against moto, which checks signatures.

The store is away, and an upload is killed and restarted in its midst: nothing is lost, nothing is sent twice.
As root, with the root that scripts/bed-root built.
"""

import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

import daemon
import fleet
from fleet import OUTAGE_S, recipe
from ports import free_port

sys.path.append(str(daemon.ROOT / "tests/systemd"))
import beds  # noqa: E402
from container import Container  # noqa: E402

CLIPS = "/var/lib/edged/clips"
# moto signs its own decoded form of a query, where everybody else signs what is sent.
MOTO = """
import sys, urllib.parse
from moto.iam import access_control
from moto.server import main
create = access_control.IAMRequestBase._create_aws_request
def create_as_sent(self):
    path, _, query = self._path.partition("?")
    pairs = urllib.parse.parse_qsl(query, keep_blank_values=True)
    self._path = path + ("?" + urllib.parse.urlencode(pairs, quote_via=urllib.parse.quote, safe="") if pairs else "")
    return create(self)
access_control.IAMRequestBase._create_aws_request = create_as_sent
main(sys.argv[1:])
"""
SETUP = """
import boto3, json, sys
keys = {"endpoint_url": sys.argv[1], "region_name": "us-east-1", "aws_access_key_id": "x", "aws_secret_access_key": "y"}
boto3.client("s3", **keys).create_bucket(Bucket="clips")
iam = boto3.client("iam", **keys)
iam.create_user(UserName="device")
statements = [{"Effect": "Allow", "Action": ["s3:ListBucket", "s3:PutObject", "s3:GetObject"],
               "Resource": ["arn:aws:s3:::clips", "arn:aws:s3:::clips/*"]}]
iam.put_user_policy(UserName="device", PolicyName="own", PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": statements}))
key = iam.create_access_key(UserName="device")["AccessKey"]
print(key["AccessKeyId"], key["SecretAccessKey"])
"""
LIST = """
import boto3, hashlib, json, sys
s3 = boto3.client("s3", endpoint_url=sys.argv[1], region_name="us-east-1", aws_access_key_id=sys.argv[2], aws_secret_access_key=sys.argv[3])
pages = s3.get_paginator("list_objects_v2").paginate(Bucket="clips")
print(json.dumps({one["Key"]: one["ETag"].strip('"') for page in pages for one in page.get("Contents", [])}))
"""


class Store:
    """moto: its objects live in memory, so the store is away by a proxy that is gone, not by its end."""

    def __init__(self, folder):
        self.python = pathlib.Path(os.environ["EDGED_CONNECT"]) / "store/bin/python"
        self.port, self.inner = free_port(), free_port()
        # Four requests make the bucket and the key; from then on each has to be signed and allowed.
        self.engine = fleet.Engine("Running on", self.python, "-c", MOTO, "-H", "127.0.0.1", "-p", self.inner,
                                   INITIAL_NO_AUTH_ACTION_COUNT=4)
        self.url = f"http://127.0.0.1:{self.inner}"
        self.key = self.run(SETUP).split()
        self.proxy = None
        self.configuration = folder / "nginx.conf"
        self.log = folder / "puts"
        self.configuration.write_text(f"""
            pid {folder}/pid; error_log {folder}/errors; worker_processes 1; daemon off;
            {"user root;" if os.geteuid() == 0 else ""}
            events {{ worker_connections 64; }}
            http {{
                log_format puts "$request_method $status $request_length $uri";
                access_log {self.log} puts;
                client_body_temp_path {folder}/body; client_max_body_size 0; proxy_request_buffering off;
                server {{ listen 127.0.0.1:{self.port};
                          location / {{ proxy_pass {self.url}; proxy_http_version 1.1; proxy_set_header Host $http_host; }} }}
            }}""")
        self.come()

    def run(self, program, *arguments):
        return fleet.run(self.python, "-c", program, self.url, *arguments)

    def objects(self):
        """Names and MD5 sums."""
        return json.loads(self.run(LIST, *self.key))

    def come(self):
        self.proxy = subprocess.Popen(["/usr/sbin/nginx", "-c", self.configuration])
        daemon.wait_for(self.answers)

    def answers(self):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{self.port}/", timeout=10)
        except urllib.error.HTTPError:
            return True
        except OSError:
            return False
        return True

    def go(self):
        self.proxy.terminate()
        self.proxy.wait(daemon.PATIENCE_S)

    def puts(self):
        """How often each object was sent whole."""
        lines = re.findall(r"^PUT 200 \d+ /clips/(\S+)$", self.log.read_text(), re.M)
        return collections.Counter(lines)

    def close(self):
        if self.proxy.poll() is None:
            self.go()
        self.engine.end()


@pytest.fixture
def store(tmp_path):
    one = Store(tmp_path)
    yield one
    one.close()


@pytest.fixture
def device(store, tmp_path):
    """A container that shares the host's loopback, records clips of a few seconds and has rclone."""
    configuration = recipe("clips/rclone.conf", tmp_path, {
        "https://s3.centre.example": f"http://127.0.0.1:{store.port}", "access_key_id = FILL IN": f"access_key_id = {store.key[0]}",
        "secret_access_key = FILL IN": f"secret_access_key = {store.key[1]}"})

    def stage(staged):
        beds.stage(staged)
        (staged / "usr/bin").mkdir(parents=True, exist_ok=True)
        shutil.copy(shutil.which("rclone"), staged / "usr/bin/rclone")

    bed = Container(stage=stage)
    bed.write("/etc/edged/rclone.conf", configuration.read_text())
    bed.write("/etc/edged/edged.conf", f"""
        rtsp = {{ port = {free_port()}; }};
        http = {{ port = 0; }};
        cameras = ( {{ name = "front"; source = "pattern"; width = 320; height = 240; fps = 10;
                       record = {{ mode = "always"; max_clip_s = 10; }}; }} );""")
    bed.check("chmod 600 /etc/edged/rclone.conf && systemctl daemon-reload && systemctl enable --now edged edged-upload.path"
              " edged-upload.timer")
    yield bed
    bed.close()


def finished(device):
    """The clips and pictures that are whole, by their name in the store, with their MD5 sums."""
    host = device.check("hostname").strip()
    lines = device.check(f"cd {CLIPS} && find . -name '*.mp4' -o -name '*.jpg' | xargs -r md5sum").splitlines()
    return {f"{host}/{name.removeprefix('./')}": digest for digest, name in (line.split(None, 1) for line in lines)}


def upload_log(device):
    return device.run("journalctl --no-pager -u 'edged-upload.*' -n 40")[1]


def wait_all_sent(device, store):
    def all_there():
        have = store.objects()
        return all(have.get(name) == digest for name, digest in finished(device).items())

    beds.wait_until(upload_log(device), all_there, 400)


def test_clips_reach_the_store_once_over_outages_and_restarts(device, store):
    beds.wait_until("a clip", lambda: len(finished(device)) >= 2)
    wait_all_sent(device, store)
    assert "Failed" not in upload_log(device)

    # The store is away.
    before = len(finished(device))
    store.go()
    begin = time.monotonic()
    while time.monotonic() < begin + OUTAGE_S:
        time.sleep(5)
    away = len(finished(device)) - before
    assert away >= OUTAGE_S // 15
    store.come()
    wait_all_sent(device, store)

    # An upload is killed in the midst of a clip, another one is restarted.
    device.check("mkdir -p /run/systemd/system/edged-upload.service.d && printf '[Service]\\nEnvironment=RCLONE_BWLIMIT=8k\\n' "
                 ">/run/systemd/system/edged-upload.service.d/slow.conf && systemctl daemon-reload")
    count = len(finished(device))
    beds.wait_until("another clip", lambda: len(finished(device)) > count + 1)
    beds.wait_until("an upload", lambda: device.run("pgrep -x rclone")[0] == 0)
    time.sleep(3)
    device.check("pkill -KILL -x rclone")
    time.sleep(2)
    device.check("systemctl restart --no-block edged-upload")
    time.sleep(3)
    device.check("systemctl stop edged-upload; rm /run/systemd/system/edged-upload.service.d/slow.conf; systemctl daemon-reload;"
                 " systemctl start edged-upload")
    device.check("systemctl stop edged-recorder.service edged")
    device.check("systemctl start edged-upload")
    wait_all_sent(device, store)

    there, sent = store.objects(), store.puts()
    print(f"{len(there)} objects, {away} files ended while the store was away for {OUTAGE_S} s; "
          f"{sum(sent.values())} uploads that ended")
    assert set(there) == set(finished(device))
    assert set(sent.values()) == {1} and set(sent) == set(there)


def test_a_user_of_its_own_reads_the_key_where_systemd_hands_over_none(device, store):
    """systemd-245.conf, on the systemd that is here."""
    drop_in = (fleet.FLEET / "clips/systemd-245.conf").read_text()
    device.check("mkdir -p /etc/systemd/system/edged-upload.service.d && mv /etc/edged/rclone.conf /root")
    # What an upload sees of edged, too: clips, and neither its control socket nor its configuration.
    looks = '\nExecStartPre=-/bin/sh -c "ls /run/edged/ /etc/edged/; ls /var/lib/edged/"\n'
    device.write("/etc/systemd/system/edged-upload.service.d/systemd-245.conf", drop_in + looks)
    commands = re.findall(r"^#   (.*)$", drop_in, re.M)
    assert len(commands) == 3
    device.check("cd /root && " + " && ".join(commands) + " && systemctl daemon-reload")
    beds.wait_until("a clip", lambda: len(finished(device)) >= 2)
    wait_all_sent(device, store)
    device.check("systemctl start edged-upload")
    assert device.check("systemctl show -P User edged-upload").strip() == "edged-upload"
    seen = re.findall(r"sh\[\d+\]: (.*)", device.check("journalctl --no-pager -u edged-upload")) or re.findall(
        r"ls\[\d+\]: (.*)", device.check("journalctl --no-pager -u edged-upload"))
    assert "ls: cannot open directory '/run/edged/': Permission denied" in seen, seen
    assert "clips" in seen and "edged.conf" not in seen and "tls.pem" not in seen
    assert set(store.puts().values()) == {1}
