"""A mount answers DESCRIBE, whatever the camera does and whoever else asks. How fast: tests/soak."""

import collections
import contextlib
import os
import signal
import threading

import pytest

import daemon
import rtsp

FAKE_CAMERA = daemon.BUILD / "tests/fakes/camera/fake_camera"
HELD_MIN_S = 0.5
SMALL = {"width": 320, "height": 240}
# What each misbehaviour of tests/fakes/camera leaves to answer with.
MODES = {
    "": 200, "no-video": 200, "hang": 200, "crash": 200, "garbage": 200, "bad-video": 200,
    "no-signal": 200, "no-slates": 503, "fatal": 503,
}


def describe_at_once(url, threads, connections=1):
    """DESCRIBEs, in each thread back to back. Returns the codes and the seconds each answer took."""
    answers = []

    def run():
        for _ in range(connections):
            code, _, took_s = rtsp.describe(url)
            answers.append((code, took_s))

    workers = [threading.Thread(target=run) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return answers


def assert_answers(server, code, path="/front/edges"):
    """Returns the seconds the answer took."""
    answered, sdp, took_s = rtsp.describe(server.url(path))
    assert answered == code, server.stderr()
    assert ("H264" in sdp) == (code == 200)
    return took_s


@pytest.mark.parametrize("threads, connections", [(1, 60), (4, 30), (40, 1)])
def test_no_viewer_is_turned_away_while_the_last_one_leaves(edged, threads, connections):
    server = edged([daemon.camera(**SMALL)])
    rtsp.wait_served(server.url("/front/edges"))
    answers = describe_at_once(server.url("/front/edges"), threads, connections)
    assert collections.Counter(code for code, _ in answers) == {200: threads * connections}
    daemon.wait_for(lambda: server.status()["viewers"] == 0)


@pytest.mark.parametrize("mode, code", MODES.items())
def test_describe_is_answered_in_every_fault(edged, mode, code):
    server = edged([daemon.camera()], EDGED_CAMERA_PROGRAM=FAKE_CAMERA, FAKE_CAMERA=mode)
    if code == 200:
        rtsp.wait_served(server.url("/front/edges"))
    for _ in range(2):
        assert_answers(server, code)


def test_describe_is_answered_while_the_camera_process_stands_still(edged):
    server = edged([daemon.camera(**SMALL)])
    pid = server.wait_camera("front", lambda c: c["state"] == "live")["process"]["pid"]
    os.kill(pid, signal.SIGSTOP)
    try:
        for path in ("/front/edges", "/edges"):
            assert_answers(server, 200, path)
    finally:
        with contextlib.suppress(ProcessLookupError):  # edged may have replaced it
            os.kill(pid, signal.SIGCONT)


def test_describe_is_answered_while_the_camera_process_is_being_replaced(edged):
    server = edged([daemon.camera(**SMALL)])
    for _ in range(2):
        pid = server.wait_camera("front", lambda c: c["state"] == "live")["process"]["pid"]
        os.kill(pid, signal.SIGKILL)
        assert_answers(server, 200)
        server.wait_camera("front", lambda c, old=pid: c["process"]["pid"] not in (0, old))
        assert_answers(server, 200)


def late_camera(directory):
    """A camera program that has nothing to show for cameras called "late"."""
    program = directory / "camera"
    program.write_text(
        "#!/bin/sh\n"
        'case "$*" in *late*) export FAKE_CAMERA=no-slates;; esac\n'
        f'exec "{FAKE_CAMERA}" "$@"\n'
    )
    program.chmod(0o755)
    return program


def test_who_waits_for_a_first_picture_is_held_and_holds_up_nobody_else(edged, tmp_path):
    server = edged([daemon.camera("good"), daemon.camera("late")],
                   EDGED_CAMERA_PROGRAM=late_camera(tmp_path))
    rtsp.wait_served(server.url("/good/edges"))
    late = []
    ask = lambda: late.extend(describe_at_once(server.url("/late/edges"), 8))  # noqa: E731
    waiting = threading.Thread(target=ask)
    waiting.start()
    for _ in range(3):
        assert_answers(server, 200, "/good/edges")
    waiting.join()
    assert [code for code, _ in late] == [503] * 8
    assert min(took_s for _, took_s in late) > HELD_MIN_S


def test_viewer_who_comes_with_a_new_camera_is_held_until_it_has_a_picture(edged):
    server = edged([daemon.camera("old", **SMALL)])
    server.write_config([daemon.camera("old", **SMALL), daemon.camera("new", **SMALL)])
    server.signal(signal.SIGHUP)
    answers = []

    def is_served():
        answers.append(rtsp.describe(server.url("/new/edges")))
        return answers[-1][0] == 200

    daemon.wait_for(is_served)
    # Not one was sent away at once.
    assert all(took_s > HELD_MIN_S for code, _, took_s in answers if code == 503)
