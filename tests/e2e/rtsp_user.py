"""An RTSP client with a user's name and password, by Python's hashes: RFC 7616, and RFC 2069 where
qop is None. It sends what it is told, one request after the other, over one connection."""

import contextlib
import hashlib
import re
import socket
import threading
import time

from daemon import PATIENCE_S

HASHES = {"MD5": hashlib.md5, "SHA-256": hashlib.sha256}


# A connection may ask 100 times a second, both requests of a login counted.
LOGINS_A_CONNECTION = 40


def guess(server, path, count):
    """So many logins of vera with a wrong password, each refused."""
    for begin in range(0, count, LOGINS_A_CONNECTION):
        with Client(server.port, "vera", "a wrong one") as client:
            for _ in range(min(LOGINS_A_CONNECTION, count - begin)):
                assert client.request("DESCRIBE", path).code in (401, 503)


@contextlib.contextmanager
def guessers(server, path, addresses):
    """Meanwhile each of the addresses tries wrong passwords of vera without pause."""
    ended, threads = threading.Event(), []

    def guess_from(address):
        while not ended.is_set():
            with contextlib.suppress(OSError), Client(
                server.port, "vera", "a wrong one", address=address
            ) as client:
                for _ in range(LOGINS_A_CONNECTION):
                    if ended.is_set():
                        return
                    assert client.request("DESCRIBE", path).code in (401, 503)
                    time.sleep(0.25)  # more often than it may, and the machine has time for others

    for address in addresses:
        threads.append(threading.Thread(target=guess_from, args=(address,)))
        threads[-1].start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()


class Reply:
    def __init__(self, head, body):
        lines = head.decode().split("\r\n")
        self.code = int(lines[0].split()[1])
        self.lines = [tuple(part.strip() for part in line.split(":", 1)) for line in lines[1:]]
        self.body = body.decode()

    def all(self, name):
        return [value for key, value in self.lines if key.lower() == name.lower()]

    def one(self, name):
        (value,) = self.all(name)
        return value


def challenges(reply):
    """{algorithm: its fields} of the Digest challenges."""
    fields = [dict(re.findall(r'(\w+)="?([^",]*)"?', c)) for c in reply.all("WWW-Authenticate")]
    return {field["algorithm"]: field for field in fields if "algorithm" in field}


class Client:
    """`uri` is what is signed instead of the URL of a request; a function of that URL. `address` is
    where it comes from."""

    def __init__(
        self, port, user=None, password=None, *, algorithm="SHA-256", qop="auth", uri=lambda u: u,
        address="127.0.0.1",
    ):  # fmt: skip
        self.base = f"rtsp://127.0.0.1:{port}"
        self.user, self.password = user, password
        self.algorithm, self.qop, self.uri = algorithm, qop, uri
        self.nonce, self.count, self.sequence = None, 0, 0
        self.unread = b""
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE_S, (address, 0))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def answer(self, method, url):
        def h(*fields):
            return HASHES[self.algorithm](":".join(fields).encode()).hexdigest()

        uri = self.uri(url)
        ha1, ha2 = h(self.user, "edged", self.password), h(method, uri)
        text = f'username="{self.user}", realm="edged", nonce="{self.nonce}", uri="{uri}"'
        if self.qop:
            self.count += 1
            count = f"{self.count:08x}"
            response = h(ha1, self.nonce, count, "cnonce", "auth", ha2)
            text += f', qop=auth, nc={count}, cnonce="cnonce"'
        else:
            response = h(ha1, self.nonce, ha2)
        return f'Digest {text}, response="{response}", algorithm={self.algorithm}'

    def send(self, method, url, *headers):
        """One request, with an answer once a challenge came."""
        self.sequence += 1
        url = self.base + url if url.startswith("/") else url
        lines = [f"{method} {url} RTSP/1.0", f"CSeq: {self.sequence}", *headers]
        if self.nonce and not any(line.startswith("Authorization:") for line in headers):
            lines.append(f"Authorization: {self.answer(method, url)}")
        self.socket.sendall("\r\n".join((*lines, "", "")).encode())
        return self.read()

    def request(self, method, url, *headers):
        """Answers the challenge, as players do: once."""
        reply = self.send(method, url, *headers)
        fields = challenges(reply).get(self.algorithm)
        if reply.code == 401 and self.user and (not self.nonce or fields.get("stale") == "true"):
            self.nonce, self.count = fields["nonce"], 0
            reply = self.send(method, url, *headers)
        return reply

    def read(self):
        """The next reply; what comes of a stream meanwhile is passed over."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            assert time.monotonic() < deadline, "nothing but a stream comes"
            while self.unread[:1] == b"$" and len(self.unread) >= 4:
                length = int.from_bytes(self.unread[2:4], "big")
                if len(self.unread) < 4 + length:
                    break
                self.unread = self.unread[4 + length :]
            if self.unread[:1] == b"R" and b"\r\n\r\n" in self.unread:
                head, _, rest = self.unread.partition(b"\r\n\r\n")
                length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
                length = int(length[1]) if length else 0
                if len(rest) >= length:
                    self.unread = rest[length:]
                    return Reply(head, rest[:length])
            data = self.socket.recv(1 << 16)
            if not data:
                raise ConnectionError("the server hung up")
            self.unread += data

    def play(self, path):
        """DESCRIBE, SETUP and PLAY; the session."""
        assert self.request("DESCRIBE", path, "Accept: application/sdp").code == 200
        reply = self.request(
            "SETUP", f"{path}/stream=0", "Transport: RTP/AVP/TCP;unicast;interleaved=0-1"
        )
        assert reply.code == 200, reply.lines
        session = reply.one("Session").split(";")[0]
        assert self.request("PLAY", f"{path}/", f"Session: {session}").code == 200
        return session

    def is_hung_up(self):
        """Waits for the other end to hang up, or for a reply."""
        try:
            self.read()
        except ConnectionError:
            return True
        return False
