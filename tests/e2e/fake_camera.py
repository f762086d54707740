"""A camera in the network that differs from the RFCs, or from what others do, by one quirk.

Serves x264's picture of ffmpeg's test source (testsrc2, 320x240, 25 frames a second) on loopback
and keeps the requests that it gets. Each quirk is what some camera or server was seen to do:

  none          nothing of the below
  gop           20 s between key frames, and PLAY joins where the stream is
  slow          a frame every 4 s
  rtpinfo       RTP-Info says seq=1;rtptime=0, packets begin at 40000
  range         PLAY answers Range: npt=500-, and its RTP-Info names another stream
  wrap          sequence numbers and timestamps run over soon
  jump          timestamps jump by an hour after two seconds
  ipv6          at [::1], with c=IN IP4 0.0.0.0 in the SDP
  address       c= and o= of the SDP name another machine
  multicast     c= of the SDP is a multicast group
  six           at 127.0.0.1, with c=IN IP6 :: in the SDP and again in the video's part
  no-udp        SETUP by UDP is answered with 500
  keepalive     Session timeout=10; hangs up when no request came for 12 s
  options       the same, and GET_PARAMETER is neither listed nor understood (501)
  refused       GET_PARAMETER is listed, and answered with 451
  session       a Session with spaces around its timeout
  ports         no server_port in the answer to SETUP
  absolute      controls are whole URLs, without a Content-Base
  slash         a Content-Base that ends in a slash, and a=control:* for the session
  tracks        sound and ONVIF's metadata are listed before the video, and a second video after it
  parameters    sprop-parameter-sets in the SDP, and no SPS and PPS in the stream
  digest        Digest with qop=auth, and Basic beside it
  basic         Basic alone
  digests       Digest with SHA-256, and with MD5 after it
  sha256        Digest with SHA-256 alone
  close         hangs up after each 401
  hangup        hangs up its control connection two seconds after PLAY, while UDP goes on
  redirect      redirects each DESCRIBE to the same URL
  circle        redirects each DESCRIBE to one more
  silent        sends nothing after PLAY
  locked        refuses every login, with another nonce each time, until .unlocked
  realms        the same, with another realm as well
  stale         answers the first login with stale=true and another nonce
  nonces        changes its nonce every second once it was answered, says nothing of stale; a session lasts 4 s
  missing, busy, forbidden    answer DESCRIBE with 404, 503, 403
  huge          an SDP of 16 MB
  endless       a picture that never ends, as fast as it is taken
  ssrc          another SSRC, sequence and timestamp after each two seconds
  elsewhere     redirects to .elsewhere
  even          nothing of the above
  burst03       sends what it has captured every third of a second
  burst1        the same every second
  burst3        the same every three seconds
  burst6        as burst3, and six seconds at once after every second burst
  gap           sends nothing for 0.75 s of every 5 s, then what it has captured meanwhile
  stall         the same once, from 5 s after its beginning until .goes_on
  late          sends two of five pictures 50 to 120 ms late, and none before those in front of it
  heavy         as burst3, with 900 kB of filler data in each access unit; by TCP alone

The pictures of the last nine are the pattern's (pattern.py), numbered from 0 up to NUMBERED, with a key
frame a second.
"""

import base64
import functools
import hashlib
import re
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
import uuid

import pattern
from rtsp_camera import PASSWORD, SIZE, USER

REALM, FPS = "camera", 25
CLOCK_HZ = 90000
PACKET_BYTES = 1400
PICTURE_TYPES, PARAMETER_TYPES = (1, 5), (7, 8)
PERIODS_S = {"burst03": 1 / 3, "burst1": 1, "burst3": 3, "burst6": 3, "heavy": 3}  # from burst to burst
GAP_S, GAP_EVERY_S = 0.75, 5
STALL_AT_S = 5
LATE_S = (0, 0.05, 0, 0.12, 0, 0, 0.09, 0, 0.06, 0)  # pictures of "late", one after the other
OF_THE_PATTERN = ("even", "gap", "late", "stall", *PERIODS_S)
FILLER = b"\x0c" + bytes([0xFF]) * 900_000 + b"\x80"
NUMBERED = 60 * FPS


def encode(source, key_frames, pictures=None):
    """Access units of what ffmpeg reads from `source`, or of `pictures`, which it reads there."""
    command = ["ffmpeg", "-v", "error", *source, "-c:v", "libx264"]
    command += ["-preset", "ultrafast", "-tune", "zerolatency", "-x264-params"]
    command += [f"threads=1:slices=1:scenecut=0:keyint={key_frames}:min-keyint={key_frames}"]
    stream = subprocess.run(
        [*command, "-f", "h264", "-"], input=pictures, capture_output=True, check=True
    ).stdout
    units, unit = [], []
    for nal in filter(None, re.split(b"\0\0\0?\1", stream)):
        unit.append(nal)
        if nal[0] & 31 in PICTURE_TYPES:
            units.append(unit)
            unit = []
    return units


def encode_test_source(seconds):
    source = f"testsrc2=s={SIZE[0]}x{SIZE[1]}:r={FPS}:d={seconds}"
    return encode(["-f", "lavfi", "-i", source], seconds * FPS)


@functools.lru_cache(maxsize=1)
def encode_pattern(size):
    pictures = b"".join(
        plane.tobytes() for number in range(NUMBERED) for plane in pattern.frame(number, *size)
    )
    source = ["-f", "rawvideo", "-pix_fmt", "yuv420p", "-s", f"{size[0]}x{size[1]}", "-r", FPS, "-i", "-"]
    return encode(map(str, source), FPS, pictures)


def due_s(quirk, captured_s):
    """When a picture is sent, in seconds from the first one."""
    if quirk == "burst6" and captured_s % 12 >= 6:
        return (captured_s // 12 + 1) * 12
    if quirk in PERIODS_S:
        return (captured_s // PERIODS_S[quirk] + 1) * PERIODS_S[quirk]
    if quirk == "gap":
        begun_s = captured_s // GAP_EVERY_S * GAP_EVERY_S
        return max(captured_s, begun_s + GAP_S)
    if quirk == "late":
        return captured_s + LATE_S[round(captured_s * FPS) % len(LATE_S)]
    return captured_s


def payloads(unit, packet_bytes=PACKET_BYTES):
    """RFC 6184: whole units, or fragments of those that are too long. With the marker."""
    for number, nal in enumerate(unit):
        last = number == len(unit) - 1
        if len(nal) <= packet_bytes:
            yield nal, last
            continue
        for start in range(1, len(nal), packet_bytes):
            end = start + packet_bytes >= len(nal)
            header = bytes([nal[0] & 0xE0 | 28, (start == 1) << 7 | end << 6 | nal[0] & 31])
            yield header + nal[start : start + packet_bytes], last and end


class Client:
    """One connection."""

    def __init__(self, camera, connection, address):
        self.camera, self.connection, self.address = camera, connection, address
        self.quirk = camera.quirk
        self.udp = self.session = None
        self.own_session = uuid.uuid4().hex  # id(self) comes again, and with it the ports of an earlier connection
        self.heard = 0  # requests
        self.redirects = 0
        self.unanswered = ""  # the nonce of the last challenge until a right login answers it

    def serve(self):
        data = b""
        try:
            while more := self.connection.recv(65536):
                data += more
                while data:
                    if data[:1] == b"$":  # RTCP
                        length = 4 + (struct.unpack(">H", data[2:4])[0] if len(data) >= 4 else 0)
                        if len(data) < max(length, 4):
                            break
                        data = data[length:]
                        continue
                    if b"\r\n\r\n" not in data:
                        break
                    request, data = data.split(b"\r\n\r\n", 1)
                    self.answer(request.decode())
        except (OSError, ssl.SSLError):
            pass
        finally:
            self.connection.close()

    def send(self, request, status, headers=(), body=""):
        sequence = re.search(r"(?i)^CSeq: *(\d+)", request, re.M)[1]
        lines = [f"RTSP/1.0 {status}", f"CSeq: {sequence}", *headers]
        self.connection.sendall(("\r\n".join(lines) + "\r\n\r\n" + body).encode())

    def answer(self, request):
        method, url = request.split(" ")[:2]
        self.camera.requests.append(method)
        refused = self.challenge(request, method, url)
        if refused:
            self.send(request, "401 Unauthorized", refused)
            if self.quirk == "close":
                self.connection.shutdown(socket.SHUT_RDWR)
            return
        self.heard += 1
        known = re.search(r"(?i)^Session: *(\w+)", request, re.M)
        if known:  # perhaps by another connection
            self.udp = self.camera.sessions.get(known[1])
        self.session = known[1] if known else self.own_session
        spaces = " " if self.quirk == "session" else ""
        session = f"Session: {spaces}{self.session}{spaces};{spaces}timeout={self.camera.timeout}"
        if method == "OPTIONS":
            methods = "OPTIONS, DESCRIBE, SETUP, PLAY, TEARDOWN"
            if self.quirk != "options":
                methods += ", GET_PARAMETER"
            self.send(request, "200 OK", [f"Public: {methods}"])
        elif method == "DESCRIBE":
            self.describe(request, url)
        elif method == "SETUP":
            self.set_up(request, session)
        elif method == "PLAY":
            headers = [session]
            if self.quirk == "rtpinfo":
                headers.append("RTP-Info: url=track1;seq=1;rtptime=0")
            if self.quirk == "range":
                headers += ["Range: npt=500.0-", "RTP-Info: url=rtsp://10.0.0.1/x;seq=9;rtptime=7"]
            self.send(request, "200 OK", headers)
            threading.Thread(target=self.play, daemon=True).start()
        elif method == "GET_PARAMETER" and self.quirk == "options":
            self.send(request, "501 Not Implemented", [session])
        elif method == "GET_PARAMETER" and self.quirk == "refused":
            self.send(request, "451 Parameter Not Understood", [session])
        else:
            self.send(request, "200 OK", [session])

    def challenge(self, request, method, url):
        """What a request without the right password gets; [] is for one with it."""
        nonce = (self.unanswered or f"{int(time.monotonic()):x}") if self.quirk == "nonces" else "0a1b2c"
        digest = f'WWW-Authenticate: Digest realm="{REALM}", nonce="{nonce}"'
        md5 = digest + (', qop="auth", algorithm=MD5' if self.quirk == "digest" else "")
        challenges = {
            "digest": [md5, f'WWW-Authenticate: Basic realm="{REALM}"'],
            "close": [md5],
            "nonces": [digest],
            "basic": [f'WWW-Authenticate: Basic realm="{REALM}"'],
            "digests": [digest + ", algorithm=SHA-256", md5],
            "sha256": [digest + ", algorithm=SHA-256"],
        }.get(self.quirk, [])
        given = re.search(r"(?i)^Authorization: *Digest (.*)", request, re.M)
        self.camera.logins += given is not None
        self.camera.users |= set(re.findall(r'username="([^"]*)"', given[1]) if given else [])
        if self.quirk in ("locked", "realms", "stale") and method != "OPTIONS":
            realm = REALM + (str(time.monotonic_ns()) if self.quirk == "realms" else "")
            stale = self.quirk == "stale" and self.camera.logins <= 1
            if not given or stale or not (self.camera.unlocked or self.quirk == "stale"):
                return [f'WWW-Authenticate: Digest realm="{realm}", nonce="{time.monotonic_ns()}"'
                        + (", stale=true" if given and stale else "")]
        if not challenges or method == "OPTIONS":
            return []
        if self.quirk == "basic":
            login = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
            return [] if f"Authorization: Basic {login}" in request else challenges
        self.unanswered = nonce
        if not given:
            return challenges
        fields = dict(re.findall(r'(\w+)="?([^",]*)"?', given[1]))

        def hashed(text):
            return hashlib.md5(text.encode()).hexdigest()

        parts = [hashed(f"{USER}:{REALM}:{PASSWORD}"), nonce, hashed(f"{method}:{url}")]
        if "qop" in fields:
            parts[2:2] = [fields["nc"], fields["cnonce"], fields["qop"]]
        right = hashed(":".join(parts)) == fields.get("response")
        self.unanswered = "" if right else nonce
        return [] if right and self.quirk != "sha256" else challenges

    def describe(self, request, url):
        if self.quirk in ("redirect", "circle"):
            self.redirects += 1
            self.camera.redirects += 1
            target = url + (f"{self.camera.redirects}" if self.quirk == "circle" else "")
            self.send(request, "302 Moved Temporarily", [f"Location: {target}"])
            return
        answers = {"missing": "404 Not Found", "busy": "503 Service Unavailable", "forbidden": "403 Forbidden"}
        if self.quirk in answers:
            self.send(request, answers[self.quirk])
            return
        if self.quirk == "elsewhere":
            self.send(request, "302 Moved Temporarily", [f"Location: {self.camera.elsewhere}"])
            return
        host = {"address": "IP4 10.9.8.7", "multicast": "IP4 239.1.2.3/15", "six": "IP6 ::"}.get(
            self.quirk, "IP4 0.0.0.0"
        )
        control = {"absolute": f"{self.camera.url}/track1"}.get(self.quirk, "track1")
        form = "packetization-mode=1"
        if self.quirk == "parameters":
            form += f";sprop-parameter-sets={self.camera.parameter_sets()}"
        video = ["m=video 0 RTP/AVP 96", "a=rtpmap:96 H264/90000", f"a=fmtp:96 {form}"]
        lines = ["v=0", f"o=- 1 1 IN {host}", "s=x", f"c=IN {host}", "t=0 0"]
        if self.quirk == "six":
            video.insert(1, f"c=IN {host}")
        if self.quirk == "slash":
            lines.append("a=control:*")
        if self.quirk == "tracks":
            lines += ["m=audio 0 RTP/AVP 0", "a=control:sound", "m=application 0 RTP/AVP 107"]
            lines += ["a=rtpmap:107 vnd.onvif.metadata/90000", "a=control:metadata"]
        lines += [*video, f"a=control:{control}"]
        if self.quirk == "tracks":
            lines += [*video, "a=control:track2"]
        if self.quirk == "huge":
            lines += ["a=x:" + "y" * 16] * 700_000
        body = "\r\n".join(lines) + "\r\n"
        headers = ["Content-Type: application/sdp", f"Content-Length: {len(body)}"]
        if self.quirk == "slash":
            headers.append(f"Content-Base: {url}/")
        self.send(request, "200 OK", headers, body)

    def set_up(self, request, session):
        ports = re.search(r"client_port=(\d+)", request)
        if ports and self.quirk == "no-udp":
            self.send(request, "500 Internal Server Error")
            return
        self.camera.setups.append(request.split(" ")[1])
        if not ports:
            transport = "Transport: RTP/AVP/TCP;unicast;interleaved=0-1"
            self.send(request, "200 OK", [transport, session])
            return
        self.udp = socket.socket(self.connection.family, socket.SOCK_DGRAM)
        self.udp.bind((self.camera.host, 0))
        self.camera.sessions[self.session] = self.udp
        self.udp.connect((self.address[0], int(ports[1])))
        port = self.udp.getsockname()[1]
        transport = f"Transport: RTP/AVP;unicast;client_port={ports[1]}-{int(ports[1]) + 1}"
        if self.quirk != "ports":
            transport += f";server_port={port}-{port + 1}"
        self.send(request, "200 OK", [transport, session])

    def hangs_up(self, begun, unheard):
        late = self.camera.timeout < 60 and unheard > (self.camera.timeout + 2) * FPS
        return late or (self.quirk == "hangup" and time.monotonic() - begun > 2)

    def play(self):
        sequence = {"rtpinfo": 40000, "wrap": 65500}.get(self.quirk, 0)
        base = 2**32 - CLOCK_HZ if self.quirk == "wrap" else 0
        rate = 0.25 if self.quirk == "slow" else FPS
        begun, number = time.monotonic(), 0
        heard = unheard = 0  # requests, and pictures sent in time since the last one
        first = int((begun - self.camera.begun) * rate) if self.quirk == "gop" else 0
        if self.quirk == "silent":
            return
        try:
            while self.quirk == "endless":  # the middle of a fragmented unit
                header = struct.pack(">BBHII", 0x80, 96, sequence, 0, 7)
                sequence = (sequence + 1) & 0xFFFF
                packet = header + bytes([0x7C, 0x05 if sequence > 1 else 0x85]) + bytes(1398)
                self.connection.sendall(struct.pack(">cBH", b"$", 0, len(packet)) + packet)
                self.camera.sent += len(packet)
            while True:
                heard, unheard = self.heard, unheard if heard == self.heard else 0
                if self.hangs_up(begun, unheard):
                    self.camera.hangups += 1
                    self.connection.shutdown(socket.SHUT_RDWR)
                    if self.quirk != "hangup":
                        return
                    self.quirk = "none"
                jump = 3600 * CLOCK_HZ if self.quirk == "jump" and number > 2 * FPS else 0
                stamp = int(base + jump + number * CLOCK_HZ / rate) & 0xFFFFFFFF
                units = self.camera.units
                if self.quirk == "stall" and number == STALL_AT_S * FPS:
                    self.camera.goes_on.wait()
                early_s = begun + due_s(self.quirk, number / rate) - time.monotonic()
                time.sleep(max(0, early_s))
                unheard += early_s > 0  # else a busy machine has kept both ends from the connection
                self.camera.sent_ns.append(time.monotonic_ns())
                size = {"heavy": 60_000}.get(self.quirk, PACKET_BYTES)
                for payload, marker in payloads(units[(first + number) % len(units)], size):
                    source = number // (2 * FPS) if self.quirk == "ssrc" else 0
                    header = struct.pack(">BBHII", 0x80, marker << 7 | 96,
                                         (sequence + 20011 * source) & 0xFFFF,
                                         (stamp + source * 99999999) & 0xFFFFFFFF, 7 + source)
                    sequence = (sequence + 1) & 0xFFFF
                    if self.udp:
                        self.udp.send(header + payload)
                    else:
                        length = struct.pack(">cBH", b"$", 0, len(header + payload))
                        self.connection.sendall(length + header + payload)
                number += 1
        except (OSError, ssl.SSLError):
            pass
        finally:
            if self.udp:
                self.udp.close()


class FakeCamera:
    """Plays in threads of its own until stop(). With a certificate's PEM file by rtsps://."""

    def __init__(self, quirk="none", certificate=None):
        self.quirk = quirk
        self.requests, self.setups, self.sessions, self.users = [], [], {}, set()
        self.connections = self.hangups = self.redirects = self.logins = self.sent = 0
        self.sent_ns = []  # when each picture was, on CLOCK_MONOTONIC
        self.unlocked, self.elsewhere, self.goes_on = False, None, threading.Event()
        self.timeout = {"keepalive": 10, "options": 10, "nonces": 4}.get(quirk, 60)
        self.host = "::1" if quirk == "ipv6" else "127.0.0.1"
        if quirk in OF_THE_PATTERN:
            self.units = encode_pattern(SIZE)
        else:
            self.units = encode_test_source({"gop": 20}.get(quirk, 1))
        self.sets = [nal for nal in self.units[0] if nal[0] & 31 in PARAMETER_TYPES]
        if quirk == "parameters":
            self.units[0] = [nal for nal in self.units[0] if nal not in self.sets]
        if quirk == "slow":
            self.units = self.units[:1]
        if quirk == "heavy":
            self.units = [[*unit, FILLER] for unit in self.units]
        self.begun = time.monotonic() - 1  # the key frame is a second ago
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        self.listener = socket.create_server((self.host, 0), family=family)
        self.context = None
        if certificate:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(certificate)
        name = f"[{self.host}]" if ":" in self.host else self.host
        self.port = self.listener.getsockname()[1]
        self.url = f"rtsp{'s' if certificate else ''}://{name}:{self.port}/stream"
        threading.Thread(target=self.accept, daemon=True).start()

    def longest_pause_s(self):
        """Between two pictures that it sent."""
        return max(after - before for before, after in zip(self.sent_ns, self.sent_ns[1:])) / 1e9

    def parameter_sets(self):
        return ",".join(base64.b64encode(nal).decode() for nal in self.sets)

    def accept(self):
        try:
            while True:
                connection, address = self.listener.accept()
                self.connections += 1
                threading.Thread(target=self.serve, args=(connection, address), daemon=True).start()
        except OSError:
            pass

    def serve(self, connection, address):
        try:
            if self.context:
                connection = self.context.wrap_socket(connection, server_side=True)
        except (OSError, ssl.SSLError):
            return
        Client(self, connection, address).serve()

    def stop(self):
        self.goes_on.set()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


def main():
    camera = FakeCamera(sys.argv[1] if len(sys.argv) > 1 else "none")
    print(camera.url, flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
