#!/usr/bin/python3
"""A camera process that loses the first JPEG on its link: EDGED_CAMERA_PROGRAM. Starts the real one,
$LOSSY_LINK_CAMERA, and passes on what that and edged say to one another.

A real one loses a JPEG whenever another waits in a link that is full.
"""

import os
import socket
import struct
import subprocess
import sys
import threading

LINK_FD = 3
HEADER = struct.Struct("III")  # type, view, bytes of payload (daemon/link/messages.h)


def read(connection, size):
    data = b""
    while len(data) < size:
        received = connection.recv(size - len(data))
        if not received:
            os._exit(0)
        data += received
    return data


def pass_on(camera, front):
    while received := front.recv(1 << 16):
        camera.sendall(received)
    camera.shutdown(socket.SHUT_WR)


def main():
    front = socket.socket(fileno=os.dup(LINK_FD))
    front.setblocking(True)
    camera, other = socket.socketpair()
    os.dup2(other.fileno(), LINK_FD)
    other.close()
    subprocess.Popen(["edged-camera", *sys.argv[1:]], executable=os.environ["LOSSY_LINK_CAMERA"], pass_fds=[LINK_FD])
    os.close(LINK_FD)
    threading.Thread(target=pass_on, args=(camera, front), daemon=True).start()
    has_lost = False
    while True:
        header = read(camera, HEADER.size)
        payload = read(camera, HEADER.unpack(header)[2])
        is_jpeg = payload.endswith(b"\xff\xd9") and b"\xff\xd8\xff" in payload[:64]
        if has_lost or not is_jpeg:
            front.sendall(header + payload)
        elif is_jpeg:
            has_lost = True
            print("lossy_link: lost a JPEG", file=sys.stderr, flush=True)


main()
