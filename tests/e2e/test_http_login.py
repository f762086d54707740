"""Who may do what over HTTP: browsers with a cookie, the link of this machine, programs with tokens,
and those who try to get in by them."""

import contextlib
import http.client
import json
import re
import socket
import ssl
import subprocess
import time
import urllib.parse

import pytest

import daemon
from ports import free_port
from test_http import curl, http_status, write_users

SMALL = {"width": 320, "height": 240}
USER = {"user": "otto", "password": "pass"}


class Browser:
    """Keeps the cookie that it is given, and says of each request where it comes from, as browsers do."""

    def __init__(self, server, host="127.0.0.1", cookie=None):
        self.server, self.host, self.cookie = server, host, cookie
        self.netloc = f"{host}:{server.api}"
        self.name = f"{'__Host-' if server.scheme == 'https' else ''}edged-{server.api}"

    def ask(self, method, path, body=None, **headers):
        context = ssl._create_unverified_context() if self.server.scheme == "https" else None
        kind = http.client.HTTPSConnection if context else http.client.HTTPConnection
        connection = kind(self.host, self.server.api, timeout=daemon.PATIENCE_S,
                          **({"context": context} if context else {}))
        if method != "GET":
            headers = {"Origin": f"{self.server.scheme}://{self.netloc}",
                       "Sec-Fetch-Site": "same-origin", **headers}
        if self.cookie:
            headers["Cookie"] = f"a=b; {self.name}={self.cookie}; c=d"
        if isinstance(body, dict):
            body, headers["Content-Type"] = json.dumps(body), "application/json"
        connection.request(method, path, body, {k: v for k, v in headers.items() if v is not None})
        reply = connection.getresponse()
        reply.text = reply.read().decode()
        connection.close()
        if given := re.match(f"{self.name}=([0-9a-f]*);", reply.getheader("Set-Cookie") or ""):
            self.cookie = given[1]
        return reply

    def session(self):
        return json.loads(self.ask("GET", "/v1/session").text)

    def may_reload(self, **headers):
        return self.ask("POST", "/v1/reload", **headers).status


@pytest.fixture
def serve(edged, tmp_path):
    """serve(users={"otto": "operator"}, tls=False, …): an edged that serves HTTP at .api."""

    def start(users=None, tls=False, rtsp=None, **http_settings):
        rtsp = dict(rtsp or {})
        if users:
            rtsp["users"] = str(tmp_path / "rtsp.users")
            write_users(tmp_path / "rtsp.users", **users)
        server = edged([daemon.camera("front", **SMALL)], STATE_DIRECTORY=tmp_path, settings={
            "http": {"port": free_port(), "tls": tls, **http_settings}, "rtsp": rtsp})
        server.api, server.scheme = server.settings["http"]["port"], "https" if tls else "http"
        return server

    return start


def edgectl(*arguments, check=True):
    return subprocess.run([daemon.EDGECTL, *arguments], capture_output=True, text=True, check=check,
                          env=daemon.environment(), timeout=daemon.PATIENCE_S)


def link_of(server):
    return edgectl("page", "--socket", server.socket).stdout.strip()


def path_of(link):
    parts = urllib.parse.urlsplit(link)
    return f"{parts.path}?{parts.query}"


def own_address():
    """One of this machine that is not of its loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))
        return probe.getsockname()[0]


def make_token(file, name, *arguments):
    return edgectl("token", "--file", file, *arguments, name).stdout.strip()


# Without users
# ---------------------------------------------------------------------

def test_the_link_of_this_start_lets_a_browser_change_things(serve):
    server = serve()
    browser = Browser(server)
    assert browser.ask("GET", "/v1/status").status == 200
    assert browser.session() == {"user": None, "role": "viewer", "can_change": False, "secure": True,
                                 "way": "open"}
    assert browser.may_reload() == 403
    link = link_of(server)
    assert re.fullmatch(rf"http://127\.0\.0\.1:{server.api}/login\?link=[0-9a-f]{{32}}", link)
    reply = browser.ask("GET", path_of(link))
    assert reply.status == 303 and reply.getheader("Location") == "./"
    attributes = reply.getheader("Set-Cookie").split("; ")[1:]
    assert sorted(attributes) == ["HttpOnly", "Max-Age=43200", "Path=/", "SameSite=Strict"]
    assert browser.session() == {"user": None, "role": "operator", "can_change": True, "secure": True,
                                 "way": "cookie"}
    assert browser.may_reload() == 200
    before = browser.cookie
    assert browser.ask("POST", "/v1/logout").status == 200 and browser.cookie == ""
    browser.cookie = before
    assert browser.may_reload() == 403
    # The secret and its cookies end with this edged.
    old = Browser(server)
    old.ask("GET", path_of(link))
    server.stop()
    server.start()
    assert old.may_reload() == 403
    assert Browser(server).ask("GET", path_of(link)).status == 403
    assert link_of(server) != link


def test_a_link_is_not_guessed_and_not_told_over_tcp(serve):
    server = serve()
    browser = Browser(server)
    assert browser.ask("GET", "/v1/page-link").status == 403
    assert browser.ask("GET", "/login").status == 403
    guess = lambda: browser.ask("GET", f"/login?link={'0' * 32}")  # noqa: E731
    assert [guess().status for _ in range(5)] == [403] * 5
    reply = daemon.wait_for(lambda: (reply := guess()).status == 429 and reply)  # one comes back each second
    assert reply.getheader("Retry-After")
    assert not browser.cookie
    assert browser.ask("GET", path_of(link_of(server))).status == 303


@pytest.mark.parametrize("headers", [
    {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": None},
    {"Origin": None, "Sec-Fetch-Site": None}, {"Origin": None, "Sec-Fetch-Site": "none"},
    {"Origin": "https://127.0.0.1:{port}"}, {"Origin": "http://127.0.0.1"},
    {"Origin": "http://127.0.0.1:{port}.evil.example"}, {"Origin": "http://localhost:{port}"},
    {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"},
    {"Origin": None, "Sec-Fetch-Site": None}, {"Sec-Fetch-Site": None, "Origin": "http://evil.example"},
    {"Host": "[::1].evil.example", "Origin": "http://[::1].evil.example"},
    {"Host": "evil.example:{port}", "Origin": "http://evil.example:{port}"}])
def test_pages_of_others_change_nothing_by_the_cookie(shared, headers):
    server, cookie = shared
    headers = {k: v and v.format(port=server.api) for k, v in headers.items()}
    assert Browser(server, cookie=cookie).may_reload(**headers) == 403
    assert "reloaded" not in server.stderr()


@pytest.fixture(scope="module")
def shared(shared_edged):
    port = free_port()
    server = shared_edged([daemon.camera("front", **SMALL)], settings={"http": {"port": port}})
    server.api, server.scheme = port, "http"
    browser = Browser(server)
    browser.ask("GET", path_of(link_of(server)))
    assert browser.session()["can_change"]
    return server, browser.cookie


def test_what_is_there_needs_no_login_and_says_so(shared):
    server, _ = shared
    browser = Browser(server)
    reply = browser.ask("GET", "/healthz")
    assert (reply.status, reply.text) == (200, "ok\n")
    for name, value in (("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"),
                        ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
                        ("Cross-Origin-Resource-Policy", "same-origin"), ("Cache-Control", "no-store")):
        assert reply.getheader(name) == value
    daemon.wait_for(lambda: browser.ask("GET", "/v1/readyz").status == 200)
    cameras, views = (json.loads(browser.ask("GET", f"/v1/{part}").text) for part in ("cameras", "views"))
    assert [camera["name"] for camera in cameras] == ["front"]
    assert [(view["camera"], view["view"]) for view in views] == [("front", "edges")]
    assert views[0]["url"].endswith("/front/edges")


@pytest.mark.parametrize("body, kind", [
    ("", "application/json"), ("[]", "application/json"), ("[" * 60000, "application/json"),
    ('{"user": "otto"}', "application/json"), ('{"user": 5, "password": []}', "application/json"),
    ("user=otto", "application/x-www-form-urlencoded"), ("%ff=%00&&&user=%zz&password=%", "application/x-www-form-urlencoded"),
    (b"\xff\xfe", "application/json"), ('{ /* " */ "a": ' + "[" * 60000, "application/json")])
def test_a_body_that_is_no_login_is_told_so(edged_with_users, body, kind):
    reply = Browser(edged_with_users).ask("POST", "/v1/login", body, **{"Content-Type": kind})
    assert reply.status == 400 and "password" in json.loads(reply.text)["allowed"]
    assert reply.getheader("Content-Type") == "application/problem+json"
    large = Browser(edged_with_users).ask("POST", "/v1/login", b" " * 66000)
    assert large.status == 413


# With users
# ---------------------------------------------------------------------

@pytest.fixture(scope="module")
def edged_with_users(shared_edged, tmp_path_factory):
    users = tmp_path_factory.mktemp("users") / "rtsp.users"
    write_users(users, otto="operator", vera="viewer")
    port = free_port()
    server = shared_edged([daemon.camera("front", **SMALL)],
                          settings={"http": {"port": port}, "rtsp": {"users": str(users)}})
    server.api, server.scheme = port, "http"
    return server


@pytest.mark.parametrize("tls", [False, True])
def test_a_form_logs_in_on_loopback_and_inside_tls(serve, tls):
    server = serve({"otto": "operator", "vera": "viewer"}, tls)
    browser = Browser(server)
    assert browser.session() == {"user": None, "role": None, "can_change": False, "secure": True,
                                 "way": "form"}
    assert browser.ask("GET", "/v1/status").status == 401
    # A script's request does not make the browser ask for a password by itself.
    fetched = browser.ask("GET", "/v1/status", **{"Sec-Fetch-Mode": "cors"})
    assert fetched.status == 401 and fetched.getheader("WWW-Authenticate").startswith("Cookie ")
    wrong = browser.ask("POST", "/v1/login", {**USER, "password": "wrong"})
    assert wrong.status == 401 and not browser.cookie
    assert browser.ask("POST", "/v1/login", USER, Origin="http://evil.example").status == 403
    reply = browser.ask("POST", "/v1/login", USER)
    assert reply.status == 200 and ("; Secure" in reply.getheader("Set-Cookie")) == tls
    assert browser.session()["user"] == "otto" and browser.session()["can_change"]
    assert browser.ask("GET", "/v1/status").status == 200
    assert browser.may_reload() == 200
    assert browser.may_reload(Origin="http://evil.example") == 403
    viewer = Browser(server)
    reply = viewer.ask("POST", "/v1/login", "user=vera&password=p%61ss",
                       **{"Content-Type": "application/x-www-form-urlencoded"})
    assert reply.status == 303 and reply.getheader("Location") == "../"  # of /v1/login
    assert viewer.ask("GET", "/metrics").status == 200 and viewer.may_reload() == 403
    assert edgectl("page", "--socket", server.socket).stdout.strip() == (
        f"{server.scheme}://127.0.0.1:{server.api}/")
    assert "pass" not in server.stderr().replace("password", "")


def test_elsewhere_the_password_is_proved_by_digest_for_the_cookie(serve):
    server = serve({"otto": "operator"}, address="0.0.0.0")
    remote = Browser(server, own_address())
    assert link_of(server) == server.status()["http"] + "/" and "127.0.0.1" not in link_of(server)
    assert remote.session() == {"user": None, "role": None, "can_change": False, "secure": False,
                                "way": "prompt"}
    assert remote.ask("POST", "/v1/login", USER).status == 403
    asked = remote.ask("GET", "/login", **{"Sec-Fetch-Mode": "navigate"})
    assert asked.status == 401 and asked.getheader("WWW-Authenticate").startswith("Digest ")
    got = subprocess.run(["curl", "-si", "--digest", "-u", "otto:pass", f"http://{remote.netloc}/login"],
                         capture_output=True, text=True, check=True, timeout=daemon.PATIENCE_S).stdout
    assert "303 See Other" in got and "\nLocation: ./" in got
    remote.cookie = re.search(f"Set-Cookie: {remote.name}=([0-9a-f]+)", got)[1]
    assert remote.may_reload() == 200 and remote.may_reload(Origin="http://127.0.0.1") == 403


def test_a_cookie_ends_with_its_user_and_password_and_the_idlest_of_17(serve, tmp_path):
    server = serve({"otto": "operator", "vera": "viewer"})
    browsers = [Browser(server) for _ in range(17)]
    for browser in browsers[:16]:
        assert browser.ask("POST", "/v1/login", USER).status == 200
    browsers[0], browsers[1] = browsers[1], browsers[0]  # the first one, which asks again, and the second
    assert browsers[1].ask("GET", "/v1/status").status == 200
    assert browsers[16].ask("POST", "/v1/login", USER).status == 200
    vera = Browser(server)
    vera.ask("POST", "/v1/login", {**USER, "user": "vera"})
    assert browsers[0].ask("GET", "/v1/status").status == 401
    assert all(browser.ask("GET", "/v1/status").status == 200 for browser in [*browsers[1:], vera])
    write_users(tmp_path / "rtsp.users", vera="viewer")
    server.hang_up()
    assert browsers[1].ask("GET", "/v1/status").status == 401
    assert vera.ask("GET", "/v1/status").status == 200
    assert edgectl("passwd", "--file", tmp_path / "rtsp.users", "--role", "viewer", "otto",
                   check=False).returncode == 1  # no password was given
    subprocess.run([daemon.EDGECTL, "passwd", "--file", tmp_path / "rtsp.users", "vera"], text=True,
                   input="another long one\n", check=True, timeout=daemon.PATIENCE_S)
    server.hang_up()
    assert vera.ask("GET", "/v1/status").status == 401
    assert browsers[16].ask("GET", "/v1/status").status == 401


@pytest.mark.parametrize("how", ["logout", "user", "role", "token", "another"])
def test_a_reply_under_way_ends_with_its_session(serve, tmp_path, how):
    """At the logout of another page, or with the user, its role or the token; and not with the session
    of somebody else."""
    token = make_token(tmp_path / "rtsp.tokens", "ci")
    server = serve({"otto": "operator", "vera": "viewer"}, rtsp={"tokens": str(tmp_path / "rtsp.tokens")})
    browser, other = Browser(server), Browser(server)
    browser.ask("POST", "/v1/login", USER)
    other.ask("POST", "/v1/login", USER)
    daemon.wait_for(lambda: browser.ask("HEAD", "/snapshot.jpg").status == 200)  # there are pictures in time by then
    cookie = bearer(token) if how == "token" else ["-H", f"Cookie: {browser.name}={browser.cookie}"]
    with contextlib.ExitStack() as stack:
        follow = [stack.enter_context(subprocess.Popen(
            ["curl", "-sSN", *cookie, f"http://127.0.0.1:{server.api}{path}"], stdout=subprocess.PIPE))
            for path in ("/v1/events", "/stream.mjpg", "/v1/cameras/front/views/edges/video")]
        for each in follow:
            assert each.stdout.read(20)
        if how == "token":
            edgectl("token", "--remove", "ci", "--file", tmp_path / "rtsp.tokens")
        elif how in ("user", "role"):
            write_users(tmp_path / "rtsp.users", vera="viewer", **({"otto": "viewer"} if how == "role" else {}))
        if how in ("token", "user", "role"):
            server.hang_up()
        else:
            (other if how == "another" else browser).ask("POST", "/v1/logout")
        if how == "another":
            assert all(each.stdout.read(200) for each in follow[1:])
            time.sleep(2)  # two looks at who may go on
            assert all(each.poll() is None for each in follow)
        for each in follow:
            if how == "another":
                each.terminate()
            each.stdout.read()
            each.wait(daemon.PATIENCE_S)
    server.wait_mount("/front/edges", lambda mount: mount["viewers"] == 0)


def test_two_edged_on_one_host_leave_each_other_the_cookie(serve, edged_with_users):
    """Browsers send all cookies of a host to each of its ports."""
    server, other = Browser(serve({"otto": "operator"})), Browser(edged_with_users)
    for browser in (server, other):
        browser.ask("POST", "/v1/login", USER)
    assert server.name != other.name
    jar = f"{server.name}={server.cookie}; {other.name}={other.cookie}"
    for browser in (server, other):
        browser.cookie = None
        assert json.loads(browser.ask("GET", "/v1/session", Cookie=jar).text)["user"] == "otto"


def test_passwords_are_tried_five_times_by_form_as_by_header(serve):
    server = serve({"otto": "operator"})
    browser = Browser(server)
    browser.ask("POST", "/v1/login", USER)
    guess = lambda: browser.ask("POST", "/v1/login", {**USER, "password": "wrong"}).status  # noqa: E731
    assert [guess() for _ in range(5)] == [401] * 5
    daemon.wait_for(lambda: guess() == 429)  # one comes back each second
    assert browser.ask("GET", "/v1/status").status == 200  # the cookie goes on
    header = ["-H", f"Cookie: {browser.name}={browser.cookie}"]
    assert http_status(server, *header, "--digest", "-u", "otto:x", scheme="http") == "200"


# Programs
# ---------------------------------------------------------------------

def bearer(token):
    return ["-H", f"Authorization: Bearer {token}"]


def test_a_token_is_taken_with_its_role_until_it_is_removed(serve, tmp_path):
    file = tmp_path / "rtsp.tokens"
    one, other = make_token(file, "recorder"), make_token(file, "ci", "--role", "operator")
    assert re.fullmatch("[0-9a-f]{64}", one) and one != other and file.stat().st_mode & 0o7777 == 0o600
    assert one not in file.read_text() and other not in file.read_text()
    assert edgectl("token", "--list", "--file", file).stdout == "recorder  viewer\nci  operator\n"
    server = serve({"otto": "operator"}, tls=True, rtsp={"tokens": str(file)})
    post = ["-X", "POST"]
    assert http_status(server, *bearer(one)) == "200"
    assert http_status(server, *bearer(one), *post, path="/v1/reload") == "403"
    assert http_status(server, *bearer(other), *post, path="/v1/reload") == "200"
    assert http_status(server, *bearer(other), *post, "-H", "Origin: https://evil.example",
                       path="/v1/reload") == "403"
    known = json.loads(curl(server, "-k", *bearer(other), path="/v1/session").stdout)
    assert (known["user"], known["role"], known["way"]) == ("ci", "operator", "token")
    assert http_status(server, *bearer(other), path="/login") == "403"  # no cookie for a token
    assert http_status(server, *bearer(one[:-1])) == "401"
    renewed = make_token(file, "recorder")
    edgectl("token", "--remove", "ci", "--file", file)
    assert edgectl("token", "--remove", "ci", "--file", file, check=False).returncode == 1
    server.hang_up()
    assert http_status(server, *bearer(one)) == "401" and http_status(server, *bearer(other)) == "401"
    assert http_status(server, *bearer(renewed)) == "200"
    assert all(token not in server.stderr() for token in (one, other, renewed))


def test_without_users_a_token_changes_things_on_loopback(serve, tmp_path):
    token = make_token(tmp_path / "rtsp.tokens", "ci", "--role", "operator")
    server = serve(rtsp={"tokens": str(tmp_path / "rtsp.tokens")})
    assert http_status(server, *bearer(token), "-X", "POST", path="/v1/reload", scheme="http") == "200"
    assert http_status(server, "-X", "POST", path="/v1/reload", scheme="http") == "403"
    assert http_status(server, scheme="http") == "200"


def test_a_token_is_not_taken_in_the_clear_from_elsewhere(serve, tmp_path):
    token = make_token(tmp_path / "rtsp.tokens", "ci")
    server = serve({"otto": "operator"}, rtsp={"tokens": str(tmp_path / "rtsp.tokens")},
                   address="0.0.0.0")
    remote = Browser(server, own_address())
    assert remote.ask("GET", "/v1/status", Authorization=f"Bearer {token}").status == 401
    assert Browser(server).ask("GET", "/v1/status", Authorization=f"Bearer {token}").status == 200


def test_wrong_tokens_are_throttled_and_right_ones_are_not(serve, tmp_path):
    token = make_token(tmp_path / "rtsp.tokens", "ci")
    server = serve({"otto": "operator"}, rtsp={"tokens": str(tmp_path / "rtsp.tokens")})
    guesses = curl(server, "-i", *bearer("wrong"), path="/v1/status#[1-25]", scheme="http").stdout
    assert " 200 " not in guesses and " 429 " in guesses and "Retry-After: 1\n" in guesses
    assert http_status(server, *bearer(token), scheme="http") == "200"


def test_a_file_of_tokens_with_a_mistake_is_refused(tmp_path):
    tokens, config = tmp_path / "t", tmp_path / "edged.conf"
    config.write_text('rtsp = { tokens = "t"; };\n')
    check = daemon.run_edged("--check", "--config", config)
    assert check.returncode != 0 and "`edgectl token NAME` makes it" in check.stderr
    tokens.write_text("ci:viewer:0123\n")
    tokens.chmod(0o600)
    check = daemon.run_edged("--check", "--config", config)
    assert f"{config}:1: error: rtsp.tokens: {tokens}:1: got another SHA-256 than is allowed" in check.stderr
    tokens.chmod(0o644)
    assert "chmod 600" in daemon.run_edged("--check", "--config", config).stderr


def test_a_token_needs_no_key_of_the_configuration(serve):
    """Its file lies beside the configuration, where `edgectl token` puts it."""
    server = serve()
    assert "tokens" not in server.config.read_text()
    reload = ["-X", "POST"]

    def status(token):
        return http_status(server, *bearer(token), *reload, path="/v1/reload", scheme="http")

    made = edgectl("token", "--config", server.config, "--role", "operator", "ci")
    token = made.stdout.strip()
    assert "rtsp = " not in made.stderr and "`edgectl reload`" in made.stderr
    assert (server.config.parent / "rtsp.tokens").stat().st_mode & 0o7777 == 0o600
    assert status(token) == "401"  # before it is read
    server.hang_up()
    assert status(token) == "200"
    assert "the users have changed" in server.stderr()
    renewed = edgectl("token", "--config", server.config, "ci").stdout.strip()
    server.hang_up()  # may be told of the reload before
    daemon.wait_for(lambda: status(token) == "401")
    assert status(renewed) == "200"
    (server.config.parent / "rtsp.tokens").write_text("ci:operator:0123\n")
    server.hang_up()
    server.wait_stderr("error: rtsp.tokens: .*rtsp.tokens:1: got another SHA-256 than is allowed")
    assert status(renewed) == "200"
    (server.config.parent / "rtsp.tokens").unlink()
    server.hang_up()
    daemon.wait_for(lambda: status(renewed) == "401")


def test_a_file_of_tokens_that_no_key_names_is_checked(tmp_path):
    config, tokens = tmp_path / "edged.conf", tmp_path / "rtsp.tokens"
    config.write_text("http = { port = 0; };\n")
    assert daemon.run_edged("--check", "--config", config).returncode == 0
    tokens.write_text("ci:viewer:0123\n")
    tokens.chmod(0o600)
    check = daemon.run_edged("--check", "--config", config)
    assert check.returncode == 1
    assert f"rtsp.tokens: {tokens}:1: got another SHA-256 than is allowed" in check.stderr
    config.write_text('rtsp = { tokens = "others"; };\n')
    make_token(tmp_path / "others", "ci")
    assert daemon.run_edged("--check", "--config", config).returncode == 0
