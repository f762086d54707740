"""ONVIF: what clients ask before a login and after it, who may ask, streams and snapshots by the URLs
that it tells, motion by pull points. Expectations are those of ONVIF's specifications and of the
clients that ran against it; test_onvif_answers.py has every answer whole."""

import hashlib
import http.client
import re
import socket
import subprocess
import time

import pytest

import daemon
import onvif_client
from onvif_client import DEVICE, EVENTS, MEDIA, NOTIFICATION, SOAP, Client, token
from test_events import FAKE_CAMERA, REGIONS, toggle
from test_http import write_users

SMALL = {"width": 320, "height": 240}
VIEWS = ("edges", {"name": "photo", "view": "camera", "codec": "mjpeg"},
         {"name": "newer", "view": "camera", "codec": "h265"},
         {"name": "secret", "view": "camera", "allow": ["admin"]})


class Bed:
    """An edged with a user of ONVIF, "hass", and clients of it."""

    def __init__(self, edged, folder, cameras, tls=False, users=True, address="127.0.0.1", onvif=None, **extra):
        (folder / "edged-0").mkdir()
        self.users = folder / "edged-0/rtsp.users"
        self.password = onvif_client.add_user(self.users) if users else None
        settings = onvif_client.settings(self.users if users else None, **(onvif or {}))
        settings["http"].update(tls=tls, address=address)
        self.server = edged(cameras, settings=settings, STATE_DIRECTORY=folder, **extra)
        self.port, self.tls, self.clients = settings["http"]["port"], tls, []

    def client(self, user="hass", password=None, **options):
        self.clients.append(Client(self.port, user, password or self.password, self.tls, **options))
        return self.clients[-1]


@pytest.fixture
def bed(edged, tmp_path):
    beds = []

    def start(cameras=None, **options):
        beds.append(Bed(edged, tmp_path, cameras or [daemon.camera(views=VIEWS, **SMALL)], **options))
        return beds[-1]

    yield start
    for one in beds:
        for client in one.clients:
            client.close()


# What it is
# ---------------------------------------------------------------------

OPEN = [(DEVICE, "GetSystemDateAndTime"), (DEVICE, "GetServices"), (DEVICE, "GetServiceCapabilities"),
        (DEVICE, "GetCapabilities"), (DEVICE, "GetHostname"), (DEVICE, "GetWsdlUrl"),
        (DEVICE, "GetEndpointReference"), (MEDIA, "GetServiceCapabilities"), (EVENTS, "GetServiceCapabilities")]


def test_what_a_client_needs_before_a_login_is_open_and_nothing_else(bed):
    one = bed()
    stranger = one.client(user=None)
    for service, operation in OPEN:
        reply = stranger.ask(service, operation)
        assert reply.status == 200 and reply.body.tag == f"{{{service}}}{operation}Response", reply.text
    now = stranger.ask(DEVICE, "GetSystemDateAndTime")
    assert int(now.all("Year")[0]) == time.gmtime().tm_year
    for service, operation in [(DEVICE, "GetDeviceInformation"), (DEVICE, "GetUsers"), (MEDIA, "GetProfiles"),
                               (DEVICE, "GetScopes"), (EVENTS, "CreatePullPointSubscription"),
                               (EVENTS, "PullMessages"), (NOTIFICATION, "Renew")]:
        reply = stranger.ask(service, operation, path="/onvif/device_service")
        assert reply.status == 401 and reply.fault[:2] == ("Sender", "NotAuthorized"), reply.text
        assert all(x.startswith("Digest ") for x in reply.headers.get_all("WWW-Authenticate"))


def test_addresses_are_those_by_which_the_client_came(bed):
    one = bed()
    client = one.client(host="localhost")
    base = f"http://localhost:{one.port}"
    assert sorted(client.ask(DEVICE, "GetServices").all("XAddr")) == [
        f"{base}/onvif/{path}" for path in ("device_service", "events_service", "media_service")]
    assert client.ask(MEDIA, "GetStreamUri", "<ProfileToken>front/edges</ProfileToken>").one("Uri") == (
        f"rtsp://localhost:{one.server.port}/front/edges")


def test_profiles_are_the_h264_and_mjpeg_views_that_the_user_may_watch(bed):
    one = bed()
    client = one.client()
    one.server.wait_mount("/front/edges", lambda m: m["width"] == 320)
    reply = client.ask(MEDIA, "GetProfiles")
    assert reply.attributes("Profiles", "token") == ["front/edges", "front/photo"]
    assert reply.all("Encoding") == ["H264", "JPEG"] and reply.all("Width") == ["320", "320"]
    assert reply.all("FrameRateLimit") == ["30", "30"] and reply.all("BitrateLimit") == ["4000", "4000"]
    assert reply.all("H264Profile") in (["High"], ["Main"], ["Baseline"])
    assert client.ask(MEDIA, "GetProfile", "<ProfileToken>front/photo</ProfileToken>").attributes(
        "Profile", "token") == ["front/photo"]
    assert client.ask(MEDIA, "GetVideoSources").attributes("VideoSources", "token") == ["front"]
    for absent in ("front/newer", "front/secret", "front", "nobody/edges", "", "front/edges/"):
        reply = client.ask(MEDIA, "GetProfile", f"<ProfileToken>{absent}</ProfileToken>")
        assert reply.status == 400 and reply.fault[:3] == ("Sender", "InvalidArgVal", "NoProfile"), reply.text
    multicast = ("<StreamSetup><Stream>RTP-Multicast</Stream></StreamSetup>"
                 "<ProfileToken>front/edges</ProfileToken>")
    assert client.ask(MEDIA, "GetStreamUri", multicast).fault[:3] == (
        "Sender", "InvalidArgVal", "InvalidStreamSetup")


def test_tokens_and_names_of_the_longest_names_are_not_too_long_for_clients(bed):
    """The schema has 64 characters for either."""
    views = [letter * 32 for letter in "vw"] + ["v" * 31]
    client = bed([daemon.camera("c" * 32, views=[{"name": view, "view": "edges"} for view in views], **SMALL)]).client()
    profiles = client.ask(MEDIA, "GetProfiles")
    tokens = profiles.attributes("Profiles", "token")
    assert tokens == ["c" * 32 + "v" * 32, "c" * 32 + "w" * 32, "c" * 32 + "/" + "v" * 31]
    assert max(map(len, profiles.all("Name"))) == 64
    for one, view in zip(tokens, views, strict=True):
        uri = client.ask(MEDIA, "GetStreamUri", f"<ProfileToken>{one}</ProfileToken>").one("Uri")
        assert uri.endswith(f"/{'c' * 32}/{view}")
    assert client.ask(MEDIA, "GetProfile", f"<ProfileToken>{'c' * 32}/{views[0]}</ProfileToken>").fault[2] == "NoProfile"


def test_one_password_is_for_onvif_the_stream_and_the_snapshot(bed, tmp_path):
    one = bed()
    client = one.client()
    stream = client.ask(MEDIA, "GetStreamUri", "<ProfileToken>front/edges</ProfileToken>").one("Uri")
    picture = client.ask(MEDIA, "GetSnapshotUri", "<ProfileToken>front/photo</ProfileToken>").one("Uri")
    login = f"hass:{one.password}"
    probed = subprocess.run(
        ["ffprobe", "-v", "error", "-rtsp_transport", "tcp", "-show_entries", "stream=codec_name", "-of",
         "csv=p=0", stream.replace("//", f"//{login}@")], capture_output=True, text=True,
        timeout=daemon.PATIENCE_S, check=False)
    assert probed.stdout.strip() == "h264", probed.stderr

    def snap():
        got = subprocess.run(["curl", "-q", "-sS", "--digest", "-u", login, "-o", tmp_path / "picture.jpg", "-w",
                              "%{http_code} %{content_type}", picture], capture_output=True, text=True,
                             timeout=daemon.PATIENCE_S, check=False)
        return not got.stdout.startswith("503") and got  # a busy machine has none in time

    got = daemon.wait_for(snap)
    assert got.stdout == "200 image/jpeg", got
    assert (tmp_path / "picture.jpg").read_bytes()[:2] == b"\xff\xd8"
    assert one.client(user="hass", password="guess").ask(MEDIA, "GetProfiles").status == 401


def test_a_camera_is_a_device_of_its_own_as_well(bed):
    one = bed([daemon.camera("front", **SMALL), daemon.camera("subscription", **SMALL)])
    whole, part = one.client(), one.client(folder="onvif/subscription/")
    assert whole.ask(MEDIA, "GetProfiles").attributes("Profiles", "token") == [
        "front/edges", "subscription/edges"]
    assert part.ask(MEDIA, "GetProfiles").attributes("Profiles", "token") == ["subscription/edges"]
    assert all("/onvif/subscription/" in x for x in part.ask(DEVICE, "GetCapabilities").all("XAddr"))
    assert whole.ask(DEVICE, "GetEndpointReference").text != part.ask(DEVICE, "GetEndpointReference").text
    assert one.client(folder="onvif/nobody/").ask(MEDIA, "GetProfiles").fault[1] == "InvalidArgVal"
    assert whole.post("/onvif/elsewhere", "").status == 404
    assert whole.post("/onvif/front/elsewhere", "").status == 404


def test_an_unknown_operation_is_not_implemented_in_lower_case(bed):
    # Home Assistant looks for these words, and gives a camera up without them.
    client = bed().client()
    for service, operation in ((DEVICE, "GetWlanCapabilities"), (MEDIA, "CreateProfile"),
                               ("http://www.onvif.org/ver20/ptz/wsdl", "GetNodes"), (EVENTS, "Subscribe")):
        reply = client.ask(service, operation, path="/onvif/device_service")
        assert reply.status == 500 and reply.fault[:2] == ("Receiver", "ActionNotSupported"), reply.text
        assert "not implemented" in reply.fault[-1]


def test_onvif_is_off_by_default(edged):
    settings = onvif_client.settings(enabled=False)
    edged([daemon.camera(**SMALL)], settings=settings)
    client = Client(settings["http"]["port"])
    reply = client.ask(DEVICE, "GetSystemDateAndTime")
    assert reply.status == 404 and "onvif.enabled" in reply.text
    client.close()


# Who asks
# ---------------------------------------------------------------------

def ask_with(client, header, **headers):
    return client.ask(DEVICE, "GetDeviceInformation", header=header, **headers)


def test_a_token_is_taken_once_from_one_address_and_within_five_minutes(bed):
    one = bed()
    client = one.client()
    header = token("hass", one.password)
    assert ask_with(client, header).status == 200
    assert ask_with(client, header).status == 200  # libonvif does so
    other = one.client(source="127.0.0.2")
    assert ask_with(other, header).status == 401
    time.sleep(5.2)
    assert ask_with(client, header).status == 401
    for ahead_s in (-270, 270):
        assert ask_with(client, token("hass", one.password, ahead_s=ahead_s)).status == 200
    for ahead_s, word in ((-400, "behind"), (400, "ahead"), (86400, "ahead")):
        reply = ask_with(client, token("hass", one.password, ahead_s=ahead_s))
        assert reply.status == 401 and "the clocks differ" in reply.fault[-1], reply.text
        # By as long as a busy machine takes to read it.
        assert abs(int(re.search(rf"(\d+) s {word}", reply.fault[-1])[1]) - abs(ahead_s)) <= 30, reply.text
    # Only who has the password is told of the clock.
    assert "clocks" not in ask_with(client, token("hass", "guess", ahead_s=400)).fault[-1]
    for created in ("yesterday", ""):
        assert ask_with(client, token("hass", one.password, created=created)).status == 401


def test_wrong_passwords_are_throttled_as_everywhere(bed):
    one = bed()
    client = one.client()

    def guess():
        return ask_with(client, token("hass", "guess")).status

    def throttled():
        """The right password as well, unless a busy machine takes the second after which one try comes back."""
        daemon.wait_for(lambda: guess() == 429)
        reply = ask_with(client, token("hass", one.password))
        return reply.status == 429 and reply

    assert [guess() for _ in range(5)] == [401] * 5
    reply = daemon.wait_for(throttled)
    assert int(reply.headers["Retry-After"]) >= 1
    time.sleep(int(reply.headers["Retry-After"]))
    assert ask_with(client, token("hass", one.password)).status == 200
    assert one.server.status()["logins"]["failed"] >= 5


def test_a_password_as_text_is_taken_inside_tls_alone(bed):
    one = bed()
    text = token("hass", one.password, kind="PasswordText")
    assert ask_with(one.client(), text).status == 401
    assert ask_with(one.client(), token("hass", one.password, kind="PasswordText")).status == 401
    assert one.server.status()["logins"]["failed"] == 0  # none was tried


def test_inside_tls_any_user_logs_in_by_text_and_basic(bed):
    one = bed(tls=True)
    write_users(one.users, vera="viewer", otto="admin")
    one.server.hang_up()
    client = one.client()
    assert ask_with(client, token("vera", "pass", kind="PasswordText")).status == 200
    reply = client.ask(MEDIA, "GetProfiles", header=token("otto", "pass", kind="PasswordText"))
    assert reply.attributes("Profiles", "token") == ["front/edges", "front/photo", "front/secret"]
    assert all(x.startswith("https://") for x in client.ask(DEVICE, "GetServices", header="").all("XAddr"))
    # A digest needs the password itself, which is known of no user but edgectl's own.
    assert ask_with(client, token("vera", "pass")).status == 401


def test_inside_tls_onvif_alone_is_answered_without_it_as_well(bed):
    one = bed(tls=True)
    client = one.client()
    plain = Client(one.port, "hass", one.password)
    one.clients.append(plain)
    assert plain.ask(MEDIA, "GetProfiles").status == 200
    assert all(x.startswith("http://") for x in plain.ask(DEVICE, "GetServices").all("XAddr"))
    profile = "<ProfileToken>front/photo</ProfileToken>"
    assert plain.ask(MEDIA, "GetSnapshotUri", profile).one("Uri").startswith("https://")
    assert plain.create().startswith("/onvif/subscription/")
    assert ask_with(plain, token("hass", one.password, kind="PasswordText")).status == 401
    login = plain.ask(DEVICE, "GetDeviceInformation", header="")
    assert login.status == 401 and "Basic" not in str(login.headers.get_all("WWW-Authenticate"))
    assert plain.post("/v1/reload", "").status == 308
    plain.connection.request("GET", "/v1/status")
    assert plain.connection.getresponse().status == 301
    assert client.ask(MEDIA, "GetProfiles").status == 200
    one.server.reload(onvif={"enabled": True, "plain": False, "discovery": False})
    assert Client(one.port, "hass", one.password).ask(MEDIA, "GetProfiles").status == 308


def test_http_digest_is_taken_in_place_of_a_token(bed):
    one = bed()
    body = f'<e:Envelope xmlns:e="{SOAP}"><e:Body><GetUsers xmlns="{DEVICE}"/></e:Body></e:Envelope>'
    out = subprocess.run(["curl", "-q", "-sS", "--digest", "-u", f"hass:{one.password}", "--data", body,
                          f"http://127.0.0.1:{one.port}/onvif/device_service"], capture_output=True, text=True,
                         timeout=daemon.PATIENCE_S, check=False)
    assert "<tt:Username>hass</tt:Username><tt:UserLevel>User</tt:UserLevel>" in out.stdout, out


def test_a_user_of_onvif_goes_with_the_password(bed):
    one = bed()
    client = one.client()
    assert client.ask(MEDIA, "GetProfiles").status == 200
    subprocess.run([daemon.EDGECTL, "passwd", "--file", one.users, "hass"], input="another password\n", text=True,
                   check=True, capture_output=True, timeout=daemon.PATIENCE_S)
    assert "hass:" not in (one.users.parent / "onvif.passwords").read_text()
    # Until a reload the old one counts; then neither it nor the new one, which only rtsp.users has.
    one.server.hang_up()
    assert one.client().ask(MEDIA, "GetProfiles").status == 401
    assert one.client(password="another password").ask(MEDIA, "GetProfiles").status == 401
    password = onvif_client.add_user(one.users)
    one.server.hang_up()
    assert one.client(password=password).ask(MEDIA, "GetProfiles").status == 200


def test_a_password_counts_only_with_its_user(bed):
    one = bed()
    write_users(one.users, hass="viewer")  # with another password than onvif.passwords has
    one.server.hang_up()
    assert one.client().ask(MEDIA, "GetProfiles").status == 401
    write_users(one.users, vera="viewer")
    one.server.hang_up()
    assert one.client().ask(MEDIA, "GetProfiles").status == 401


def test_without_users_this_machine_needs_no_login(bed):
    one = bed(users=False)
    client = one.client(user=None)
    assert client.ask(MEDIA, "GetProfiles").status == 200
    assert client.pull(client.create())[0][3] == "Initialized"
    assert client.ask(MEDIA, "GetProfiles", Host="rebound.example").status == 403
    assert client.ask(MEDIA, "GetProfiles", Origin="http://elsewhere.example").status == 403


def test_a_check_misses_the_user_and_names_a_mistake(tmp_path):
    config, users = tmp_path / "edged.conf", tmp_path / "rtsp.users"
    write_users(users, vera="viewer")
    config.write_text(f'rtsp = {{ users = "{users}"; }};\nonvif = {{ enabled = true; }};')
    check = daemon.run_edged("--config", config, "--check")
    assert check.returncode == 0 and (
        f"{config}:2: warning: onvif.enabled: got true without a user for it; `edgectl passwd --onvif" in check.stderr)
    onvif_client.add_user(users)
    assert daemon.run_edged("--config", config, "--check").stderr == ""
    with (tmp_path / "onvif.passwords").open("a") as file:
        file.write("eva\n")
    check = daemon.run_edged("--config", config, "--check")
    assert check.returncode == 1 and f"onvif.passwords: {tmp_path}/onvif.passwords:4: expected two" in check.stderr
    (tmp_path / "onvif.passwords").unlink()
    config.write_text("http = { port = 0; };\nonvif = { enabled = true; };")
    check = daemon.run_edged("--config", config, "--check")
    assert check.returncode == 1 and ":2: error: onvif.enabled: got true with http.port = 0, allowed:" in check.stderr


def test_edgectl_makes_viewers_alone(tmp_path):
    users = tmp_path / "rtsp.users"
    write_users(users, otto="operator")
    for arguments, words in ((["otto"], "allowed for ONVIF: a viewer"), (["--role", "admin", "eva"], "viewers"),
                             (["--remove", "otto"], "viewers"), (["a b"], "A-Z a-z 0-9")):
        refused = subprocess.run([daemon.EDGECTL, "passwd", "--onvif", "--file", users, *arguments],
                                 capture_output=True, text=True, timeout=daemon.PATIENCE_S, check=False)
        assert refused.returncode in (1, 2) and words in refused.stderr, refused
    password = onvif_client.add_user(users, "eva")
    plain = tmp_path / "onvif.passwords"
    assert plain.stat().st_mode & 0o7777 == 0o600 and plain.read_text().endswith(f"\neva:{password}\n")
    assert f"eva:viewer:{hashlib.md5(f'eva:edged:{password}'.encode()).hexdigest()}:" in users.read_text()
    assert onvif_client.add_user(users, "eva") != password
    subprocess.run([daemon.EDGECTL, "passwd", "--remove", "--file", users, "eva"], check=True,
                   capture_output=True, timeout=daemon.PATIENCE_S)
    assert "eva" not in users.read_text() and "eva" not in plain.read_text()


# Strangers
# ---------------------------------------------------------------------

def envelope(body, header=""):
    return f'<s:Envelope xmlns:s="{SOAP}">{header}<s:Body>{body}</s:Body></s:Envelope>'


NAME = f'<GetHostname xmlns="{DEVICE}"/>'
NO_SOAP = {
    "a blank": " ",
    "no XML": "GET / HTTP/1.1",
    "a DOCTYPE": f'<!DOCTYPE s [<!ENTITY a "b">]>{envelope(NAME)}',
    "an entity": envelope(f'<GetHostname xmlns="{DEVICE}">&amp;&laugh;</GetHostname>'),
    "cut off": envelope(NAME)[:-3],
    "too deep": envelope("<a>" * 20 + "</a>" * 20),
    "too many elements": envelope("<a/>" * 300),
    "too many namespaces": envelope("<a " + " ".join(f'xmlns:n{i}="u"' for i in range(100)) + "/>"),
    "too many arguments": envelope(f'<GetHostname xmlns="{DEVICE}">{"<a>1</a>" * 40}</GetHostname>'),
    "a long value": envelope(f'<GetHostname xmlns="{DEVICE}"><a>{"x" * 2000}</a></GetHostname>'),
    "a long name": envelope(f'<{"x" * 100} xmlns="{DEVICE}"/>'),
    "no namespace": envelope("<n:GetHostname/>"),
    "two operations": envelope(NAME + NAME),
    "no operation": envelope(""),
    "SOAP 1.1": envelope(NAME).replace(SOAP, "http://schemas.xmlsoap.org/soap/envelope/"),
    "two nonces": envelope(NAME, token("a", "b").replace(
        "<w:Nonce>", "<w:Nonce>AAAA</w:Nonce><w:Nonce>")),
    "a long nonce": envelope(NAME, token("a", "b", nonce=b"a" * 400)),
    "UTF-16": envelope(NAME).encode("utf-16"),
    "a byte 0": envelope(NAME).replace("Body", "Bo\0dy"),
    "a control character": envelope(f'<GetHostname xmlns="{DEVICE}"><a>&#1;</a></GetHostname>'),
    "one in a name": envelope(f'<Get\x01Hostname xmlns="{DEVICE}"/>'),
    "no character": envelope(NAME, "<s:Header><MessageID>\ufffe</MessageID></s:Header>").encode(),
    "too large": envelope(NAME + " " * 17000),
}


def test_what_is_no_soap_gets_a_fault_that_says_what_is_allowed(bed):
    one = bed()
    client = one.client()
    for name, body in NO_SOAP.items():
        reply = client.post("/onvif/device_service", body)
        assert reply.status == 400 and reply.fault[:2] == ("Sender", "WellFormed"), (name, reply.text)
        assert len(reply.text) < 1600, name
    assert client.post("/onvif/device_service", "x" * 70000).status == 413
    assert client.ask(DEVICE, "GetHostname").status == 200
    comment = envelope(f'<!-- a comment --><d:GetHostname xmlns:d="{DEVICE}"><![CDATA[<x>]]></d:GetHostname>')
    assert client.post("/onvif/device_service", ("\ufeff" + comment).encode()).status == 200


def test_what_a_client_says_is_escaped_in_the_answer(bed):
    client = bed().client()
    odd = "&lt;b&gt;&amp;&quot;%s%n"
    reply = client.ask(MEDIA, "GetProfile", f"<ProfileToken>{odd}</ProfileToken>")
    assert '<b>&"%s%n' in reply.fault[-1]
    header = ('<s:Header><MessageID xmlns="http://www.w3.org/2005/08/addressing">&lt;i&gt;</MessageID>'
              '<Action xmlns="http://www.w3.org/2005/08/addressing">urn:GetHostnameRequest</Action></s:Header>')
    reply = client.ask(DEVICE, "GetHostname", header=header)
    related = [x for x in reply.root.iter() if x.tag.endswith(("}RelatesTo", "}Action"))]
    assert [x.text for x in related] == ["<i>", "urn:GetHostnameResponse"]


def test_an_answer_is_well_formed_whatever_the_address_and_host(bed):
    """Reply.text would refuse what is not in UTF-8, and Reply.root what is no XML."""
    one = bed()
    for host in ("\xff", "caf\xe9", "[fe80::1%\xfc]:80", "<&\">", "a" * 127, "%s%n"):
        with socket.create_connection(("127.0.0.1", one.port)) as raw:
            body = envelope(f'<GetCapabilities xmlns="{DEVICE}"/>')
            raw.sendall((f"POST /onvif/device_service HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n"
                         f"Content-Length: {len(body)}\r\n\r\n{body}").encode("latin-1"))
            reply = http.client.HTTPResponse(raw)
            reply.begin()
            assert reply.status == 200, host
            onvif_client.Reply(reply)
    for path in ("%ff", "front%e2%82", "%3c%26%22%3e", "a%2eb"):
        assert one.client().ask(DEVICE, "GetCapabilities", path=f"/onvif/{path}/device_service").status == 404


# Events
# ---------------------------------------------------------------------

@pytest.fixture
def moving(bed):
    one = bed([daemon.camera(regions=REGIONS)], EDGED_CAMERA_PROGRAM=FAKE_CAMERA, FAKE_CAMERA="motion")
    one.server.wait_camera("front", lambda c: c["state"] == "live" and len(c["regions"]) == 2)
    return one


def test_a_pull_point_begins_with_how_it_is_and_hears_of_changes(moving):
    client = moving.client()
    point = client.create("<InitialTerminationTime>PT10M</InitialTerminationTime>")
    assert client.pull(point) == [("MotionAlarm", "front", False, "Initialized"),
                                  ("Motion", "front", False, "Initialized")]
    client.begin_pull(point)
    toggle(moving.server)
    assert onvif_client.messages(client.finish()) == [("MotionAlarm", "front", True, "Changed"),
                                                      ("Motion", "front", True, "Changed")]
    other = moving.client()
    assert other.pull(other.create(), limit=1) == [("MotionAlarm", "front", True, "Initialized")]
    toggle(moving.server)
    assert [moved for _, _, moved, _ in client.pull(point)] == [False, False]
    begin = time.monotonic()
    # Neither 5 s, as without a wish, nor a minute, the most that there is.
    assert client.pull(point, timeout="PT6S") == [] and 5.9 < time.monotonic() - begin < 50
    assert client.ask(EVENTS, "SetSynchronizationPoint", path=point).status == 200
    assert [kind for _, _, _, kind in client.pull(point)] == ["Initialized"] * 2


def test_a_filter_chooses_topics(moving):
    client = moving.client()
    for filtered, topics in (("tns1:RuleEngine//.", ["Motion"]), ("tns1:VideoSource/MotionAlarm", ["MotionAlarm"]),
                             ("tns1:RuleEngine/CellMotionDetector/Motion|tns1:VideoSource//.",
                              ["MotionAlarm", "Motion"])):
        point = client.create("<Filter><TopicExpression xmlns='http://docs.oasis-open.org/wsn/b-2'>"
                              f"{filtered}</TopicExpression></Filter>")
        assert [topic for topic, *_ in client.pull(point)] == topics
    reply = client.ask(EVENTS, "CreatePullPointSubscription", "<TopicExpression>tns1:Device//.</TopicExpression>")
    assert reply.fault[:3] == ("Sender", "InvalidArgVal", "InvalidFilterFault")


def test_a_pull_point_ends_when_it_is_told_and_belongs_to_its_user(moving):
    client = moving.client()
    point = client.create("<InitialTerminationTime>PT60S</InitialTerminationTime>")
    renewed = client.ask(NOTIFICATION, "Renew", "<TerminationTime>PT30M</TerminationTime>", path=point)
    assert renewed.status == 200 and renewed.one("TerminationTime") > renewed.one("CurrentTime")
    assert client.ask(NOTIFICATION, "Renew", "<TerminationTime>soon</TerminationTime>",
                      path=point).fault[1] == "InvalidArgVal"
    password = onvif_client.add_user(moving.users, "eva")
    moving.server.hang_up()
    thief = moving.client(user="eva", password=password)
    for operation, service in (("PullMessages", EVENTS), ("Unsubscribe", NOTIFICATION)):
        assert thief.ask(service, operation, path=point).fault[2] == "ResourceUnknown"
    assert client.pull(point)
    client.begin_pull(point)
    assert moving.client().ask(NOTIFICATION, "Unsubscribe", path=point).status == 200
    assert client.finish().fault[2] == "ResourceUnknown"
    assert client.ask(EVENTS, "PullMessages", path=point).fault[2] == "ResourceUnknown"


def test_there_are_eight_pull_points_and_a_second_pull_ends_the_first(moving):
    client, other = moving.client(), moving.client()
    points = [client.create() for _ in range(8)]
    full = client.ask(EVENTS, "CreatePullPointSubscription")
    assert full.status == 500 and "all of 8 pull points" in full.fault[-1]
    assert client.pull(points[0])
    client.begin_pull(points[0])
    begin = time.monotonic()
    other.begin_pull(points[0])
    assert onvif_client.messages(client.finish()) == [] and time.monotonic() - begin < 50
    toggle(moving.server)
    assert len(onvif_client.messages(other.finish())) == 2
    assert client.ask(NOTIFICATION, "Unsubscribe", path=points[1]).status == 200
    assert client.create()


def test_a_user_who_has_many_pull_points_gives_one_up_for_another(moving):
    password = onvif_client.add_user(moving.users, "eva")
    moving.server.hang_up()
    greedy, client = moving.client(user="eva", password=password), moving.client()
    points = [greedy.create() for _ in range(8)]
    assert client.pull(client.create())
    ended = [greedy.ask(EVENTS, "PullMessages", path=point).status != 200 for point in points]
    assert ended == [False] * 7 + [True]
    for _ in range(3):
        assert client.create()
    assert greedy.ask(EVENTS, "CreatePullPointSubscription").status == 500
    assert client.ask(EVENTS, "CreatePullPointSubscription").status == 500


def test_a_pull_point_tells_what_its_user_may_hear_now(bed):
    secret = {"name": "edges", "view": "edges", "allow": ["operator"]}
    one = bed([daemon.camera("front", regions=REGIONS, views=[secret]), daemon.camera("open", regions=REGIONS)],
              tls=True, EDGED_CAMERA_PROGRAM=FAKE_CAMERA, FAKE_CAMERA="motion")
    write_users(one.users, otto="operator")
    one.server.hang_up()
    one.server.wait_camera("front", lambda c: c["state"] == "live" and len(c["regions"]) == 2)

    def ask(operation, path=None):
        return one.client().ask(EVENTS, operation, "<Timeout>PT0S</Timeout>", path=path,
                                header=token("otto", "pass", kind="PasswordText"))

    def heard(point):
        return {camera for _, camera, *_ in onvif_client.messages(ask("PullMessages", point))}

    points = [re.sub("^https?://[^/]*", "", ask("CreatePullPointSubscription").one("Address")) for _ in range(2)]
    assert heard(points[0]) == {"front", "open"}
    write_users(one.users, otto="viewer")
    one.server.hang_up()
    assert heard(points[1]) == {"open"}  # what it kept before as well
    toggle(one.server)
    one.server.wait_camera("front", daemon.is_moving)
    assert [heard(point) for point in points] == [set(), set()]


def test_motion_ends_with_its_camera(moving):
    client = moving.client()
    point = client.create()
    client.pull(point)
    toggle(moving.server)
    assert [moved for _, _, moved, _ in client.pull(point)] == [True, True]
    moving.server.reload(cameras=[daemon.camera("other", regions=REGIONS)])
    assert client.pull(point) == [("MotionAlarm", "front", False, "Changed"), ("Motion", "front", False, "Changed")]


def test_a_stop_answers_who_waits_and_the_next_edged_says_to_begin_anew(moving):
    client = moving.client()
    point = client.create()
    client.pull(point)
    client.begin_pull(point)
    begin = time.monotonic()
    moving.server.stop()
    assert onvif_client.messages(client.finish()) == [] and time.monotonic() - begin < 50
    moving.server.start()
    daemon.wait_for(lambda: socket.socket().connect_ex(("127.0.0.1", moving.port)) == 0)
    again = moving.client()
    assert again.ask(EVENTS, "PullMessages", path=point).fault[2] == "ResourceUnknown"
    assert len(again.pull(again.create())) == 2


def test_who_hangs_up_while_pulling_leaves_nothing_behind(moving):
    client = moving.client()
    point = client.create()
    client.pull(point)
    for _ in range(20):
        with socket.create_connection(("127.0.0.1", moving.port)) as raw:
            body = envelope(f'<PullMessages xmlns="{EVENTS}"><Timeout>PT60S</Timeout></PullMessages>',
                            token("hass", moving.password))
            raw.sendall(f"POST {point} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())

    def hear():
        toggle(moving.server)
        reply = client.ask(EVENTS, "PullMessages", "<Timeout>PT1S</Timeout><MessageLimit>100</MessageLimit>", path=point)
        assert reply.status == 200 or "streams_a_client" in reply.text, reply.text
        return reply.status == 200 and onvif_client.messages(reply)

    # One of the twenty that edged reads late takes what there is with it, and they count as this user's until it
    # sees that they are gone.
    assert {camera for _, camera, _, _ in daemon.wait_for(hear)} == {"front"}
