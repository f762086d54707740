"""What a user would pick instead of edged: a stock GStreamer pipeline behind gst-rtsp-server.

Serves the moving pattern at rtsp://127.0.0.1:PORT/edges through FILTER and ENCODER, with the
first viewer as the start of frame 0. All pictures are drawn beforehand, so that the CPU time of
this process is the pipeline's. Prints `ready PORT`, then `frame NUMBER PUSHED_NS` for each push
(CLOCK_MONOTONIC just before it), and ends when its stdin closes.
"""

import argparse
import pathlib
import sys
import threading
import time

import gi
import gst_peer

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
import pattern  # noqa: E402

gi.require_version("Gst", "1.0")
gi.require_version("GstRtspServer", "1.0")
from gi.repository import Gst, GstRtspServer  # noqa: E402


def draw_frame(number, width, height):
    planes = pattern.frame(number, width, height)
    return Gst.Buffer.new_wrapped(b"".join(plane.tobytes() for plane in planes))


class Factory(GstRtspServer.RTSPMediaFactory):
    def __init__(self, arguments, frames):
        super().__init__()
        self.arguments = arguments
        self.frames = frames
        self.set_shared(True)

    def do_create_element(self, _url):
        a = self.arguments
        return Gst.parse_launch(
            "( appsrc name=source is-live=true format=time do-timestamp=true"
            f" caps=video/x-raw,format=I420,width={a.width},height={a.height},"
            f"framerate={pattern.FPS}/1,colorimetry=bt709"
            f" ! {a.filter} ! video/x-raw,format=I420 ! {a.encoder}"
            " ! rtph264pay name=pay0 )"
        )

    def do_configure(self, media):
        source = media.get_element().get_child_by_name("source")
        threading.Thread(target=self.push, args=(source,), daemon=True).start()

    def push(self, source):
        start_ns = time.monotonic_ns()
        for number, picture in enumerate(self.frames):
            due_ns = start_ns + number * 1_000_000_000 // pattern.FPS
            time.sleep(max(0, due_ns - time.monotonic_ns()) / 1e9)
            pushed_ns = time.monotonic_ns()
            if source.emit("push-buffer", picture) != Gst.FlowReturn.OK:
                return
            sys.stdout.write(f"frame {number} {pushed_ns}\n")
            sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--filter", default="videoconvert ! cvsobel ! videoconvert")
    parser.add_argument("--encoder", required=True)
    parser.add_argument("--width", type=int, default=1280)
    parser.add_argument("--height", type=int, default=720)
    parser.add_argument("--seconds", type=int, default=15, help="length of the clip")
    arguments = parser.parse_args()
    Gst.init(None)
    frames = [
        draw_frame(number, arguments.width, arguments.height)
        for number in range(arguments.seconds * pattern.FPS)
    ]
    gst_peer.serve(GstRtspServer.RTSPServer(), Factory(arguments, frames))


if __name__ == "__main__":
    main()
