"""From a network camera's packets to a decoded picture: what edged adds, of one build beside others.

A camera of tests/e2e/fake_camera.py sends numbered pictures evenly. Latency is the time from when a
picture's first packet is sent to when a viewer of edged, over TCP, has decoded it. The builds are
measured in turns, each in a process of its own.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))


def measure(transport, seconds):
    """Prints the latencies in milliseconds, one a line."""
    import clients
    import daemon
    from fake_camera import FPS, FakeCamera
    from rtsp_camera import is_live, watching

    camera = FakeCamera("even")
    with tempfile.TemporaryDirectory(prefix="edged-bench-") as folder:
        server = daemon.Daemon(folder, [watching(camera.url, transport=transport)])
        server.start()
        try:
            server.wait_camera("front", is_live)
            with clients.Viewer(server.url("/front/camera"), transport="tcp", view="camera") as viewer:
                viewer.wait_numbers(FPS)
                begin = len(viewer.numbers())
                viewer.wait_frames(begin + int(seconds * FPS))
                frames = viewer.frames[begin:]
        finally:
            server.stop()
    for number, arrival_ns in frames:
        if number is not None:
            print((arrival_ns - camera.sent_ns[number]) / 1e6)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("builds", nargs="*", default=[os.environ.get("EDGED_BUILD", "build")],
                        help="folders of builds (default: that of EDGED_BUILD)")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each build (default 3)")
    parser.add_argument("--seconds", type=float, default=10, help="of each turn, at most 50 (default 10)")
    parser.add_argument("--transport", default="tcp", choices=("tcp", "udp"), help="from the camera (default tcp)")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        measure(arguments.transport, arguments.seconds)
        return
    for number in range(1, arguments.rounds + 1):
        for build in arguments.builds:
            command = [sys.executable, "-B", __file__, "--measure", "--transport", arguments.transport]
            told = subprocess.run([*command, "--seconds", str(arguments.seconds)], check=True, text=True,
                                  stdout=subprocess.PIPE,
                                  env={**os.environ, "EDGED_BUILD": str(pathlib.Path(build).resolve())})
            latencies = sorted(map(float, told.stdout.split()))
            print(f"round {number} {build}: p50 {statistics.median(latencies):.2f} ms, "
                  f"p95 {latencies[int(0.95 * len(latencies))]:.2f} ms, {len(latencies)} pictures", flush=True)


if __name__ == "__main__":
    main()
