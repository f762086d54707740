"""RTSP requests by hand: what a server answers, and how fast."""

import socket
import time


def describe(url, timeout_s=10):
    """DESCRIBEs `url`. Returns the status code, the SDP text and the seconds it took."""
    host, port = url.split("/")[2].split(":")
    begin = time.monotonic()
    with socket.create_connection((host, int(port)), timeout_s) as connection:
        connection.settimeout(timeout_s)
        connection.sendall(
            f"DESCRIBE {url} RTSP/1.0\r\nCSeq: 1\r\nAccept: application/sdp\r\n\r\n".encode()
        )
        head, body = _read_response(connection)
    code = int(head[0].split()[1])
    return code, body, time.monotonic() - begin


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
    return lines, body.decode()


def _receive(connection):
    data = connection.recv(65536)
    assert data, "the server hung up"
    return data
