"""RTSP requests by hand: what a server answers, and how fast."""

import socket
import ssl
import time

from daemon import PATIENCE_S, wait_for


def trusting():
    """TLS that takes any certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def connect(url, timeout_s=PATIENCE_S):
    """A connection to the server of a URL, inside TLS for rtsps://."""
    host, port = url.split("/")[2].rpartition("@")[2].split(":")
    connection = socket.create_connection((host, int(port)), timeout_s)
    connection.settimeout(timeout_s)
    return trusting().wrap_socket(connection) if url.startswith("rtsps:") else connection


def describe(url, timeout_s=PATIENCE_S):
    """DESCRIBEs `url`. Returns the status code, the SDP text and the seconds it took."""
    begin = time.monotonic()
    with connect(url, timeout_s) as connection:
        connection.sendall(
            f"DESCRIBE {url} RTSP/1.0\r\nCSeq: 1\r\nAccept: application/sdp\r\n\r\n".encode()
        )
        head, body = _read_response(connection)
    code = int(head[0].split()[1])
    return code, body, time.monotonic() - begin


def wait_served(url):
    """DESCRIBEs until a first picture is there: who comes before is told to come again."""
    return wait_for(lambda: (answer := describe(url))[0] != 503 and answer)


def _read_response(connection):
    data = b""
    while b"\r\n\r\n" not in data:
        data += _receive(connection)
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    length = next(
        (int(v) for k, _, v in (x.partition(":") for x in lines) if k.lower() == "content-length"),
        0,
    )
    while len(body) < length:
        body += _receive(connection)
    return lines, body[:length].decode()  # pictures may follow at once


def _receive(connection):
    data = connection.recv(65536)
    assert data, "the server hung up"
    return data


def set_up(url, receive_buffer_bytes=4096, timeout_s=PATIENCE_S):
    """A viewer over TCP that has yet to play(). Returns its socket and its session."""
    wait_served(url)
    host, port = url.split("/")[2].split(":")
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
    connection.settimeout(timeout_s)
    connection.connect((host, int(port)))
    _request(connection, "DESCRIBE", url, 1, "Accept: application/sdp")
    head = _request(
        connection, "SETUP", f"{url}/stream=0", 2,
        "Transport: RTP/AVP/TCP;unicast;interleaved=0-1",
    )
    session = next(x.partition(":")[2].strip() for x in head if x.lower().startswith("session:"))
    return connection, session.split(";")[0]


def play_and_stall(url, **settings):
    """A viewer over TCP that plays `url` and, once that is answered, reads nothing more. Returns its socket."""
    connection, session = set_up(url, **settings)
    _request(connection, "PLAY", url, 3, f"Session: {session}")
    return connection


def read_to_end(connection, most_bytes=1 << 30):
    """Reads until the other end has hung up, or so much. Returns how many bytes came."""
    count = 0
    try:
        while count < most_bytes and (data := connection.recv(1 << 20)):
            count += len(data)
    except ConnectionError:
        pass
    return count


def _request(connection, method, url, sequence, header):
    connection.sendall(f"{method} {url} RTSP/1.0\r\nCSeq: {sequence}\r\n{header}\r\n\r\n".encode())
    head, _ = _read_response(connection)
    assert head[0].split()[1] == "200", head
    return head
