"""`edgectl set --keep` and `unset` of keys that only the configuration file can have."""

import http.client
import json
import os
import pathlib
import re
import shutil
import ssl
import subprocess
import tempfile

import pytest

import daemon
from daemon import EDGECTL, PATIENCE_S, environment
from ports import free_port
from test_reload import SMALL
from test_users import make_file

COMMENT = "# mine\n"


def run(server, command, *arguments):
    return subprocess.run([EDGECTL, command, "--config", server.config, *arguments], text=True,
                          env=environment(), capture_output=True, timeout=PATIENCE_S, check=False)


@pytest.fixture
def serve(edged, tmp_path):
    """Starts an edged on loopback addresses whose file has a comment in front of its settings."""

    def start(**settings):
        (tmp_path / "state").mkdir()
        server = edged([daemon.camera("front", **SMALL)], settings=settings,
                       STATE_DIRECTORY=tmp_path / "state")
        server.config.write_text(COMMENT + server.config.read_text())
        return server

    return start


@pytest.fixture(scope="module")
def shared(shared_edged, tmp_path_factory):
    """One that every test of refusals asks, because none of them changes it."""
    return shared_edged([daemon.camera("front", **SMALL)],
                        settings={"http": {"port": free_port()}},
                        STATE_DIRECTORY=tmp_path_factory.mktemp("state"))


def answers(host, port):
    """Whether https answers there at all; a login is asked for."""
    connection = http.client.HTTPSConnection(host, port, timeout=PATIENCE_S,
                                             context=ssl._create_unverified_context())
    try:
        connection.request("GET", "/v1/status")
        return connection.getresponse().status == 401
    except OSError:
        return False


def test_a_command_opens_the_page_to_the_network_and_closes_it_again(serve, tmp_path):
    port = free_port()
    server = serve(rtsp={"users": make_file(tmp_path)}, http={"port": port})
    was = server.config.read_text()
    assert not answers("127.0.0.2", port)
    done = run(server, "set", "--keep", "http.address=0.0.0.0", "http.tls=true")
    assert done.returncode == 0, done.stderr
    assert 'http.address: "127.0.0.1" -> "0.0.0.0", between two frames\n' in done.stdout
    assert done.stdout.endswith(f"kept in {server.config}\n")
    assert answers("127.0.0.2", port)
    assert server.config.read_text().startswith(COMMENT)
    done = run(server, "unset", "http.address", "http.tls")
    assert done.returncode == 0, done.stderr
    assert not answers("127.0.0.2", port)
    assert server.config.read_text().split() == was.split()


def test_a_key_that_waits_for_the_next_start_says_so(serve):
    server = serve()
    port = free_port()
    done = run(server, "set", "--keep", f"rtsp.port={port}")
    assert done.returncode == 0, done.stderr
    assert f"-> {port}, when edged is started again\n" in done.stdout
    assert "until edged is started again" in done.stderr
    assert server.config.read_text().count(f"port = {port};") == 1
    server.stop()
    done = run(server, "set", "--keep", "--json", "cpu_threads=2")
    assert done.returncode == 0, done.stderr
    reply = json.loads(done.stdout)
    assert reply["kept"] and reply["file"] == str(server.config)
    assert reply["changed"] == [{"key": "cpu_threads", "before": 1, "after": 2, "cost": "camera"}]
    assert reply["warnings"] == ["edged is not running: this takes effect when it starts"]


@pytest.mark.parametrize("arguments, sentence", [
    (["http.address=0.0.0.0"], 'http.address: got "0.0.0.0", allowed: 127.0.0.0/8'),
    (["cpu_threads=99"], "cpu_threads: got 99, allowed: an integer from 1 to 16"),
    (["rtsp.auth=none"], "rtsp.auth: it can let anybody watch without a password"),
    (["rtsp.users="], "rtsp.users: `edgectl setup --user NAME` makes a user"),
    (["control.socket=/tmp/s"], "control.socket: edgectl finds edged by it"),
    (["storage.path=/media/card"], "storage.path: `edgectl setup --storage PATH` sets it"),
    (["rtsp.plain=false", "rtsp.tls_port=8399"], "rtsp.plain can change only when edged is started"),
    (["cpu_threads=1", "cameras.front.fps=5"], "set them one after the other"),
    (["cameras.back.device=/dev/video1"], 'cameras.back.device: got "back", allowed: front'),
    (["cpu_threads=1", "cpu_threads"], "allowed: KEY=VALUE"),
])
def test_what_would_lock_out_or_let_in_is_refused_and_the_file_stays(shared, arguments, sentence):
    was = shared.config.read_text()
    done = run(shared, "set", "--keep", *arguments)
    assert done.returncode != 0
    assert sentence in done.stderr
    assert shared.config.read_text() == was
    assert shared.status()["cameras"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
@pytest.mark.parametrize("words", [["set", "--keep", "--config", "edged.conf", "cpu_threads=1"],
                                   ["passwd", "--config", "edged.conf", "anna"],
                                   ["token", "--config", "edged.conf", "home"]], ids=lambda words: words[0])
def test_who_may_not_write_the_file_is_told_of_sudo(words):
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        edgectl = shutil.copy(EDGECTL, directory)
        config = pathlib.Path(directory) / "edged.conf"
        config.write_text("cpu_threads = 2;\n")
        done = subprocess.run([edgectl, *words], cwd=directory, input="three words here\n",
                              env=environment(), capture_output=True, text=True,
                              timeout=PATIENCE_S, check=False, user=65534, group=65534,
                              extra_groups=[])
        assert done.returncode == 1
        assert "Permission denied; run it with sudo" in done.stderr
        assert config.read_text() == "cpu_threads = 2;\n"


def test_without_keep_or_a_file_of_its_own_nothing_is_written(serve):
    server = serve()
    was = server.config.read_text()
    done = run(server, "set", "cpu_threads=2")
    assert done.returncode == 1
    assert "cpu_threads=2: can only be changed in the file, by --keep" in done.stderr
    done = run(server, "set", "--keep", "--dry-run", "cpu_threads=2")
    assert done.returncode == 0 and "cpu_threads: 1 -> 2, this camera starts anew\n" == done.stdout
    done = subprocess.run([EDGECTL, "set", "--keep", "--socket", server.socket, "cpu_threads=2"],
                          env=environment(), capture_output=True, text=True, timeout=PATIENCE_S,
                          check=False)
    assert "cpu_threads: can only be changed in the file" in done.stderr
    assert server.config.read_text() == was


def test_a_camera_of_the_file_gets_another_device(serve):
    server = serve()
    done = run(server, "set", "--keep", "cameras.front.source=file",
               f"cameras.front.path={daemon.ROOT / 'tests/data/none.mp4'}")
    assert done.returncode == 0, done.stderr
    assert re.match(rf"{server.config}:\d+: warning: cameras\[0\].path: cannot open ", done.stderr)
    assert 'source = "file";' in server.config.read_text()
    server.wait_camera("front", lambda camera: camera["state"] != "live")
