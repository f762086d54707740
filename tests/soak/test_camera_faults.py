"""A camera process that floods, lies, hangs and crashes costs another camera's viewer nothing."""

import os
import signal
import time

import daemon
from streams import GAP_MAX_MS, longest_gap_ms

# What tests/fakes/camera does as process number n of the camera "bad".
MOODS = "flood", "bad-times", "hang", "crash", "garbage", "encoder-hung", "two-hellos", "bad-video"
MOOD_S = 8  # then it is killed, unless the front has done so before
PROGRAM = f"""#!/bin/bash
[[ $2 == bad ]] || exec {daemon.BUILD}/edged-camera "$@"
moods=({" ".join(MOODS)})
number=$(cat $0.count 2>/dev/null || echo 0)
echo $((number + 1)) > $0.count
FAKE_CAMERA=${{moods[number % {len(MOODS)}]}} exec {daemon.BUILD}/tests/fakes/camera/fake_camera "$@"
"""


def test_a_camera_process_with_every_fault_leaves_the_other_camera_alone(
    edged, watch, turns, tmp_path
):
    program = tmp_path / "camera"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    size = (640, 360)
    cameras = [daemon.camera(name, width=size[0], height=size[1]) for name in ("good", "bad")]
    server = edged(cameras, EDGED_CAMERA_PROGRAM=program)
    viewer = watch(server.url("/good/edges"), size=size)
    watch(server.url("/bad/edges"), size=(320, 240))
    viewer.skip_unreadable(most=30)
    for _ in turns():
        time.sleep(MOOD_S)
        if pid := server.camera("bad")["process"]["pid"]:
            os.kill(pid, signal.SIGKILL)
    frames = viewer.new_frames()
    bad = server.camera("bad")
    seen = (f"{len(frames)} frames, longest gap {longest_gap_ms(frames):.0f} ms beside"
            f" {bad['process']['restarts']} restarts, {bad['encoder_hangs']} hung encoders,"
            f" {server.mount('/bad/edges')['bad_timestamps']} bad times")
    print(seen)
    assert server.camera("good")["process"]["restarts"] == 0
    assert viewer.watching and longest_gap_ms(frames) <= GAP_MAX_MS, seen
