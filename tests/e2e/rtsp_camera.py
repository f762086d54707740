"""A camera in the network as its maker might build it: gst-rtsp-server with a user and a password.

Serves GStreamer's test picture at /h264, /h265, /vp8 and /jpeg (this by TCP alone) with sound beside it,
and /anamorphic, whose pixels are 16:11, for USER with PASSWORD (Digest), and prints `ready PORT`. Ends when its stdin
closes. `Camera` is the other end of that pipe. The rest is for the tests of all cameras in the network.
"""

import contextlib
import subprocess
import sys

import daemon

USER, PASSWORD = "viewer", "two words: and a colon"
SIZE = (320, 240)
ENCODERS = {
    "h264": "x264enc tune=zerolatency speed-preset=ultrafast key-int-max=15 ! rtph264pay",
    "h265": "x265enc tune=zerolatency speed-preset=ultrafast key-int-max=15 ! rtph265pay",
    "jpeg": "jpegenc ! rtpjpegpay",
    "vp8": "vp8enc deadline=1 keyframe-max-dist=15 ! rtpvp8pay",
    "anamorphic": "capssetter caps=video/x-raw,pixel-aspect-ratio=16/11 ! x264enc tune=zerolatency "
                  "speed-preset=ultrafast key-int-max=15 ! rtph264pay",
}


class Camera:
    """The server in a process of its own."""

    def __init__(self, port=0):
        self.process = subprocess.Popen(
            [sys.executable, __file__, str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True,
        )
        self.port = int(self.process.stdout.readline().split()[1])

    def url(self, name):
        return f"rtsp://127.0.0.1:{self.port}/{name}"

    def stop(self):
        self.process.kill()
        self.process.wait()


@contextlib.contextmanager
def starting(kind):
    """Starts cameras of a kind, which are stopped at the end: start(…) takes what the kind takes."""
    started = []

    def start(*words, **settings):
        started.append(kind(*words, **settings))
        return started[-1]

    yield start
    for camera in started:
        camera.stop()


def write_credentials(folder):
    path = folder / "camera.credentials"
    path.write_text(f"{USER}:{PASSWORD}\n")
    path.chmod(0o640)
    return path


def watching(url, **settings):
    return daemon.camera(source="rtsp", url=url, views=["camera"], **settings)


def is_live(camera):
    return camera["state"] == "live"


def main():
    import gi

    gi.require_version("Gst", "1.0")
    gi.require_version("GstRtspServer", "1.0")
    from gi.repository import GLib, Gst, GstRtsp, GstRtspServer

    Gst.init(None)
    server = GstRtspServer.RTSPServer.new()
    server.set_address("127.0.0.1")
    server.set_service(sys.argv[1])
    token = GstRtspServer.RTSPToken.new()
    token.set_string("media.factory.role", "viewer")
    auth = GstRtspServer.RTSPAuth.new()
    auth.set_supported_methods(GstRtsp.RTSPAuthMethod.DIGEST)
    auth.add_digest(USER, PASSWORD, token)
    server.set_auth(auth)
    role = "viewer,media.factory.access=true,media.factory.construct=true"
    for name, encoder in ENCODERS.items():
        factory = GstRtspServer.RTSPMediaFactory.new()
        factory.set_launch(
            "( videotestsrc is-live=true pattern=smpte100 ! video/x-raw,format=I420,framerate=15/1"
            f",width={SIZE[0]},height={SIZE[1]} ! {encoder} name=pay0"
            " audiotestsrc is-live=true ! alawenc ! rtppcmapay name=pay1 )"
        )
        factory.set_shared(True)
        if name == "jpeg":  # as one behind a firewall
            factory.set_protocols(GstRtsp.RTSPLowerTrans.TCP)
        factory.add_role_from_structure(Gst.Structure.from_string(role)[0])
        server.get_mount_points().add_factory(f"/{name}", factory)
    server.attach(None)
    print("ready", server.get_bound_port(), flush=True)
    loop = GLib.MainLoop()
    end = GLib.IOCondition.IN | GLib.IOCondition.HUP
    GLib.io_add_watch(0, GLib.PRIORITY_DEFAULT, end, lambda *_: loop.quit())
    loop.run()


if __name__ == "__main__":
    main()
