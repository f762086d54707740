"""Users, their roles and their passwords: real players and hand-made requests against edged."""

import pathlib
import re
import subprocess
import time
import uuid

import pytest

import clients
import daemon
import rtsp_user
from daemon import EDGECTL, PATIENCE_S, wait_for

PASSWORDS = {"vera": "veras secret", "otto": "ottos secret", "anna": "annas secret"}
ROLES = {"vera": "viewer", "otto": "operator", "anna": "admin"}
SIZE = (640, 360)
SMALL = {"width": SIZE[0], "height": SIZE[1]}
VIEWS = [
    {"name": "edges", "view": "edges"},
    {"name": "plan", "view": "edges", "allow": ["operator"]},
    {"name": "safe", "view": "edges", "allow": ["admin"]},
]


def passwd(file, *arguments, password=""):
    subprocess.run(
        [EDGECTL, "passwd", "--file", file, *arguments], input=f"{password}\n".encode(), check=True,
        capture_output=True, timeout=PATIENCE_S, env=daemon.environment(),
    )


def make_file(folder):
    path = folder / "rtsp.users"
    for user, password in PASSWORDS.items():
        passwd(path, user, "--role", ROLES[user], password=password)
    return path


@pytest.fixture
def file(tmp_path):
    return make_file(tmp_path)


def start_with(edged, file):
    """One with users, of which a first picture is there."""
    started = edged([daemon.camera(views=VIEWS, **SMALL)], settings={"rtsp": {"users": file}})
    with client(started, "anna") as anna:
        for view in VIEWS:
            wait_for(lambda: anna.request("DESCRIBE", f"/front/{view['name']}").code == 200)
    return started


@pytest.fixture
def server(edged, file):
    return start_with(edged, file)


@pytest.fixture(scope="module")
def shared(shared_edged, tmp_path_factory):
    """The same for tests that change nothing and guess less than one may."""
    return start_with(shared_edged, make_file(tmp_path_factory.mktemp("users")))


def client(server, user=None, password=None, **settings):
    return rtsp_user.Client(server.port, user, password or PASSWORDS.get(user), **settings)


def url(server, path, user, password=None):
    password = (password or PASSWORDS[user]).replace(" ", "%20")
    return f"rtsp://{user}:{password}@127.0.0.1:{server.port}{path}"


@pytest.mark.parametrize("transport", ["tcp", "udp"])
@pytest.mark.parametrize("program", ["gstreamer", "ffmpeg"])
def test_players_with_the_password_see_the_pictures(shared, program, transport):
    address = url(shared, "/front/edges", "vera")
    with clients.Viewer(address, program=program, transport=transport, size=SIZE) as viewer:
        viewer.wait_numbers(20)
        assert viewer.watching


@pytest.mark.parametrize("program", ["gstreamer", "ffmpeg"])
@pytest.mark.parametrize("user, password", [("vera", "wrong secret"), ("wera", "veras secret")])
def test_players_without_it_see_nothing(server, program, user, password):
    viewer = clients.Viewer(url(server, "/front/edges", user, password), program=program)
    wait_for(lambda: not viewer.watching)
    viewer.stop()
    assert viewer.frames == []
    assert re.search("401|nauthori[sz]ed", "".join(viewer.messages)), viewer.messages


@pytest.mark.parametrize("algorithm", ["SHA-256", "MD5"])
@pytest.mark.parametrize("qop", ["auth", None])
def test_both_algorithms_are_taken_with_counts_and_without(shared, algorithm, qop):
    with client(shared, "vera", algorithm=algorithm, qop=qop) as vera:
        session = vera.play("/front/edges")
        for method in ("GET_PARAMETER", "PAUSE", "PLAY", "TEARDOWN"):
            reply = vera.request(method, "/front/edges", f"Session: {session}")
            assert reply.code == 200, (method, reply.lines)


# live555 (VLC) signs the base URL whatever it asks for: before DESCRIBE its own, then Content-Base.
@pytest.mark.parametrize("base", ["/front/edges", "/front/edges/"])
def test_what_live555_signs_is_taken(shared, base):
    with client(shared, "vera", algorithm="MD5", qop=None) as vera:
        vera.uri = lambda url: vera.base + base
        session = vera.play("/front/edges")
        assert vera.request("TEARDOWN", "/front/edges/", f"Session: {session}").code == 200
        vera.uri = lambda url: vera.base + "/front/safe"
        assert vera.request("DESCRIBE", "/front/edges").code == 401


def test_an_answer_is_for_its_method_alone(shared):
    with client(shared, "vera", qop=None) as vera:
        assert vera.request("DESCRIBE", "/front/edges").code == 200
        answer = f"Authorization: {vera.answer('DESCRIBE', f'{vera.base}/front/edges')}"
        assert vera.send("DESCRIBE", "/front/edges", answer).code == 200
        assert vera.send("GET_PARAMETER", "/front/edges", answer).code == 401


def test_every_method_is_asked_for_a_user(shared):
    with client(shared, "vera") as vera, client(shared) as stranger:
        session = vera.play("/front/edges")
        assert stranger.send("OPTIONS", "/front/edges").code == 200
        assert stranger.send("OPTIONS", "*").code == 200
        for method in (
            "DESCRIBE", "SETUP", "PLAY", "PAUSE", "TEARDOWN", "GET_PARAMETER", "SET_PARAMETER",
            "ANNOUNCE", "NONSENSE",
        ):
            assert stranger.send(method, "/front/edges").code == 401
            assert stranger.send(method, "/nothing/here").code == 401
        for method in ("OPTIONS", "PLAY", "PAUSE", "TEARDOWN", "GET_PARAMETER", "SET_PARAMETER"):
            reply = stranger.send(method, "/front/edges", f"Session: {session}")
            assert reply.code == 401, method
        # In the order of fields that live555 reads.
        offered = r'Digest realm="edged", nonce="\w+", algorithm=([\w-]+), qop="auth"'
        assert [re.fullmatch(offered, text)[1] for text in reply.all("WWW-Authenticate")] == ["SHA-256", "MD5"]
        # Another user has no session of hers either, and hers goes on.
        with client(shared, "anna") as anna:
            for method in ("PLAY", "PAUSE", "TEARDOWN", "GET_PARAMETER"):
                reply = anna.request(method, "/front/edges", f"Session: {session}")
                assert reply.code == 454, method
        assert vera.request("GET_PARAMETER", "/front/edges", f"Session: {session}").code == 200


def test_who_says_twice_who_he_is_is_refused(shared):
    with client(shared, "vera") as vera:
        assert vera.request("DESCRIBE", "/front/edges").code == 200
        answers = [vera.answer("DESCRIBE", f"{vera.base}/front/edges") for _ in range(2)]
        lines = [f"Authorization: {answer}" for answer in answers]
        assert vera.send("DESCRIBE", "/front/edges", *lines).code == 400
        assert vera.send("DESCRIBE", "/front/edges", lines[1]).code == 200


def test_a_role_is_for_what_allows_it_and_less(shared):
    for user, codes in (("vera", (200, 403, 403)), ("otto", (200, 200, 403)), ("anna", 3 * (200,))):
        with client(shared, user) as viewer:
            for view, code in zip(VIEWS, codes):
                assert viewer.request("DESCRIBE", f"/front/{view['name']}").code == code
            assert viewer.request("DESCRIBE", "/edges").code == 200
            assert viewer.request("DESCRIBE", "/edges").code == 200
            mounts = ["/edges", *sorted(f"/front/{v['name']}" for v, c in zip(VIEWS, codes) if c == 200)]
            for method in ("DESCRIBE", "SETUP"):
                reply = viewer.request(method, "/front/nothing")
                assert reply.code == 404
                assert reply.body.splitlines()[1:] == mounts
    with client(shared, "vera") as vera:
        reply = vera.request("SETUP", "/front/plan/stream=0", "Transport: RTP/AVP/TCP;unicast")
        assert reply.code == 403


def test_who_is_not_logged_in_is_told_no_name(server):
    with client(server) as stranger, client(server, "vera", "a wrong one") as guesser:
        for reply in (
            stranger.send("DESCRIBE", "/front/nothing"), guesser.request("DESCRIBE", "/front/nothing")
        ):
            assert (reply.code, reply.body) == (401, "")
            assert not any("front" in value for _, value in (line for line in reply.lines if len(line) > 1))


def test_an_answer_with_a_count_is_good_once(shared):
    with client(shared, "vera") as vera, client(shared) as thief:
        assert vera.request("DESCRIBE", "/front/edges").code == 200
        vera.count -= 1
        answer = vera.answer("DESCRIBE", f"{vera.base}/front/edges")
        reply = thief.send("DESCRIBE", "/front/edges", f"Authorization: {answer}")
        assert reply.code == 401
        assert {c["stale"] for c in rtsp_user.challenges(reply).values()} == {"true"}


def test_five_wrong_passwords_then_one_try_a_second(server):
    with client(server, "otto") as otto, client(server, "vera", "a wrong one") as guesser:
        session = otto.play("/front/edges")
        otto.request("PAUSE", "/front/edges", f"Session: {session}")  # it is not read
        codes = [guesser.request("DESCRIBE", "/front/edges").code for _ in range(5)]
        assert codes == 5 * [401]
        reply = guesser.request("DESCRIBE", "/front/edges")
        while reply.code == 401:  # so slow a machine that tries have come back
            reply = guesser.request("DESCRIBE", "/front/edges")
        assert (reply.code, reply.one("Retry-After")) == (503, "1")
        # Who is logged in goes on.
        assert otto.request("GET_PARAMETER", "/front/edges", f"Session: {session}").code == 200
        guesser.password = PASSWORDS["vera"]
        wait_for(lambda: guesser.request("DESCRIBE", "/front/edges").code == 200)
    server.wait_stderr("5 wrong passwords from 127.0.0.1, taking one try a second from there")
    assert "vera" not in server.stderr()
    logins = server.status()["logins"]
    assert logins["failed"] >= 5 and logins["throttled"] >= 1


def test_a_wrong_password_is_a_line_in_the_log_and_a_number(server):
    before = server.status()["logins"]["failed"]
    for user, password, address in (
        ("vera", "my wrong secret", "127.0.0.2"), ("my wrong secret", "x", "127.0.0.3"),
    ):  # fmt: skip
        with client(server, user, password, address=address) as guesser:
            for _ in range(2):
                assert guesser.request("DESCRIBE", "/front/edges").code == 401
        server.wait_stderr(rf"wrong user or password from {address}, asking again; more from there")
        assert server.stderr().count(f"wrong user or password from {address}") == 1
    assert "secret" not in server.stderr() and "vera" not in server.stderr()
    assert server.status()["logins"]["failed"] == before + 4
    assert f"edged_failed_logins_total {before + 4}\n" in server.http_get("/metrics")


def test_sixty_addresses_that_guess_keep_nobody_out(server):
    path = "/front/edges"
    with client(server, "vera", address="127.0.0.2") as vera:
        assert vera.request("DESCRIBE", path).code == 200
    with clients.Viewer(url(server, path, "otto")) as viewer:
        viewer.wait_numbers(20)
        with rtsp_user.guessers(server, path, [f"127.0.1.{n}" for n in range(1, 61)]):
            wait_for(lambda: server.status()["logins"]["throttled"] > 100)
            for number in range(30):  # 127.0.0.2 has logged in before, the others never
                address = f"127.0.0.{2 if number % 2 else 10 + number}"
                with client(server, "vera", address=address) as vera:
                    vera.play(path)
        assert viewer.watching
        server.assert_accounted(viewer)


def test_bad_logins_cost_a_viewer_nothing(server):
    with clients.Viewer(url(server, "/front/edges", "vera")) as viewer:
        viewer.wait_numbers(20)
        rtsp_user.guess(server, "/front/edges", 2000)
        assert viewer.watching
        server.assert_accounted(viewer)


def test_a_reload_hangs_up_on_whom_it_takes_away_and_on_nobody_else(server, file):
    with client(server, "vera") as vera, client(server, "otto") as otto, client(
        server, "anna"
    ) as anna:
        vera.play("/front/edges")
        otto.play("/front/plan")
        session = anna.play("/front/safe")
        anna.request("PAUSE", "/front/safe", f"Session: {session}")  # it is not read
        passwd(file, "--remove", "vera")
        server.hang_up()
        server.wait_stderr("configuration reloaded from .*: the users have changed")
        assert vera.is_hung_up()
        passwd(file, "otto", "--role", "viewer", password=PASSWORDS["otto"])
        server.hang_up()
        assert otto.is_hung_up()
        assert anna.request("GET_PARAMETER", "/front/safe", f"Session: {session}").code == 200
        passwd(file, "anna", password="another one")
        server.hang_up()
        assert anna.is_hung_up()
    for user, code in (("vera", 401), ("anna", 401), ("otto", 200)):
        with client(server, user) as again:
            assert again.request("DESCRIBE", "/front/edges").code == code


def test_a_role_that_a_view_asks_for_takes_effect_at_a_reload(server):
    with client(server, "vera") as vera:
        vera.play("/front/edges")
        server.reload([daemon.camera(views=[{**VIEWS[0], "allow": ["operator"]}, *VIEWS[1:]], **SMALL)])
        assert vera.is_hung_up()
    for path in ("/front/edges", "/edges"):
        with client(server, "vera") as vera:
            assert vera.request("DESCRIBE", path).code == 403


def test_a_reload_refuses_a_broken_file_and_keeps_the_users(server, file):
    good = file.read_text()
    with clients.Viewer(url(server, "/front/edges", "vera")) as viewer:
        viewer.wait_numbers(10)
        for break_it, message in (
            (lambda: file.write_text(good + "otto\n"), rf"{file}:7: expected four fields, allowed: "),
            (lambda: file.write_text(good[: good.rindex(":") + 20]), rf"{file}:\d+: got another HA1"),
            (lambda: file.write_text(""), rf"\"{file}\": got a file without a user, allowed: "),
            (lambda: file.write_text("# vera\n\n"), rf"\"{file}\": got a file without a user"),
            (lambda: file.chmod(0o644), rf"\"{file}\" has mode 0644, allowed: .*chmod 600"),
            (file.unlink, rf"cannot read \"{file}\": No such file or directory"),
        ):
            break_it()
            server.hang_up()
            server.wait_stderr(rf"error: rtsp.users: {message}")
            assert not server.status()["configuration"]["successful"]
        moment_ns = time.monotonic_ns()
        viewer.wait_after(moment_ns)
    with client(server, "otto") as otto:
        assert otto.request("DESCRIBE", "/front/plan").code == 200


def test_edged_does_not_start_without_its_users(tmp_path):
    config = tmp_path / "edged.conf"
    config.write_text('rtsp = { port = 0; users = "none.users"; };\n')
    result = daemon.run_edged("--config", config)
    assert result.returncode == 1
    assert f'cannot read "{tmp_path}/none.users"' in result.stderr


def test_users_come_as_a_credential_of_systemd(edged, file):
    credential = edged([daemon.camera(**SMALL)], CREDENTIALS_DIRECTORY=file.parent)
    with client(credential) as stranger, client(credential, "vera") as vera:
        assert stranger.send("DESCRIBE", "/front/edges").code == 401
        wait_for(lambda: vera.request("DESCRIBE", "/front/edges").code == 200)


def test_with_users_the_server_is_open_to_the_network(edged, file):
    settings = {"rtsp": {"address": "0.0.0.0", "users": file}}
    server = edged([daemon.camera(**SMALL)], settings=settings)
    assert "warning" not in server.stderr()
    with client(server) as stranger:
        assert stranger.send("DESCRIBE", "/front/edges").code == 401


def read_memory(memory, begin, end):
    """Of a process that runs: what it has just given back is left out."""
    pages = []
    for at in range(begin, end, 4096):
        memory.seek(at)
        try:
            pages.append(memory.read(4096))
        except OSError:
            pages.append(bytes(4096))
    return b"".join(pages)


# What could end in a core, of every mapping that the kernel would put there.
def dumped_memory(pid):
    mappings = pathlib.Path(f"/proc/{pid}/smaps").read_text()
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for begin, end, flags in re.findall(
            r"^([0-9a-f]+)-([0-9a-f]+) rw.*?^VmFlags: (.*?)$", mappings, re.M | re.S
        ):
            if "dd" not in flags.split():
                yield read_memory(memory, int(begin, 16), int(end, 16))


def test_no_secret_is_told_or_left_where_others_look(server, file):
    # Those that no player of another test has in its arguments.
    passwords = {name: uuid.uuid4().hex for name in ("vera", "otto", "nobody")}
    for name in ("vera", "otto"):
        passwd(file, name, password=passwords[name])
    server.hang_up()
    with client(server, "vera", passwords["vera"], algorithm="MD5") as vera, client(
        server, "otto", passwords["otto"]
    ) as otto:
        vera.play("/front/edges")
        otto.play("/front/plan")
        with client(server, "vera", passwords["nobody"]) as guesser:
            assert guesser.request("DESCRIBE", "/front/edges").code == 401
        server.hang_up()  # reads the users again
        lines = [line for line in file.read_text().splitlines() if not line.startswith("#")]
        secrets = [hash for line in lines for hash in line.split(":")[2:]]
        assert len(secrets) == 6
        secrets = [secret.encode() for secret in (*secrets, *passwords.values())]
        told = [server.stderr(), server.http_get("/v1/status"), server.http_get("/metrics")]
        told = [text.encode() for text in told]
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            for name in ("cmdline", "environ"):
                try:
                    told.append((process / name).read_bytes())
                except OSError:  # it has ended, or is another user's
                    pass
        front = list(dumped_memory(server.process.pid))
        assert any(f"rtsp://127.0.0.1:{server.port}".encode() in memory for memory in front)
        told.extend(front)
        for pid in daemon.process_children(server.process.pid):
            told.extend(dumped_memory(pid))
        for text in told:
            assert not [secret for secret in secrets if secret in text]
