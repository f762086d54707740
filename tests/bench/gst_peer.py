"""gst-rtsp-server as a peer: one H.264 stream of noise at rtsp://127.0.0.1:PORT/edges, all of it in
the library. Prints `ready PORT` and ends when its stdin closes. With --login USER PASSWORD nobody
else may watch."""

import argparse

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstRtspServer", "1.0")
from gi.repository import GLib, Gst, GstRtspServer  # noqa: E402

ROLE = "viewer"
LAUNCH = (
    "( videotestsrc is-live=true pattern=snow"
    " ! video/x-raw,format=I420,width=320,height=240,framerate=30/1"
    " ! x264enc tune=zerolatency speed-preset=ultrafast key-int-max=30 bitrate={bitrate}"
    " ! rtph264pay config-interval=-1 name=pay0 pt=96 )"
)


def allow_only(server, factory, user, password):
    token = GstRtspServer.RTSPToken()
    token.set_string("media.factory.role", ROLE)
    auth = GstRtspServer.RTSPAuth()
    auth.add_basic(GstRtspServer.RTSPAuth.make_basic(user, password), token)
    server.set_auth(auth)
    permissions = GstRtspServer.RTSPPermissions()
    for permission in ("media.factory.access", "media.factory.construct"):
        permissions.add_permission_for_role(ROLE, permission, True)
    factory.set_permissions(permissions)


def serve(server, factory):
    """Serves /edges on a free port, which is printed, until stdin closes."""
    server.set_address("127.0.0.1")
    server.set_service("0")
    server.get_mount_points().add_factory("/edges", factory)
    server.attach(None)
    loop = GLib.MainLoop()

    def on_stdin(_fd, _condition):
        loop.quit()
        return False

    GLib.io_add_watch(0, GLib.PRIORITY_DEFAULT, GLib.IOCondition.IN | GLib.IOCondition.HUP, on_stdin)
    print("ready", server.get_bound_port(), flush=True)
    loop.run()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bitrate", type=int, default=2000, help="kbit/s (default 2000)")
    parser.add_argument("--login", nargs=2, metavar=("USER", "PASSWORD"))
    arguments = parser.parse_args()
    Gst.init(None)
    server = GstRtspServer.RTSPServer()
    factory = GstRtspServer.RTSPMediaFactory()
    factory.set_launch(LAUNCH.format(bitrate=arguments.bitrate))
    factory.set_shared(True)
    if arguments.login:
        allow_only(server, factory, *arguments.login)
    serve(server, factory)


if __name__ == "__main__":
    main()
