"""POST /v1/tune on the GPU that tests/fakes/cuda plays: the camera process tunes while it streams."""

import json

import pytest

import daemon
from test_gpu_boards import on_cpu, wait_on_gpu

SIZE = (160, 120)
CAMERA = daemon.camera(width=SIZE[0], height=SIZE[1], views=("edges",))
# The slowest that there is with the driver that the tests play.
SLOW = {"kernels": {"gradient": {"rows": 1}}}


class Tune:
    """A request that goes on."""

    def __init__(self, server, **asked):
        self.connection = daemon.UnixConnection(server.socket)
        self.connection.request("POST", "/v1/tune", json.dumps(asked) if asked else None)
        self.response = self.connection.getresponse()
        self.status = self.response.status

    def line(self):
        return json.loads(self.response.readline())

    def lines(self):
        return [json.loads(line) for line in self.response]

    def problem(self):
        assert self.response.getheader("Content-Type") == "application/problem+json"
        return json.loads(self.response.read())

    def hang_up(self):
        self.response.close()
        self.connection.close()


def blocks(camera):
    return {name: (b["x"], b["y"], b["rows"]) for name, b in camera["kernels"].items()}


def on_board(board, *faults, **settings):
    server = board("orin-nano", [CAMERA], *faults, settings=settings)
    wait_on_gpu(server)
    return server


def tune_until_faster(server, **asked):
    """On a busy machine times may spread by more than a block gains."""

    def tune():
        lines = Tune(server, **asked).lines()
        return lines if lines[-2]["changed"] else None

    return daemon.wait_for(tune)


def test_a_tune_puts_what_is_faster_in_force_and_viewers_lose_no_frame(board, watch):
    server = on_board(board, **SLOW)
    viewer = watch(server.url("/front/edges"), size=SIZE)
    viewer.wait_frames(10)
    assert blocks(server.camera())["gradient"][2] == 1
    pid = server.camera()["process"]["pid"]
    *progress, kernel, end = tune_until_faster(server, camera="front", view="edges", apply=True)
    assert end == {"type": "end", "error": "", "applied": True}
    assert len(progress) > 3
    for line in progress:
        assert (line["type"], line["view"], line["kernel"]) == ("progress", "edges", "gradient")
        assert 0 < line["us"] and 0 < line["best"]["us"] and 0 < line["turn"] <= line["turns"]
    shares = [line["share"] for line in progress]
    assert shares == sorted(shares) and 0 <= shares[0] and shares[-1] <= 1
    assert len({(*line["block"], line["rows"]) for line in progress}) > 2
    assert (kernel["type"], kernel["kernel"], kernel["changed"]) == ("kernel", "gradient", True)
    before, after = kernel["before"], kernel["after"]
    assert before["rows"] == 1 < after["rows"]
    assert kernel["gain"] == pytest.approx(1 - after["us"] / before["us"], abs=1e-4)
    assert kernel["gain"] > 0
    server.wait_camera("front", lambda c: blocks(c)["gradient"][2] == after["rows"])
    viewer.wait_frames(len(viewer.frames) + 10)
    server.assert_accounted(viewer)
    assert server.camera()["process"]["pid"] == pid
    # What is not kept lasts until a reload.
    server.reload()
    server.wait_camera("front", lambda c: blocks(c)["gradient"] == (0, 0, 1))


def test_what_a_tune_keeps_outlasts_a_reload(board, tmp_path):
    server = board("orin-nano", [CAMERA], settings=SLOW, STATE_DIRECTORY=tmp_path)
    wait_on_gpu(server)
    *_, kernel, end = tune_until_faster(server, keep=True)
    assert end["applied"]
    server.reload()
    server.wait_camera("front", lambda c: blocks(c)["gradient"][2] == kernel["after"]["rows"])


def test_without_apply_a_tune_only_tells(board):
    server = on_board(board, **SLOW)
    *_, kernel, end = tune_until_faster(server, kernels=["gradient"])
    assert not end["applied"]
    assert blocks(server.camera()) == {"gradient": (0, 0, 1)}


def test_a_caller_who_hangs_up_ends_the_tune_and_nobody_else_can_begin_one_before(board):
    server = on_board(board, **SLOW)
    first = Tune(server, apply=True)
    assert first.line()["type"] == "progress"
    second = Tune(server)
    assert second.status == 409
    assert second.problem()["detail"] == "camera front is being tuned; one tune at a time"
    first.hang_up()
    third = daemon.wait_for(lambda: (tune := Tune(server)).status == 200 and tune)
    assert third.line()["turn"] < 50  # it begins anew
    third.hang_up()
    assert blocks(server.camera()) == {"gradient": (0, 0, 1)}


def test_a_reload_ends_a_tune_with_the_reason(board):
    server = on_board(board)
    tune = Tune(server, apply=True)
    tune.line()
    server.reload(**SLOW)
    end = tune.lines()[-1]
    assert end == {"type": "end", "error": "other settings have come", "applied": False}


def test_a_kernel_that_hangs_ends_the_tune_and_the_cpu_goes_on(board):
    """Nobody watches, so that all launches after the self-tests are the tune's."""
    server = on_board(board, "hang=gradient:40")
    end = Tune(server).lines()[-1]
    assert end["type"] == "end" and end["error"].startswith("while tuning: ")
    camera = server.wait_camera("front", lambda c: c["gpu_faults"] == 1 and c["state"] == "live")
    assert camera["process"]["restarts"] == 0
    assert "the GPU failed: while tuning: " in server.stderr()


def test_a_camera_that_the_cpu_computes_has_nothing_to_tune(edged):
    server = edged([CAMERA], settings={"backend": "cpu"})
    server.wait_camera("front", on_cpu)
    tune = Tune(server)
    assert tune.status == 409
    assert tune.problem()["detail"] == (
        'camera front does not compute on a GPU: backend = "cpu": there is nothing to tune')


@pytest.mark.parametrize("body, status, detail", [
    ("{", 400, "the body is no JSON ("),
    ("[]", 400, "the body is no JSON object, allowed: an object"),
    ("[" * 60000, 400, "the body is nested too deep, allowed: "),
    ('{"write": true}', 400, 'got the key "write", allowed: camera, view, kernels, apply, keep'),
    ('{"keep": "yes"}', 400, "keep: got something else, allowed: true, false"),
    ('{"apply": 1}', 400, "apply: got something else, allowed: true, false"),
    ('{"view": 1}', 400, "view: got something else, allowed: a name"),
    ('{"kernels": []}', 400, "kernels: got something else, allowed: a list of gradient, "),
    ('{"kernels": ["sobel"]}', 400, "kernels: got something else, allowed: a list of gradient, "),
    ('{"camera": "\\u001f\\n"}', 404, 'camera: there is no "?\n"'),
    ('{"camera": "rear"}', 404, 'camera: there is no "rear"'),
    ('{"view": "canny"}', 404, 'view: camera front has no "canny"'),
])
def test_what_is_wrong_with_a_request_is_named(edged, body, status, detail):
    server = edged([CAMERA], settings={"backend": "cpu"})
    connection = daemon.UnixConnection(server.socket)
    connection.request("POST", "/v1/tune", body)
    response = connection.getresponse()
    assert response.status == status
    problem = json.loads(response.read())
    assert problem["detail"].startswith(detail)
    assert problem["status"] == status
