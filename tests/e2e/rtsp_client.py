"""A pedantic RTSP client, by hand: it fails where a reply is not what RFC 2326 says.

A Connection parts what arrives into replies and interleaved packets. A Session is what SETUP made
on it, with the sockets of a viewer over UDP. Sections of RFC 2326 stand in parentheses.
"""

import collections
import contextlib
import hashlib
import re
import select
import socket
import ssl
import struct
import urllib.parse

from daemon import PATIENCE_S

# Not every Python knows it as a scheme whose URLs may be relative.
urllib.parse.uses_relative.append("rtsps")
urllib.parse.uses_netloc.append("rtsps")

SO_RCVBUFFORCE = 33
METHODS = (
    "OPTIONS", "DESCRIBE", "SETUP", "PLAY", "PAUSE", "TEARDOWN", "GET_PARAMETER", "SET_PARAMETER",
)
STATUS_LINE = re.compile(r"RTSP/1\.0 ([1-5]\d\d) [^\r\n]+")
HEADER_LINE = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\n]*)")
# Lines of an SDP in the order of RFC 4566, section 5.
SDP_ORDER = re.compile(r"vosi?u?e*p*c?b*(tr*)+z?k?a*(mi?c*b*k?a*)*")

Reply = collections.namedtuple("Reply", "status headers body")


class Connection:
    """A client's connection to the server of `url`. `login`: name and password, for whom it asks
    again where it is told to log in."""

    def __init__(self, url, receive_buffer_bytes=0, login=None, source=""):
        self.login = login
        host, port = urllib.parse.urlsplit(url).netloc.rsplit(":", 1)
        self.socket = socket.socket()
        if receive_buffer_bytes:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
        self.socket.settimeout(PATIENCE_S)
        if source:
            self.socket.bind((source, 0))
        self.socket.connect((host, int(port)))
        if url.startswith("rtsps:"):
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            self.socket = context.wrap_socket(self.socket)
        self.unread = b""
        self.packets = collections.deque()  # (channel, bytes) that came before a reply
        self.sequence = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def write(self, method, url, headers=(), body=b"", version="RTSP/1.0"):
        """Sends a request and does not wait for the reply."""
        self.sequence += 1
        lines = [f"{method} {url} {version}", f"CSeq: {self.sequence}"]
        lines += [f"{name}: {value}" for name, value in dict(headers).items()]
        lines += [f"Content-Length: {len(body)}"] if body else []
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode() + body)

    def ask(self, method, url, headers=(), body=b"", version="RTSP/1.0"):
        """Sends a request. Returns the Reply, whose form has been checked."""
        self.write(method, url, headers, body, version)
        reply = self.read_reply(self.sequence)
        if reply.status != 401 or not self.login:
            return reply
        proof = authorization(reply.headers["www-authenticate"], *self.login, method, url)
        self.write(method, url, {**dict(headers), "Authorization": proof}, body, version)
        return self.read_reply(self.sequence)

    def read_reply(self, sequence):
        while self._peek(1) == b"$":
            self.packets.append(self._read_packet())
        head = self._read_until(b"\r\n\r\n").decode("ascii")
        lines = head.split("\r\n")
        assert "\n" not in head.replace("\r\n", ""), f"a line that ends in LF alone: {head!r}"
        status = STATUS_LINE.fullmatch(lines[0])
        assert status, f"no status line (7.1): {lines[0]!r}"
        headers = _parse_headers(lines[1:])
        assert headers.get("cseq") == str(sequence), f"another CSeq than {sequence} (12.17): {head}"
        body = self._read_bytes(int(headers.get("content-length", 0))).decode()
        assert bool(body) == ("content-type" in headers), f"a body has a type (12.16): {head}"
        return Reply(int(status.group(1)), headers, body)

    def read_packet(self):
        """The next interleaved packet: its channel and its bytes."""
        if self.packets:
            return self.packets.popleft()
        assert self._peek(1) == b"$", f"neither a packet nor asked for: {self._peek(64)!r}"
        return self._read_packet()

    def send_packet(self, channel, data):
        self.socket.sendall(struct.pack("!cBH", b"$", channel, len(data)) + data)

    def is_hung_up(self):
        """Whether the server closes the connection, whatever it still has to say on it."""
        try:
            while self.socket.recv(65536):
                pass
        except ConnectionError:
            pass
        except TimeoutError:
            return False
        return True

    def _receive(self):
        data = self.socket.recv(65536)
        assert data, f"the server hung up after {self.unread!r}"
        self.unread += data

    def _peek(self, size):
        while len(self.unread) < size:
            self._receive()
        return self.unread[:size]

    def _read_bytes(self, size):
        taken = self._peek(size)
        self.unread = self.unread[size:]
        return taken

    def _read_until(self, end):
        while end not in self.unread:
            self._receive()
        head, _, self.unread = self.unread.partition(end)
        return head

    def _read_packet(self):
        _, channel, size = struct.unpack("!cBH", self._read_bytes(4))  # 10.12
        return channel, self._read_bytes(size)


def _parse_headers(lines):
    headers = {}
    for line in lines:
        header = HEADER_LINE.fullmatch(line)
        assert header, f"no header (4.2 of RFC 2068): {line!r}"
        name, value = header.group(1).lower(), header.group(2)
        # A challenge for each way of logging in (RFC 7616, section 3.7) may come in its own line.
        assert name not in headers or name == "www-authenticate", f"{name} comes twice"
        headers[name] = f"{headers[name]}\n{value}" if name in headers else value
    return headers


def authorization(challenges, user, password, method, url, algorithm="SHA-256"):
    """The Authorization header for a reply's challenges, by RFC 7616, section 3.4."""
    told = [
        dict(re.findall(r'([\w-]+)="?([^",]+)"?', line)) for line in challenges.splitlines()
    ]
    challenge = next(one for one in told if one.get("algorithm", "MD5") == algorithm)
    hashed = {"MD5": hashlib.md5, "SHA-256": hashlib.sha256}[algorithm]
    h = lambda *parts: hashed(":".join(parts).encode()).hexdigest()  # noqa: E731
    answer = h(
        h(user, challenge["realm"], password), challenge["nonce"], "00000001", "c0ffee", "auth",
        h(method, url),
    )
    fields = {**challenge, "username": user, "uri": url, "response": answer, "cnonce": "c0ffee"}
    quoted = ("username", "realm", "nonce", "uri", "response", "cnonce", "opaque")
    texts = [f'{name}="{fields[name]}"' for name in quoted if name in fields]
    return f"Digest {', '.join(texts)}, algorithm={algorithm}, qop=auth, nc=00000001"


def parse_sdp(text):
    """The lines of the session and those of its one media, as {"m": ["video …"], "a": […]}."""
    assert text.endswith("\r\n") and "\n" not in text.replace("\r\n", ""), repr(text)
    lines = text.split("\r\n")[:-1]
    assert all(re.fullmatch(r"[a-z]=.+", line) for line in lines), text
    types = "".join(line[0] for line in lines)
    assert SDP_ORDER.fullmatch(types), f"lines in the order {types}"
    assert types.count("m") == 1, text
    session, media = collections.defaultdict(list), collections.defaultdict(list)
    for number, line in enumerate(lines):
        part = session if number < types.index("m") else media
        part[line[0]].append(line[2:])
    return session, media


def attribute(part, name):
    """The value of an attribute that there is exactly once."""
    values = [value.partition(":")[2] for value in part["a"] if value.partition(":")[0] == name]
    assert len(values) == 1, f"{name}: {values}"
    return values[0]


def describe(connection, url):
    """The URL of the media that `url` has, found as C.1.1 says, and the SDP's parts."""
    reply = connection.ask("DESCRIBE", url, {"Accept": "application/sdp"})
    assert reply.status == 200, reply
    assert reply.headers["content-type"] == "application/sdp", reply
    session, media = parse_sdp(reply.body)
    base = reply.headers.get("content-base", reply.headers.get("content-location", url))
    return urllib.parse.urljoin(base, attribute(media, "control")), session, media


class Session:
    """What SETUP made. `receivers` are the sockets of RTP and RTCP; None where interleaved. Those of
    a multicast group are opened here, as the reply names it."""

    def __init__(self, connection, url, transport, receivers=None):
        self.connection, self.url, self.receivers = connection, url, receivers
        media_url, self.sdp, self.media = describe(connection, url)
        self.media_url = media_url
        reply = connection.ask("SETUP", media_url, {"Transport": transport})
        assert reply.status == 200, reply
        self.id, _, self.timeout = reply.headers["session"].partition(";")
        assert re.fullmatch(r"[A-Za-z0-9$._+-]{8,}", self.id), f"a Session of 3.4: {reply}"
        profile, *parameters = reply.headers["transport"].split(";")
        self.profile = profile
        self.transport = dict(part.partition("=")[::2] for part in parameters)
        interleaved = self.transport.get("interleaved")
        self.channels = tuple(map(int, interleaved.split("-"))) if interleaved else ()
        if "multicast" in self.transport:
            ports = map(int, self.transport["port"].split("-"))
            self.receivers = [join_group(self.transport["destination"], port) for port in ports]

    @property
    def ssrc(self):
        assert re.fullmatch("[0-9A-Fa-f]{8}", self.transport["ssrc"]), self.transport
        return int(self.transport["ssrc"], 16)

    def ask(self, method, url=None, headers=(), body=b""):
        return self.connection.ask(
            method, url or self.url, {"Session": self.id, **dict(headers)}, body
        )

    def play(self):
        """Returns the sequence number and the time stamp that RTP-Info announces (12.33)."""
        reply = self.ask("PLAY", headers={"Range": "npt=now-"})
        assert reply.status == 200, reply
        assert reply.headers["session"].split(";")[0] == self.id, reply
        url, *parameters = reply.headers["rtp-info"].split(";")
        assert url == f"url={self.media_url}", reply
        announced = dict(part.split("=") for part in parameters)
        return int(announced["seq"]), int(announced["rtptime"])

    def read(self):
        """The next packet that is this session's: whether it is RTCP, and its bytes."""
        if self.receivers:
            return self._read_datagram()
        others = []
        while True:
            channel, data = self.connection.read_packet()
            if channel in self.channels:
                self.connection.packets.extendleft(reversed(others))
                return channel == self.channels[1], data
            others.append((channel, data))

    def _read_datagram(self):
        readable = wait_readable(self.receivers)
        return readable is self.receivers[1], readable.recv(65536)

    def send_rtcp(self, data):
        if self.receivers:
            ports = self.transport["server_port"].split("-")
            self.receivers[1].sendto(data, ("127.0.0.1", int(ports[1])))
        else:
            self.connection.send_packet(self.channels[1], data)


def wait_readable(sockets):
    readable, _, _ = select.select(sockets, [], [], PATIENCE_S)
    assert readable, "nothing came"
    return readable[0]


def enlarge(receiver):
    """Room for what comes while a busy machine keeps this client from its socket; as root beyond net.core.rmem_max."""
    for option in (socket.SO_RCVBUF, SO_RCVBUFFORCE):
        with contextlib.suppress(PermissionError):
            receiver.setsockopt(socket.SOL_SOCKET, option, 16 << 20)


def udp_pair():
    """Sockets on an even port and the odd one behind it (RFC 3550, section 11)."""
    while True:
        first, second = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
        enlarge(first)
        first.bind(("127.0.0.1", 0))
        port = first.getsockname()[1]
        try:
            if port % 2 == 0:
                second.bind(("127.0.0.1", port + 1))
                return first, second
        except OSError:
            pass
        first.close()
        second.close()


def join_group(group, port):
    """A socket that gets what comes to a port of a multicast group on the loopback device."""
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    enlarge(receiver)
    receiver.bind((group, port))
    membership = socket.inet_aton(group) + socket.inet_aton("127.0.0.1")
    receiver.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, membership)
    return receiver


def set_up(connection, url, transport="tcp", channels=(0, 1)):
    """A Session over "udp" or "multicast", or interleaved: "tcp", or "tls" where the URL is such."""
    if transport == "multicast":
        return Session(connection, url, "RTP/AVP;multicast")
    if transport != "udp":
        wanted = f"RTP/AVP/TCP;unicast;interleaved={channels[0]}-{channels[1]}"
        return Session(connection, url, wanted)
    receivers = udp_pair()
    ports = "-".join(str(one.getsockname()[1]) for one in receivers)
    return Session(connection, url, f"RTP/AVP;unicast;client_port={ports}", receivers)
