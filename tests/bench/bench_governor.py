"""Capture-to-RTP latency behind an encoder that is too slow, with and without the governor.

The encoder is x264enc behind a sleep of 50 ms a frame of 640x360 (tests/fakes/encoder), where 30
frames a second leave 33. Beside edged with and without the governor stands the pipeline that a
tutorial would have: a live source, a queue without bounds, the same encoder. There the latency is
the time from a frame's own to when it is encoded. Then the sleep ends, and the governor's way back
is timed.
"""

import argparse
import os
import pathlib
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))
import clients  # noqa: E402
import daemon  # noqa: E402

WIDTH, HEIGHT, NS_PER_PIXEL = 640, 360, 217
PLUGINS = daemon.BUILD / "tests/fakes/encoder"


def measure_edged(directory, governor, seconds):
    """The percentiles of all that were sent meanwhile, and the seconds until nothing is given up."""
    slowness = directory / "slowness"
    slowness.write_text(str(NS_PER_PIXEL))
    view = {"name": "edges", "view": "edges", "encoder": "v4l2h264enc", "governor": governor}
    server = daemon.Daemon(
        directory, [daemon.camera(views=[view], width=WIDTH, height=HEIGHT)],
        FAKE_ENCODER=f"slow:{slowness}", GST_PLUGIN_PATH=PLUGINS,
        GST_REGISTRY=directory / "registry",
    )
    try:
        server.start()
        server.wait_camera("front", lambda c: c["state"] == "live")
        with clients.Viewer(server.url("/front/edges")) as viewer:
            viewer.wait_numbers(1)
            time.sleep(seconds)
            mount = server.mount()
            latency = mount["latency_ms"]["capture_to_rtp"]
            given_up = mount["governor"]
            slowness.unlink()
            begin = time.monotonic()
            server.wait_mount("/front/edges", lambda m: m["governor"] == "")
            back_s = time.monotonic() - begin
        server.stop()
    finally:
        server.kill()
    return latency, given_up, back_s


def measure_stock(directory, seconds):
    """Latencies in milliseconds, in order."""
    slowness = directory / "slowness"
    slowness.write_text(str(NS_PER_PIXEL))
    os.environ.update(FAKE_ENCODER=f"slow:{slowness}", GST_PLUGIN_PATH=str(PLUGINS),
                      GST_REGISTRY=str(directory / "registry"))
    import gi

    gi.require_version("Gst", "1.0")
    from gi.repository import Gst

    Gst.init(None)
    pipeline = Gst.parse_launch(
        "videotestsrc is-live=true pattern=ball"
        f" ! video/x-raw,format=NV12,width={WIDTH},height={HEIGHT},framerate=30/1"
        " ! queue max-size-buffers=0 max-size-bytes=0 max-size-time=0"
        " ! v4l2h264enc ! appsink name=sink sync=false"
    )
    sink = pipeline.get_by_name("sink")
    latencies = []
    pipeline.set_state(Gst.State.PLAYING)
    end = time.monotonic() + seconds
    while time.monotonic() < end and (sample := sink.emit("try-pull-sample", Gst.SECOND)):
        now_ns = pipeline.get_clock().get_time() - pipeline.get_base_time()
        running_ns = sample.get_segment().to_running_time(
            Gst.Format.TIME, sample.get_buffer().pts)
        latencies.append((now_ns - running_ns) / 1e6)
    pipeline.set_state(Gst.State.NULL)
    return latencies


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30)
    seconds = parser.parse_args().seconds
    for governor in "rate-size", "size-rate", "off":
        with tempfile.TemporaryDirectory(prefix="edged-bench-") as directory:
            latency, given_up, back_s = measure_edged(pathlib.Path(directory), governor, seconds)
        print(f"governor {governor:9}  p50 {latency['p50']:6.1f} ms  p95 {latency['p95']:6.1f} ms"
              f"  of {latency['count']} frames, gave up {given_up or 'nothing'}"
              f", back after {back_s:.1f} s", flush=True)
    with tempfile.TemporaryDirectory(prefix="edged-bench-") as directory:
        stock = measure_stock(pathlib.Path(directory), seconds)
    print(f"stock pipeline      {stock[len(stock) // 2]:.0f} ms after half of the time,"
          f" {stock[-1]:.0f} ms at the end")


if __name__ == "__main__":
    main()
