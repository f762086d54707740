"""What recording costs: the real edged-recorder keeps all of eight views of 4 Mbit/s, each beside an ffmpeg that
is given the same access units and copies them to segments; processor time, memory and the size of the files.
Then how long a start takes in a folder of many clips of a hundred days, and the list of one of them.

usage: bench_recorder.py [--seconds 30] [--clips 100000]
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "e2e"), str(pathlib.Path(__file__).resolve().parents[1])]

from recorder_front import ALWAYS, FPS, FRAME_NS, Front, Video, write_clips  # noqa: E402

VIEWS = 8
DAYS = 100


class Cost:
    """What a process has used so far."""

    def __init__(self, pid):
        self.cpu_s = sum(map(int, pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13])) \
            / os.sysconf("SC_CLK_TCK")
        status = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines())
        self.mib = int(status["VmHWM"].split()[0]) / 1024


def segmenter(folder, number):
    return subprocess.Popen(
        ["ffmpeg", "-nostdin", "-v", "error", "-f", "h264", "-framerate", str(FPS), "-i", "pipe:0", "-c", "copy",
         "-f", "segment", "-segment_time", "300", folder / f"{number}-%d.mp4"], stdin=subprocess.PIPE)


def feed(front, peers, video, seconds):
    """Both get each unit when its time has come."""
    base = time.monotonic_ns()
    for i in range(seconds * FPS):
        time.sleep(max(0, base + i * FRAME_NS - time.monotonic_ns()) / 1e9)
        for number, peer in enumerate(peers, 1):
            front.play(number, video, i, i + 1, base)
            peer.stdin.write(video.units[i % len(video.units)])
            peer.stdin.flush()


def find(folder, count):
    """Prints how long a start takes with clips that have a picture each, and the list of a day (1,024 at most)."""
    write_clips(folder, count, days=DAYS, picture=b"a picture")
    begin = time.monotonic()
    with Front(folder) as front:
        front.wait_ready()
        ready = time.monotonic()
        day = 1_790_000_000 + (DAYS // 2) * 86400
        found = front.list(from_ns=day * 10**9, to_ns=(day + 86400) * 10**9)
        listed = time.monotonic()
        assert front.state["clips"] == count and found
        print(f"{count} clips: a start takes {ready - begin:.2f} s, the list of a day with {len(found)} clips "
              f"{1000 * (listed - ready):.1f} ms, {Cost(front.process.pid).mib:.1f} MiB")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--clips", type=int, default=100_000)
    arguments = parser.parse_args()
    seconds = arguments.seconds
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        video = Video(folder, 250, size="1280x720", bitrate="4000k")
        streamed = VIEWS * sum(len(video.units[i % 250]) for i in range(seconds * FPS))
        front = Front(folder / "clips")
        front.wait_ready()
        for number in range(1, VIEWS + 1):
            front.track(number, f"camera{number}", mode=ALWAYS)
        peers = [segmenter(folder, number) for number in range(VIEWS)]
        feed(front, peers, video, seconds)
        ours, theirs = Cost(front.process.pid), [Cost(peer.pid) for peer in peers]
        for peer in peers:
            peer.stdin.close()
            peer.wait()
        lost = front.state["lost_units"]
        front.end()
        bytes_of_clips = sum(path.stat().st_size for path in front.files())
        print(f"{VIEWS} views, {streamed * 8 / seconds / VIEWS / 1e6:.1f} Mbit/s each, {seconds} s; {lost} units lost")
        print(f"edged-recorder             {100 * ours.cpu_s / seconds:5.1f} % of a core, {ours.mib:6.1f} MiB, "
              f"{bytes_of_clips / streamed:.4f} of the stream's bytes in files")
        print(f"ffmpeg -c copy -f segment  {100 * sum(cost.cpu_s for cost in theirs) / seconds:5.1f} % of a core, "
              f"{sum(cost.mib for cost in theirs):6.1f} MiB, "
              f"{sum(path.stat().st_size for path in folder.glob('*.mp4')) / streamed:.4f}")
        find(folder / "many", arguments.clips)


main()
