"""What is private is black for every viewer, moves nothing, and changes between two frames."""

import json
import subprocess

import numpy as np
import pytest

import daemon
import pattern
from ports import free_port
from test_frames import PSNR_MIN_DB
from test_label import box_size, dots, DRAWN, read, TEXT
from test_live_config import get, patch
from test_nvmm import jetson, wait_live, wait_path  # noqa: F401
from test_snapshot import snapshot
from test_users import make_file, PASSWORDS

SIZE = (640, 360)
SMALL = {"width": SIZE[0], "height": SIZE[1]}
CODED = 28  # what black may become on its way
# Below the row that holds the frame's number; whole squares of 2x2 pixels.
LEFT = {"x": (64, 256), "y": (108, 288)}
RIGHT = {"x": (384, 576), "y": (72, 324)}


def polygon(part):
    """The corners of a part of the picture, in shares."""
    (left, right), (top, bottom) = part["x"], part["y"]
    shares = [(left, top), (right, top), (right, bottom), (left, bottom)]
    return {"polygon": [[float(x / SIZE[0]), float(y / SIZE[1])] for x, y in shares]}


def pixels(part, inset=0):
    return (slice(part["y"][0] + inset, part["y"][1] - inset),
            slice(part["x"][0] + inset, part["x"][1] - inset))


def hidden(luma, *parts):
    luma = luma.copy()
    for part in parts:
        luma[pixels(part)] = 16
    return luma


def camera(*parts, **settings):
    privacy = {"privacy": [polygon(part) for part in parts]} if parts else {}
    return daemon.camera(**{**SMALL, **privacy, **settings})


def expected(view, number, *parts):
    luma = hidden(pattern.frame(number, *SIZE)[0], *parts)
    return luma if view == "camera" else pattern.limited_range(pattern.sobel_magnitude(luma))


@pytest.mark.parametrize("settings", [
    {}, {"format": "YUYV"}, {"flip": "rotate-180", "format": "YU12"},
], ids=["as it is", "YUYV", "flipped"])
def test_viewers_see_black_there_and_the_picture_around_it(edged, watch, settings):
    server = edged([camera(LEFT, RIGHT, views=("camera", "edges"), **settings)])
    if "flip" in settings:  # the number stands on its head: only the black is looked at
        viewers = [watch(server.url(f"/front/{view}"), view=view, size=SIZE, keep_every=1)
                   for view in ("camera", "edges")]
        for viewer in viewers:
            for picture in viewer.camera_pictures(5):
                assert picture[pixels(LEFT, 2)].max() <= CODED
                assert picture[pixels(RIGHT, 2)].max() <= CODED
                assert picture[310:350, 300:340].max() > 40
        return
    for view in ("camera", "edges"):
        viewer = watch(server.url(f"/front/{view}"), view=view, size=SIZE, keep_every=5)
        viewer.wait_kept(3)
        viewer.stop()
        for number, picture in viewer.pictures().items():
            assert pattern.psnr_db(picture, expected(view, number, LEFT, RIGHT)) >= PSNR_MIN_DB
            assert picture[pixels(LEFT, 2)].max() <= CODED
            assert picture[pixels(RIGHT, 2)].max() <= CODED


@pytest.mark.parametrize("memory", ["registered", "managed"])
def test_the_gpu_sees_black_as_well(board, watch, memory):
    server = board("orin-nano", [camera(LEFT, RIGHT, views=("camera", "edges"))],
                   settings={"memory": memory})
    server.wait_camera("front", lambda c: f"{memory} -> CUDA" in c["path"])
    for view in ("camera", "edges"):
        viewer = watch(server.url(f"/front/{view}"), view=view, size=SIZE, keep_every=5)
        viewer.wait_kept(2)
        viewer.stop()
        for number, picture in viewer.pictures().items():
            assert pattern.psnr_db(picture, expected(view, number, LEFT, RIGHT)) >= PSNR_MIN_DB


def test_a_reload_hides_and_shows_between_two_frames(edged, watch):
    def dark(picture):
        """Whether left and right are hidden."""
        return tuple(bool(picture[pixels(part, 2)].max() <= CODED) for part in (LEFT, RIGHT))

    front = camera(views=("camera", "motion"))
    server = edged([front])
    viewer = watch(server.url("/front/camera"), view="camera", size=SIZE, keep_every=1)
    viewer.wait_numbers(1)
    pid = server.camera()["process"]["pid"]
    for parts in ((LEFT,), (RIGHT,), (LEFT, RIGHT), ()):
        server.reload([camera(*parts, views=("camera", "motion"))])
        daemon.wait_for(lambda: dark(viewer.newest()[1]) == (LEFT in parts, RIGHT in parts))
    server.assert_accounted(viewer)
    viewer.stop()
    assert server.camera()["process"]["pid"] == pid
    seen = []  # each state once
    for number, picture in viewer.pictures().items():
        hides = dark(picture)
        whole = tuple(part for part, is_dark in zip((LEFT, RIGHT), hides) if is_dark)
        assert pattern.psnr_db(picture, expected("camera", number, *whole)) >= PSNR_MIN_DB
        if not seen or seen[-1] != hides:
            seen.append(hides)
    assert seen == [(False, False), (True, False), (False, True), (True, True), (False, False)]


def test_nothing_moves_where_nobody_sees(edged):
    """Nor when a part is hidden or shown."""
    def cameras(*parts):
        regions = [{"name": name, "start": 0.01, "duration_s": 0.0, "erode": 0, **polygon(part)}
                   for name, part in (("left", LEFT), ("right", RIGHT))]
        return [camera(*parts, regions=regions)]

    def moving(found):
        return [region["moving"] for region in found["regions"]]

    server = edged(cameras(LEFT))
    found = server.wait_camera("front", lambda c: len(c["regions"]) == 2 and moving(c)[1])
    assert [region["events"] for region in found["regions"]] == [0, 1]
    assert found["regions"][0]["share"] == 0
    server.reload(cameras(LEFT, RIGHT))
    found = server.wait_camera("front", lambda c: not any(moving(c)))
    server.reload(cameras(LEFT))
    found = server.wait_camera("front", lambda c: moving(c)[1])
    assert [region["events"] for region in found["regions"]] == [0, 2]
    server.reload(cameras())
    server.wait_camera("front", lambda c: all(moving(c)))


def test_over_http_parts_come_and_go_and_snapshots_show_it(edged, watch):
    """With a label, which snapshots show as well."""
    port = free_port()
    server = edged([camera(views=("camera",))], settings={"http": {"port": port}})
    server.api = f"http://127.0.0.1:{port}"
    viewer = watch(server.url("/front/camera"), view="camera", size=SIZE)
    viewer.wait_numbers(1)

    def change(privacy, label):
        status, answer = patch(server, {"cameras": {"front": {
            "privacy": privacy, "views": {"camera": {"label": label}}}}})
        assert (status, answer["cost"]) == (200, "frame")

    def is_dark():
        return snapshot(server, "?view=camera")[0][pixels(LEFT, 8)].max() <= CODED

    change({"window": polygon(LEFT)}, {"text": TEXT, "size": 3, "corner": "bottom-right"})
    daemon.wait_for(is_dark)
    picture = snapshot(server, "?view=camera")[0].mean(axis=2)
    width, height = box_size(len(TEXT))
    assert np.array_equal(read(picture, SIZE[0] - width, SIZE[1] - height, len(TEXT)), dots(DRAWN))
    change({"window": None}, {"text": ""})
    daemon.wait_for(lambda: not is_dark())
    server.assert_accounted(viewer)


def test_a_picture_that_its_pipeline_keeps_is_hidden_in_a_copy(edged, watch):
    """videorate shows one picture for ten minutes, and has to find it as it was."""
    def cameras(*parts):
        pipeline = (f"videotestsrc pattern=white ! video/x-raw,width={SIZE[0]},height={SIZE[1]},framerate=1/600 "
                    "! videorate ! video/x-raw,framerate=30/1")
        return [camera(*parts, source="gstreamer", pipeline=pipeline, views=("camera",),
                       regions=[{"name": "all"}])]

    def is_dark(picture):
        assert picture[: LEFT["y"][0] - 4].min() > 200
        return picture[pixels(LEFT, 2)].max() <= CODED

    server = edged(cameras(LEFT))
    server.wait_camera("front", lambda c: c["copies"]["privacy"]["total"] > 0)
    viewer = watch(server.url("/front/camera"), view="camera", keep_every=1)
    assert all(is_dark(picture) for picture in viewer.camera_pictures(5))
    server.reload(cameras())
    viewer = watch(server.url("/front/camera"), view="camera", keep_every=1)
    assert not any(is_dark(picture) for picture in viewer.camera_pictures(5))


@pytest.mark.parametrize("release", ["jetpack=5", "jetpack=6"])
def test_a_jetsons_surfaces_are_hidden_where_they_lie(jetson, watch, release):  # noqa: F811
    part = {"x": (64, 256), "y": (36, 180)}
    shares = [[0.2, 0.15], [0.8, 0.15], [0.8, 0.75], [0.2, 0.75]]  # of 320x240
    server = jetson(views=({"name": "plain", "view": "camera"}, {"name": "edges"}), source="argus",
                    library=release, keys={"privacy": [{"polygon": shares}]})
    assert "Argus NV12 320x240@30 -> nvmm -> " in wait_live(server)["path"]
    for view in ("plain", "edges"):
        viewer = watch(server.url(f"/front/{view}"), keep_every=1)
        for picture in viewer.camera_pictures(20)[-3:]:
            assert picture[pixels(part, 4)].max() <= CODED and picture.max() > 100
    assert server.camera()["copies_per_frame"] == 0


def test_surfaces_that_cannot_be_hidden_stop_the_pictures_and_are_done_without(jetson, watch):  # noqa: F811
    shares = [[0.2, 0.15], [0.8, 0.15], [0.8, 0.75], [0.2, 0.75]]
    server = jetson(views=({"name": "plain", "view": "camera"},), source="argus",
                    library="fail=NvBufSurfaceSyncForCpu:30+",
                    keys={"privacy": [{"polygon": shares}]})
    viewer = watch(server.url("/front/plain"), keep_every=1)
    server.wait_stderr("no signal: blackening what is private: NvBufSurfaceSyncForCpu failed, "
                       "retrying in ")
    wait_path(server, "Argus NV12 320x240@30 -> registered -> ")
    for picture in viewer.camera_pictures(60):
        assert picture[40:176, 68:252].max() <= CODED


# Who may show what the file hides
# ---------------------------------------------------------------------

WINDOW = polygon(LEFT)["polygon"]
TINY = [[0.0, 0.0], [0.01, 0.0], [0.01, 0.01]]
HIDDEN = {"name": "window", "polygon": WINDOW}


def front(**keys):
    return {"cameras": {"front": keys}}


def part(name, value):
    return front(privacy={name: value})


def shown_as(name, **keys):
    return front(views={name: keys})


@pytest.fixture
def guarded(edged, tmp_path):
    """guarded(views, **camera): an edged whose users anna (admin) and otto (operator) send patches by
    TCP: server.change("otto", {…}) is the status of HTTP and the answer."""

    def start(views=("edges",), **keys):
        users, port = make_file(tmp_path), free_port()
        settings = {"rtsp": {"users": str(users)}, "http": {"port": port}}
        server = edged([daemon.camera(**{**SMALL, "views": views, **keys})], settings=settings,
                       STATE_DIRECTORY=tmp_path)

        def change(user, body, query=""):
            result = subprocess.run(
                ["curl", "-q", "-sS", "--noproxy", "*", "--digest", "-u", f"{user}:{PASSWORDS[user]}",
                 "-w", "\n%{http_code}", f"http://127.0.0.1:{port}/v1/config{query}", "-X", "PATCH",
                 "-H", "Content-Type: application/json", "-d", json.dumps(body)],
                capture_output=True, text=True, check=True, timeout=daemon.PATIENCE_S)
            text, status = result.stdout.rsplit("\n", 1)
            return int(status), json.loads(text)

        server.change = change
        return server

    return start


@pytest.mark.parametrize("change", [
    part("window", None), part("window", {"polygon": TINY}),
    front(flip="rotate-180"), front(flip="horizontal"), front(width=320), front(height=240), front(fps=15),
    {"cameras": {"front": {"privacy": {"more": {"polygon": TINY}, "window": None}}}},
], ids=json.dumps)
def test_an_operator_uncovers_nothing_that_the_file_hides(guarded, change):
    server = guarded(privacy=[HIDDEN])
    before = get(server)
    for query in ("", "?keep=1", "?dry_run=1"):
        status, answer = server.change("otto", change, query)
        assert status == 403 and "only an administrator" in answer["error"], answer
        assert "cameras.front.privacy" in answer["error"]  # where parts may be added
    assert get(server) == before
    assert server.change("anna", change)[0] == 200


def test_an_operator_adds_private_parts_and_removes_those_again(guarded):
    server = guarded(privacy=[HIDDEN])
    names = lambda: set(get(server)["cameras"]["front"]["privacy"])
    assert server.change("otto", part("more", {"polygon": TINY}))[0] == 200
    assert server.change("otto", part("more", {"polygon": WINDOW}))[0] == 200
    assert names() == {"window", "more"}
    assert server.change("otto", part("window", {"polygon": WINDOW}))[0] == 200  # as it is
    assert server.change("otto", part("more", None))[0] == 200
    assert names() == {"window"}
    assert server.change("otto", part("more", {"polygon": TINY}))[0] == 200
    assert server.change("otto", front(privacy=None))[0] == 200
    assert names() == {"window"}


def test_without_private_parts_in_the_file_an_operator_turns_the_picture(guarded):
    server = guarded()
    assert server.change("otto", part("more", {"polygon": TINY}))[0] == 200
    assert server.change("otto", front(flip="rotate-180"))[0] == 200


def test_a_kept_setting_that_uncovers_is_put_aside_unless_an_administrator_kept_it(guarded, tmp_path):
    server = guarded(privacy=[HIDDEN])
    # As the version before wrote it, which did not say who kept what.
    (tmp_path / "settings.conf").write_text(f'''config = "{server.config.resolve()}";
settings = (
  {{ key = "cameras.front.privacy.window"; }},
  {{ key = "cameras.front.flip"; value = "\\"rotate-180\\""; file = "\\"none\\""; }},
  {{ key = "cameras.front.views.edges.gain"; value = "2.0"; file = "1.0"; }}
);
''')
    server.reload()
    for key in ("cameras.front.privacy.window", "cameras.front.flip"):
        assert f"{key}: kept as" in server.stderr()
    assert "which may show what the file's privacy hides, going on without" in server.stderr()
    running = get(server)["cameras"]["front"]
    assert set(running["privacy"]) == {"window"} and running["flip"] == "none"
    assert running["views"]["edges"]["gain"] == 2.0

    assert server.change("anna", part("window", None), "?keep=1")[0] == 200
    daemon.wait_for(lambda: "kept by anna" in server.stderr())
    assert server.change("otto", part("window", None), "?keep=1")[0] == 200  # as it is
    daemon.wait_for(lambda: "admin" in (tmp_path / "settings.conf").read_text())
    server.reload()
    assert get(server)["cameras"]["front"]["privacy"] == {}


@pytest.mark.parametrize(("to", "shows"), [
    ({"view": "camera"}, True), ({"view": "gray"}, True), ({"view": "overlay"}, True),
    ({"view": "motion"}, True), ({"view": "split"}, True),
    ({"view": "custom", "stages": ["gray"]}, True), ({"view": "custom", "stages": ["blur3", "open"]}, True),
    ({"view": "custom", "stages": ["gray", "threshold"]}, True),
    ({"view": "custom", "stages": ["canny", "mark"]}, True),
    ({"view": "gray", "polygon": TINY}, True),
    ({"view": "binary"}, False), ({"view": "canny"}, False), ({"view": "direction"}, False),
    ({"view": "custom", "stages": ["blur3", "sobel", "threshold"]}, False),
], ids=json.dumps)
def test_a_view_shows_the_cameras_picture_only_by_a_role_that_may_watch_it(guarded, to, shows):
    server = guarded(views=[{"name": "edges", "view": "edges", "left": "camera", "right": "canny"}])
    assert server.change("otto", shown_as("edges", **to))[0] == (403 if shows else 200)
    assert server.change("anna", shown_as("edges", **to))[0] == 200


def test_who_may_watch_the_cameras_picture_may_have_another_view_show_it(guarded):
    raw = {"name": "raw", "view": "camera", "allow": ["operator"]}
    secret = {"name": "secret", "view": "edges", "allow": ["admin"]}
    both = {"name": "both", "view": "canny", "left": "secret", "right": "edges"}
    server = guarded(views=["edges", raw, secret, both])
    assert server.change("otto", shown_as("edges", view="camera"))[0] == 200
    assert server.change("otto", shown_as("raw", view="edges"))[0] == 200
    assert server.change("otto", shown_as("raw", view="camera"))[0] == 200, "what the file says"
    assert server.change("otto", shown_as("both", view="split"))[0] == 403, "it shows secret"


def test_a_view_that_goes_back_to_the_files_kind_shows_no_other_part_of_the_picture(guarded):
    server = guarded(views=[{"name": "door", "view": "gray", "polygon": WINDOW}])
    assert server.change("otto", shown_as("door", view="edges"))[0] == 200
    assert server.change("otto", shown_as("door", polygon=TINY))[0] == 200
    for view in ("gray", None):
        status, answer = server.change("otto", shown_as("door", view=view))
        assert status == 403 and "the camera's own picture" in answer["error"], answer
    assert server.change("otto", shown_as("door", view=None, polygon=None))[0] == 200, "what the file says"


def test_an_operator_moves_no_picture_back_under_parts_that_an_administrator_moved(guarded):
    server = guarded(privacy=[HIDDEN])
    moved = front(flip="rotate-180", privacy={"window": {"polygon": TINY}})
    assert server.change("anna", moved)[0] == 200
    for change in (front(flip=None), front(flip="none"), part("window", {"polygon": None}), front(privacy=None)):
        status, answer = server.change("otto", change)
        assert status == 403 and "only an administrator" in answer["error"], (change, answer)
    assert server.change("anna", front(flip=None, privacy=None))[0] == 200
