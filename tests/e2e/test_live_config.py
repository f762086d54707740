"""Settings of a running edged: GET and PATCH /v1/config, `edgectl set`, `unset` and `diff`."""

import concurrent.futures
import functools
import http.client
import json
import os
import subprocess
import time

import pytest

import daemon
import pattern
from daemon import EDGECTL, PATIENCE_S, UnixConnection, wait_for
from ports import free_port
from test_http_login import make_token
from test_reload import looks_db, SMALL
from test_users import make_file, PASSWORDS
from test_views_at_once import readers  # noqa: F401

VIEWS = [{"name": "edges", "view": "edges"}, {"name": "bw", "view": "binary"}]
PATCH = {"Content-Type": "application/merge-patch+json"}


@pytest.fixture
def serve(edged, tmp_path):
    """Starts an edged that keeps settings in tmp_path/state."""

    def start(**camera):
        front = {**daemon.camera("front", views=[dict(v) for v in VIEWS], **SMALL), **camera}
        (tmp_path / "state").mkdir(exist_ok=True)
        # ASan keeps what was freed; of that the memory of the process is not to tell.
        return edged([front], STATE_DIRECTORY=tmp_path / "state",
                     ASAN_OPTIONS=f"{os.environ.get('ASAN_OPTIONS', '')}:quarantine_size_mb=1")

    return start


@pytest.fixture(scope="module")
def shared(shared_edged, tmp_path_factory):
    """One that every test of refusals asks, because none of them changes it."""
    front = daemon.camera("front", views=[dict(v) for v in VIEWS], **SMALL)
    front["regions"] = [{"name": "door", "polygon": [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]}]
    state = tmp_path_factory.mktemp("state")
    token = make_token(state / "tokens", "desk", "--role", "admin")
    server = shared_edged([front], STATE_DIRECTORY=state, settings={
        "http": {"port": free_port()}, "rtsp": {"tokens": str(state / "tokens")}})
    server.admin = {**PATCH, "Authorization": f"Bearer {token}"}
    return server


def ask(server, method, page, body=None, headers=PATCH):
    connection = UnixConnection(server.socket)
    connection.request(method, page, body, headers if body is not None else {})
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    return response.status, json.loads(text)


def patch(server, change, query=""):
    body = change if isinstance(change, (str, bytes)) else json.dumps(change)
    return ask(server, "PATCH", f"/v1/config{query}", body)


def view(**settings):
    return {"cameras": {"front": {"views": {"edges": settings}}}}


def get(server):
    status, values = ask(server, "GET", "/v1/config")
    assert status == 200
    return values


def edgectl(server, *arguments, status=0, socket=True):
    where = ["--socket", server.socket] if socket else []
    result = subprocess.run([EDGECTL, *arguments, *where], text=True,
                            capture_output=True, timeout=PATIENCE_S, env=daemon.environment())
    assert result.returncode == status, result
    return result.stdout + result.stderr


def nested(path, value):
    for name in reversed(path.split(".")):
        value = {name: value}
    return value


def walk(schema, path=()):
    """Every key of the schema with what it says, elements called as those of `shared`."""
    names = {"cameras": "front", "views": "edges", "regions": "door", "privacy": "pad"}
    for name, key in schema["properties"].items():
        inner = key.get("additionalProperties")
        if "properties" in key:
            yield from walk(key, (*path, name))
        elif isinstance(inner, dict) and "properties" in inner:
            yield from walk(inner, (*path, name, names[name]))
        else:
            yield ".".join((*path, name)), key


def test_a_gain_changes_pixels_and_costs_no_frame(serve, watch):
    server = serve()
    viewer = watch(server.url("/front/edges"), keep_every=1)
    viewer.wait_numbers(1)
    pid = server.camera()["process"]["pid"]
    for gain in (1.5, 1.0) * 10 + (3.0,):
        status, answer = patch(server, view(gain=gain, bitrate_kbps=int(3000 * gain)))
        assert status == 200 and answer["cost"] == "frame", answer
    assert answer["changed"][0] == {"key": "cameras.front.views.edges.gain", "before": 1.0,
                                    "after": 3.0, "cost": "frame"}
    wait_for(lambda: looks_db(viewer, 3.0) > looks_db(viewer, 1.0) + 6)
    server.assert_accounted(viewer)
    assert server.camera()["process"]["pid"] == pid
    server.reload()
    assert get(server)["cameras"]["front"]["views"]["edges"]["gain"] == 1.0
    wait_for(lambda: looks_db(viewer, 1.0) > looks_db(viewer, 3.0) + 6)
    server.assert_accounted(viewer)


# Two values of keys that a range does not tell, and that leave the pattern's number readable.
WHOLE = [[0, 0], [1, 0], [1, 1], [0, 1]]
PAIRS = {
    "pad.polygon": ([[0, 1], [0.2, 1], [0, 0.8]], [[0, 1], [0.1, 1], [0, 0.8]]),
    "polygon": (WHOLE, [*WHOLE[:3], [0, 0.9]]), "colour": ("#ff0000", "#00ff80"), "text": ("door \u00e4", ""),
    "corner": ("bottom-left", "bottom-right"), "regions": (["door", "yard"], ["door"]), "end": (0.4, 0.5),
    "mode": ("events", "off"), "record.view": ("binary", "edges"), "threshold": (60, 70),
    "block": ([16, 16], [32, 8]), "rows": (2, 1),
}


def pair_of(path, key):
    for name, pair in PAIRS.items():
        if path.endswith(f".{name}"):
            return pair
    if key.get("type") == "boolean":
        return True, False
    return key["enum"][:2] if "enum" in key else (min(key["default"] + 1, key["maximum"]), key["default"])


def live_keys(server, kinds):
    """Keys that take effect between two frames, each of a view that it says something to."""
    for path, key in walk(ask(server, "GET", "/v1/config/schema")[1]):
        if key["x-remote"] and key["x-cost"] == "frame":
            used = [kind for kind in kinds if kind in key.get("x-used-by", {}).get("view", kinds)]
            yield path.replace("views.edges", f"views.{used[0]}"), pair_of(path, key)


def test_live_keys_again_and_again_lose_no_frame_and_no_memory(serve, watch, readers):  # noqa: F811
    """EDGED_LIVE_TURNS=1000: each of them so often in a row."""
    kinds, turns = ["edges", "binary", "canny", "motion", "overlay"], int(os.environ.get("EDGED_LIVE_TURNS", "4"))
    server = serve(views=[{"name": kind, "view": kind, "label": {"corner": "bottom-left"}} for kind in kinds],
                   regions=[{"name": "door", "polygon": WHOLE}, {"name": "yard"}],
                   privacy=[{"name": "pad", "polygon": WHOLE[2:] + [[0.9, 0.9]]}])
    viewer = watch(server.url("/front/edges"), size=(640, 360))
    viewer.wait_numbers(1)
    for kind in kinds[1:]:
        readers(server.url(f"/front/{kind}"))
    keys = dict(live_keys(server, kinds))
    assert len(keys) > 45
    pids = [server.process.pid, server.camera()["process"]["pid"]]

    def set_all(count):
        for path, pair in keys.items():
            for i in range(count):
                status, answer = patch(server, nested(path, pair[i % 2]), "?keep=1")
                assert status == 200 and {change["key"] for change in answer["changed"]} <= {path}, answer
        return [daemon.process_memory_kib(pid) for pid in pids]

    rounds = [set_all(max(4, turns // 4)), set_all(turns)]

    def has_grown():
        return any(after >= before + 8192 for before, after in zip(*rounds[-2:]))

    # A leak grows in each round. What waits in queues on a busy machine has its most once.
    while has_grown() and len(rounds) < 6:
        rounds.append(set_all(turns))
    viewer.wait_after(time.monotonic_ns(), pattern.FPS)
    missing, unreadable = pattern.holes(viewer.frames)
    print(f"{len(keys)} keys, each {turns} times: front and camera {rounds} KiB, "
          f"{len(viewer.frames)} frames, {missing} missing, of these {unreadable} unreadable, "
          f"{server.dropped()} dropped by a busy machine")
    assert not has_grown()
    server.assert_accounted(viewer)  # which an unreadable frame has to be as well
    assert pids == [server.process.pid, server.camera()["process"]["pid"]]
    settled = get(server)
    for path, pair in keys.items():
        assert functools.reduce(dict.__getitem__, path.split("."), settled) == pair[(turns - 1) % 2], path
    server.stop()
    server.start()
    assert get(server) == settled


def test_a_dry_run_says_what_it_costs_and_changes_nothing(shared):
    before = get(shared)
    status, answer = patch(shared, {"cameras": {"front": {"fps": 25, "views": {
        "edges": {"gain": 2.0, "view": "canny"}}}}}, "?dry_run=1&keep=1")
    assert status == 200 and answer["dry_run"] and not answer["kept"]
    assert [(change["key"], change["cost"]) for change in answer["changed"]] == [
        ("cameras.front.fps", "camera"), ("cameras.front.views.edges.gain", "frame"),
        ("cameras.front.views.edges.view", "view")]
    assert answer["cost"] == "camera"
    assert answer["warnings"] == [
        'cameras.front.views.edges.gain: no effect with view = "canny", only with "edges", '
        '"binary", "overlay", "direction", "split", "custom"']
    assert get(shared) == before


def test_no_key_changes_that_the_schema_does_not_call_remote(shared):
    """By the control socket or over TCP, whatever its value, not even for an administrator."""
    status, schema = ask(shared, "GET", "/v1/config/schema")
    assert status == 200 and schema["$schema"].startswith("https://json-schema.org/")
    keys = dict(walk(schema))
    assert keys["cameras.front.views.edges.gain"].items() >= {
        "minimum": 0.01, "maximum": 100, "default": 1.0, "x-cost": "frame", "x-remote": True,
        "x-unit": "factor"}.items()
    before = get(shared)
    fixed = [path for path, key in keys.items() if not key["x-remote"]]
    assert {"backend", "rtsp.users", "http.port", "control.socket", "cameras.front.source",
            "cameras.front.pipeline", "cameras.front.url", "cameras.front.credentials",
            "cameras.front.controls", "cameras.front.regions.door.mask",
            "cameras.front.views.edges.allow", "cameras.front.views.edges.mask",
            "cameras.front.views.edges.left", "storage.path"} < set(fixed)
    network = http.client.HTTPConnection("127.0.0.1", shared.settings["http"]["port"], timeout=PATIENCE_S)
    for path in fixed + ["cameras.front.name", "cameras.front.views.edges.name"]:
        for value in ("", None, 1, True, [], {}, "/etc/passwd"):
            status, answer = patch(shared, nested(path, value))
            assert (status, answer["key"]) == (403, path), answer
        network.request("PATCH", "/v1/config", json.dumps(nested(path, "/etc/passwd")), shared.admin)
        reply = network.getresponse()
        assert (reply.status, json.loads(reply.read())["key"]) == (403, path)
    network.close()
    assert get(shared) == before


# What is refused: the change, the status, and the key that is named.
EDGES = "cameras.front.views.edges"
REFUSED = {
    "no JSON": ("[", 400, None),
    "nothing": ("", 400, None),
    "an array": ("[]", 400, None),
    "more behind it": ('{"kernels": {}} {}', 400, None),
    "a byte 0": (b'{"kernels": \0{}}', 400, None),
    "deep arrays": ('{"kernels": {"gray": {"block": ' + "[" * 30000 + "]" * 30000 + "}}}", 400, None),
    "arrays in arrays": ('{"kernels": {"gray": {"block": [[[1]]]}}}', 422, "kernels.gray.block"),
    "deep objects": ('{"cameras":' * 5000 + "1" + "}" * 5000, 400, None),
    "objects in objects": ('{"cameras":' * 30 + "1" + "}" * 30, 404, "cameras.cameras"),
    "a prototype": ('{"__proto__": {"polluted": 1}}', 404, "__proto__"),
    "a path": ('{"../../etc/passwd": 1}', 404, None),
    "an empty name": ('{"": 1}', 404, None),
    "a dotted name": ('{"cameras.front.fps": 25}', 404, None),
    "a key twice": ('{"cameras": {"front": {"fps": 25, "fps": 24}}}', 400, None),
    "stars": (view(colour="#***"), 422, f"{EDGES}.colour"),
    "NaN": ('{"cameras": {"front": {"fps": NaN}}}', 400, None),
    "infinity": ('{"cameras": {"front": {"fps": 1e999}}}', 422, "cameras.front.fps"),
    "a huge integer": ('{"cameras": {"front": {"fps": 18446744073709551646}}}', 400, None),
    "a wrapped integer": ('{"cameras": {"front": {"fps": 4294967326}}}', 422, "cameras.front.fps"),
    "a leading zero": ('{"cameras": {"front": {"fps": 025}}}', 400, None),
    "half a surrogate": ('{"cameras": {"front": {"flip": "\\ud800"}}}', 400, None),
    "no UTF-8": (b'{"cameras": {"front": {"flip": "\xff"}}}', 400, None),
    "a value out of range": (view(gain=500), 422, f"{EDGES}.gain"),
    "another type": (view(gain="much"), 422, f"{EDGES}.gain"),
    "an unknown key": (view(gian=1), 404, f"{EDGES}.gian"),
    "an unknown word": (view(operator="sobol"), 422, f"{EDGES}.operator"),
    "stages that do not fit": (view(view="custom", stages=["mark"]), 422, f"{EDGES}.stages"),
    "an unknown camera": ({"cameras": {"back": {"fps": 25}}}, 404, "cameras.back"),
    "no camera": ({"cameras": {"front": None}}, 403, "cameras.front"),
    "no view": ({"cameras": {"front": {"views": {"edges": None}}}}, 403, EDGES),
    "a region's name": ({"cameras": {"front": {"regions": {"a b": {"start": 1}}}}}, 404,
                        "cameras.front.regions.a b"),
    "one of two": ({"cameras": {"front": {"fps": 25, "views": {"edges": {"gain": 0}}}}}, 422,
                   f"{EDGES}.gain"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_refused_and_changes_nothing(shared, case):
    change, expected, key = REFUSED[case]
    before = get(shared)
    status, answer = patch(shared, change)
    assert status == expected, answer
    assert key is None or answer["key"] == key
    assert get(shared) == before


def test_what_may_be_said_is_said(shared):
    assert patch(shared, view(gain=500))[1]["allowed"] == "a number from 0.01 to 100 (factor)"
    assert patch(shared, view(colour="a, allowed: b"))[1]["allowed"].startswith('"#rrggbb", red')
    twice = patch(shared, '{"cameras": {"front": {"fps": 25, "fps": 24}}}')[1]
    assert 'has "fps" for the second time in an object' in twice["detail"] and twice["allowed"] == "once"
    assert "no JSON (at byte 32)" in patch(shared, '{"cameras": {"front": {"fps": 025}}}')[1]["detail"]
    assert 'did you mean "gain"' in patch(shared, view(gian=1))[1]["detail"]
    assert "front" in patch(shared, {"cameras": {"back": {"fps": 25}}})[1]["allowed"]
    assert ask(shared, "PATCH", "/v1/config", "{}", {"Content-Type": "text/plain"})[0] == 415
    assert patch(shared, {}, "?keep=yes")[1]["key"] == "keep"
    status, large = patch(shared, '{"kernels": {}' + " " * 66000 + "}")
    assert (status, large["allowed"]) == (413, "up to 64 KiB")
    status, method = ask(shared, "PUT", "/v1/config")
    assert (status, method["allowed"]) == (405, "GET, HEAD, PATCH")


def test_regions_come_and_go_without_losing_a_frame(serve, watch):
    server = serve(regions=[{"name": "door", "start": 0.1}])
    viewer = watch(server.url("/front/edges"))
    viewer.wait_numbers(1)
    corners = [[0, 0], [1, 0], [1, 1], [0, 1]]
    status, answer = patch(server, {"cameras": {"front": {"regions": {
        "door": None, "yard": {"polygon": corners, "start": 0.1, "duration_s": 0}}}}})
    assert status == 200 and answer["cost"] == "frame"
    assert list(get(server)["cameras"]["front"]["regions"]) == ["yard"]
    server.wait_camera("front", lambda c: [(r["name"], r["moving"]) for r in c["regions"]] == [("yard", True)])
    assert patch(server, {"cameras": {"front": {"regions": None}}})[0] == 200
    assert list(get(server)["cameras"]["front"]["regions"]) == ["door"]
    server.assert_accounted(viewer)


def test_a_camera_is_disarmed_and_armed(serve, watch):
    server = serve(regions=[{"name": "door", "start": 0.1, "duration_s": 0.0}])
    viewer = watch(server.url("/front/edges"))
    viewer.wait_numbers(1)
    server.wait_camera("front", daemon.is_moving)

    def arm(body, camera="front"):
        return ask(server, "POST", f"/v1/cameras/{camera}/armed", body, {})

    status, answer = arm('{"armed": false}')
    assert status == 200 and answer["changed"] == [
        {"key": "cameras.front.armed", "before": True, "after": False, "cost": "frame"}]
    server.wait_camera("front", lambda c: not c["armed"] and not c["regions"])
    server.wait_stderr("motion in door ended")
    assert arm(' { "armed" : true } ')[0] == 200
    server.wait_camera("front", lambda c: c["armed"] and daemon.is_moving(c))
    server.assert_accounted(viewer)
    assert arm('{"armed": 1}')[0] == 422 and arm('{"armed": true, "fps": 1}')[0] == 422
    assert arm("[" * 65000)[0] == arm('{"armed": ' * 6000)[0] == arm("")[0] == 422
    assert arm('{"armed": true}', "back")[0] == arm('{"armed": true}', "a%22b")[0] == 404


def test_another_view_is_recorded_without_losing_a_frame(serve, watch, tmp_path):
    server = serve(record={"mode": "always"})
    viewer = watch(server.url("/front/edges"))
    viewer.wait_numbers(1)

    def recorded():
        status, clips = ask(server, "GET", "/v1/clips")
        if status == 503:  # the recorder is still starting
            return None
        return [clip["view"] for clip in clips if clip["open"]], [clip["view"] for clip in clips if not clip["open"]]

    wait_for(lambda: recorded() == (["edges"], []), explain=server.stderr)
    status, answer = patch(server, nested("cameras.front.record.view", "bw"))
    assert status == 200 and answer["changed"] == [
        {"key": "cameras.front.record.view", "before": "", "after": "bw", "cost": "frame"}]
    wait_for(lambda: recorded() == (["bw"], ["edges"]), explain=server.stderr)
    assert server.mount("/front/bw")["recorded"] == "always"
    status, answer = patch(server, nested("cameras.front.record.view", "none"))
    assert (status, answer["key"]) == (422, "cameras.front.record.view")
    viewer.wait_after(time.monotonic_ns(), pattern.FPS)
    server.assert_accounted(viewer)


def test_a_key_frame_comes_when_it_is_asked_for(serve, watch):
    server = serve(views=[{"name": "edges", "view": "edges", "keyframe_s": 10.0}])
    page = "/v1/cameras/front/views/edges/keyframe"
    assert ask(server, "POST", page) == (200, {"asked": False})
    watch(server.url("/front/edges")).wait_numbers(1)
    before = server.mount()["key_frames"]

    def comes():
        assert ask(server, "POST", page) == (200, {"asked": True})
        return server.mount()["key_frames"] > before + 2

    wait_for(comes)
    assert ask(server, "POST", page.replace("edges", "none"))[0] == 404


def test_what_is_kept_lies_over_the_file_until_it_is_unset(serve, tmp_path):
    server = serve()
    told = edgectl(server, "set", "--keep", f"{EDGES}.gain=2.5", f"{EDGES}.codec=h264",
                   "cameras.front.views.bw.threshold=otsu")
    assert f"{EDGES}.gain: 1.0 -> 2.5, between two frames\n" in told and "codec" not in told
    edgectl(server, "set", "cameras.front.regions.door.polygon=0:0,1:0,1:1")
    lines = [line.split() for line in edgectl(server, "diff").splitlines()]
    assert [f"{EDGES}.gain", "kept", "1.0", "2.5"] in lines
    assert ["cameras.front.views.bw.threshold", "kept", "80", '"otsu"'] in lines
    every = [line.split() for line in edgectl(server, "diff", "--all").splitlines()]
    assert [f"{EDGES}.gain", "kept", "1.0", "2.5"] in every
    line = 1 + server.config.read_text().split("cameras = ")[0].count("\n")
    assert ["cameras.front.width", f"{server.config}:{line}", "640", "640"] in every
    assert ["cameras.front.fps", "default", "30", "30"] in every
    assert lines[-1][:3] == ["cameras.front.regions.door.polygon", "set", "none"]
    server.stop()
    stored = tmp_path / "state/settings.conf"
    assert stored.stat().st_mode & 0o777 == 0o600 and str(server.config) in stored.read_text()

    server.start()
    values = get(server)["cameras"]["front"]
    assert values["views"]["edges"]["gain"] == 2.5 and values["views"]["bw"]["threshold"] == "otsu"
    assert values["regions"] == {}
    checked = daemon.run_edged("--check", "--config", server.config,
                               STATE_DIRECTORY=tmp_path / "state")
    assert f"{stored}: kept: {EDGES}.gain = 2.5, over 1.0 (default)\n" in checked.stdout
    edgectl(server, "set", "cameras.front.width=320")
    shown = edgectl(server, "status", "--config", server.config, socket=False)
    assert f"kept: {EDGES}.gain = 2.5, over 1.0 (default)\n" in shown
    assert f"set: cameras.front.width = 320, over 640 ({server.config}:{line})\n" in shown

    cameras = server.cameras
    cameras[0]["views"][0]["gain"] = 4.0
    server.reload(cameras)
    assert get(server)["cameras"]["front"]["views"]["edges"]["gain"] == 2.5
    warning = (f"{EDGES}.gain: kept as 2.5, and the file's value has changed from 1.0 to 4.0 since; "
               f"`edgectl unset {EDGES}.gain` takes the file's")
    assert warning in server.stderr()
    checked = daemon.run_edged("--check", "--config", server.config,
                               STATE_DIRECTORY=tmp_path / "state")
    assert checked.returncode == 0 and warning in checked.stderr

    cameras[0]["views"][0]["gain"] = 2.5
    server.reload(cameras)
    checked = daemon.run_edged("--check", "--config", server.config,
                               STATE_DIRECTORY=tmp_path / "state")
    assert "the file's value has changed" not in checked.stderr

    cameras[0]["views"][0]["gain"] = 4.0
    server.reload(cameras)
    edgectl(server, "unset", f"{EDGES}.gain", f"{EDGES}.codec", "cameras.front.views.bw.threshold")
    assert get(server)["cameras"]["front"]["views"]["edges"]["gain"] == 4.0
    wait_for(lambda: not stored.exists())
    assert edgectl(server, "diff") == "edged runs as its configuration file says\n"


@pytest.fixture
def on_disk(edged, tmp_path):
    """Starts one whose disk does as server.disk() says: nothing, "stall", or fail with an errno."""
    control = tmp_path / "control"
    control.write_text("")
    server = edged([daemon.camera("front", views=[dict(v) for v in VIEWS], **SMALL)],
                   STATE_DIRECTORY=tmp_path / "state", EDGED_DISK_CONTROL=control,
                   LD_PRELOAD=daemon.BUILD / "tests/fakes/disk/fake_disk.so")
    server.disk = control.write_text
    server.stored = tmp_path / "state/settings.conf"
    yield server
    server.disk("")


def is_kept(server):
    return {one["key"]: one["kept"] for one in ask(server, "GET", "/v1/config/settings")[1]["settings"]}


def test_a_card_that_stalls_is_no_matter_of_viewers(on_disk, watch):
    server = on_disk
    viewer = watch(server.url("/front/edges"))
    viewer.wait_numbers(1)
    server.disk("stall")
    with concurrent.futures.ThreadPoolExecutor() as pool:
        asked = pool.submit(patch, server, view(gain=2.5), "?keep=1")
        wait_for(lambda: get(server)["cameras"]["front"]["views"]["edges"]["gain"] == 2.5)
        assert is_kept(server) == {f"{EDGES}.gain": "pending"}
        edgectl(server, "reload")
        assert is_kept(server) == {f"{EDGES}.gain": "pending"}, "it is kept in memory"
        status, answer = asked.result(PATIENCE_S)
    assert (status, answer["kept"], answer["warnings"]) == (202, "pending", [])
    viewer.wait_after(time.monotonic_ns(), pattern.FPS)
    server.assert_accounted(viewer)
    assert not server.stored.exists() and "kept by" not in server.stderr()
    server.disk("")
    server.wait_stderr(rf"{EDGES}\.gain kept by .*: 2\.5\n")
    assert is_kept(server) == {f"{EDGES}.gain": True} and f'"{EDGES}.gain"' in server.stored.read_text()
    assert patch(server, view(gain=3.5), "?keep=1")[1]["kept"] is True
    assert '"3.5"' in server.stored.read_text(), "it was said before it was true"


def test_a_card_that_never_answers_does_not_hold_up_the_end(on_disk):
    server = on_disk
    server.disk("stall")
    with concurrent.futures.ThreadPoolExecutor() as pool:
        asked = pool.submit(patch, server, view(gain=2.5), "?keep=1")
        wait_for(lambda: is_kept(server) == {f"{EDGES}.gain": "pending"})
        server.process.terminate()
        assert server.process.wait(PATIENCE_S / 4) == 0, "while the card does not answer"
        status, answer = asked.result(PATIENCE_S)
    assert status == 503 or answer["kept"] == "pending"
    assert f"not kept, because {server.stored} is still being written: {EDGES}.gain\n" in server.stderr()
    assert not server.stored.exists()


def test_kept_is_on_the_disk_when_it_is_said(on_disk):
    server = on_disk
    for gain in (2.5, 3.5):
        status, answer = patch(server, view(gain=gain), "?keep=1")
        assert status == 200 and answer["kept"] is True
        server.process.kill()
        server.process.wait()
        server.start()
        assert get(server)["cameras"]["front"]["views"]["edges"]["gain"] == gain


def test_what_cannot_be_kept_is_said_and_tried_again(on_disk):
    server = on_disk
    server.disk("28")
    told = edgectl(server, "set", "--keep", f"{EDGES}.gain=2.5", status=1)
    assert f"{EDGES}.gain: 1.0 -> 2.5" in told
    assert "edgectl: warning: in effect, but cannot be kept: " in told and "No space left on device" in told
    assert get(server)["cameras"]["front"]["views"]["edges"]["gain"] == 2.5 and not server.stored.exists()
    server.reload()
    assert get(server)["cameras"]["front"]["views"]["edges"]["gain"] == 2.5
    server.disk("")
    edgectl(server, "set", "--keep", "cameras.front.views.bw.threshold=33")
    assert set(is_kept(server).values()) == {True} and len(is_kept(server)) == 2
    assert server.stderr().count("cannot keep settings") == 1


def test_an_edged_that_stops_writes_what_is_to_be_kept(on_disk):
    server = on_disk
    server.disk("stall")
    with concurrent.futures.ThreadPoolExecutor() as pool:
        asked = pool.submit(patch, server, view(gain=2.5), "?keep=1")
        wait_for(lambda: get(server)["cameras"]["front"]["views"]["edges"]["gain"] == 2.5)
        stopped = pool.submit(server.stop)
        server.wait_stderr("edged: stopping")
        server.disk("")
        stopped.result(PATIENCE_S)
        status, answer = asked.result(PATIENCE_S)
    assert (status, answer["kept"]) in ((200, True), (202, "pending"))
    assert '"2.5"' in server.stored.read_text()


def test_the_log_says_who_keeps_what_however_often_others_change_it(serve):
    server, who = serve(), f"uid {os.getuid()}, control socket"
    for turn in range(100):
        assert patch(server, view(gain=1 + turn / 100))[0] == 200
    edgectl(server, "set", "--keep", f"{EDGES}.gain=2.5")
    server.wait_stderr(rf"{EDGES}\.gain kept by {who}: 2\.5\n")
    edgectl(server, "unset", f"{EDGES}.gain")
    server.wait_stderr(rf"{EDGES}\.gain unset by {who}\n")
    assert 0 < server.stderr().count(f"settings changed by {who}: between two frames: cameras.front.views.edges.gain") < 100


def test_a_kept_text_that_looks_like_libconfig_is_only_a_text(serve):
    server, text = serve(), '";); @include "/etc/passwd" # ä \\'
    edgectl(server, "set", "--keep", f"{EDGES}.label.text={text}", f"{EDGES}.gain=2.5")
    server.stop()
    server.start()
    edges = get(server)["cameras"]["front"]["views"]["edges"]
    assert (edges["label"]["text"], edges["gain"]) == (text, 2.5)


def test_a_setting_of_a_view_that_went_is_left_out(serve):
    server = serve()
    edgectl(server, "set", "--keep", f"{EDGES}.gain=2.5", "cameras.front.views.bw.threshold=33")
    cameras = server.cameras
    gone = cameras[0]["views"].pop()
    server.reload(cameras)
    assert get(server)["cameras"]["front"]["views"]["edges"]["gain"] == 2.5
    server.wait_stderr(r"bw\.threshold: kept as 33, which does not fit the file any more")
    cameras[0]["views"].append(gone)
    server.reload(cameras)
    assert get(server)["cameras"]["front"]["views"]["bw"]["threshold"] == 33
    cameras[0]["views"].pop()
    server.reload(cameras)
    edgectl(server, "unset", "cameras.front.views.bw.threshold")  # as the warning says
    for key in ("bw.gain", "bw", "other.threshold"):
        assert "allowed: edges" in edgectl(server, "unset", f"cameras.front.views.{key}", status=1)
    cameras[0]["views"].append(gone)
    server.reload(cameras)
    assert get(server)["cameras"]["front"]["views"]["bw"]["threshold"] == 80


def test_a_setting_of_a_region_that_went_from_the_file_brings_no_region_back(serve, tmp_path):
    door = {"name": "door", "polygon": [[0.0, 0.0], [0.2, 0.0], [0.2, 0.2]]}
    server = serve(regions=[door, {"name": "all"}])
    key = "cameras.front.regions"
    edgectl(server, "set", "--keep", f"{key}.door.threshold=44", f"{key}.all.polygon=0:0,1:0,1:1",
            f"{key}.yard.polygon=0:0,1:0,1:1")
    assert set(get(server)["cameras"]["front"]["regions"]) == {"door", "all", "yard"}
    cameras = server.cameras
    del cameras[0]["regions"]
    server.reload(cameras)

    def check_gone():
        assert set(get(server)["cameras"]["front"]["regions"]) == {"yard"}, "a region that no file had is there"
        for name in ("door.threshold: kept as 44", "all.polygon: kept as "):
            server.wait_stderr(rf"{key}\.{name}.*, which does not fit the file any more, going on without")

    check_gone()
    server.stop()
    server.start()
    check_gone()
    cameras[0]["regions"] = [door]
    server.reload(cameras)
    regions = get(server)["cameras"]["front"]["regions"]
    assert set(regions) == {"door", "yard"} and regions["door"]["threshold"] == 44
    edgectl(server, "unset", f"{key}.all.polygon")
    server.reload([{**cameras[0], "regions": [door, {"name": "all"}]}])
    assert "polygon" not in get(server)["cameras"]["front"]["regions"]["all"]


def test_settings_of_a_version_that_did_not_remember_regions_bring_none_back(serve, tmp_path):
    """It wrote no `file` for a key that the file left out."""
    server = serve()
    key = "cameras.front.regions.door"
    server.stop()
    (tmp_path / "state/settings.conf").write_text(
        f'config = "{server.config}"; settings = (\n'
        f'{{ key = "{key}.polygon"; value = "( [ 0.0, 0.0 ], [ 1.0, 0.0 ], [ 1.0, 1.0 ] )"; }},\n'
        f'{{ key = "{key}.threshold"; value = "44"; file = "25"; }} );\n')
    server.start()
    assert get(server)["cameras"]["front"]["regions"] == {}
    for name in ("polygon", "threshold"):
        server.wait_stderr(rf"{key}\.{name}: kept as .*, which does not fit the file any more, going on without")


@pytest.mark.parametrize("text", ["settings = (", "config = 1;", "  @include \"/etc/passwd\"\n",
                                  "config = \"x\"; settings = ( 1 );", "\0", "config = \"x\";"])
def test_a_broken_settings_file_is_set_aside(serve, tmp_path, text):
    (tmp_path / "state").mkdir()
    stored = tmp_path / "state/settings.conf"
    stored.write_text(text)
    server = serve()
    server.wait_stderr(r"settings\.conf: warning: it is broken, set aside as ")
    assert not stored.exists()
    assert (tmp_path / "state/settings.conf.broken").read_text() == text
    edgectl(server, "set", "--keep", f"{EDGES}.gain=2.5")
    wait_for(stored.exists)


@pytest.mark.parametrize(("put", "name"), [
    (lambda path: path.symlink_to("/etc/hostname"), "a link"), (lambda path: path.mkdir(), "a folder")])
def test_a_settings_file_that_is_a_link_or_a_folder_is_named(serve, tmp_path, put, name):
    (tmp_path / "state").mkdir()
    put(tmp_path / "state/settings.conf")
    server = serve()
    server.wait_stderr(rf"settings\.conf: warning: it is {name}, allowed: a regular file, set aside as ")


def test_settings_of_another_configuration_are_left_alone(serve, tmp_path):
    (tmp_path / "state").mkdir()
    text = ('config = "/elsewhere.conf"; settings = ( { key = "cameras.front.fps"; value = "7"; } );')
    (tmp_path / "state/settings.conf").write_text(text)
    server = serve()
    assert get(server)["cameras"]["front"]["fps"] == 30
    assert "its settings are for /elsewhere.conf" in server.stderr()
    assert (tmp_path / "state/settings.conf").read_text() == text


def test_only_operators_may_ask_and_secrets_are_hidden(edged, tmp_path):
    users, port = make_file(tmp_path), free_port()
    views = [{"name": "edges"}, {"name": "safe", "allow": ["admin"]}]
    front = {"name": "front", "source": "gstreamer", "views": views, **SMALL,
             "pipeline": "rtspsrc location=rtsp://me:hush@127.0.0.1/ user-pw=hush"}
    server = edged([front], settings={"rtsp": {"users": str(users)}, "http": {"port": port}},
                   STATE_DIRECTORY=tmp_path)

    def curl(user, *arguments):
        result = subprocess.run(
            ["curl", "-q", "-sS", "--noproxy", "*", "--digest", "-u", f"{user}:{PASSWORDS[user]}",
             "-w", "\n%{http_code}", f"http://127.0.0.1:{port}/v1/config", *arguments],
            capture_output=True, text=True, check=True, timeout=PATIENCE_S)
        return result.stdout.rsplit("\n", 1)

    assert curl("vera")[1] == "403"
    text, status = curl("otto")
    assert status == "200" and "***" in text and "hush" not in text
    change = ["-X", "PATCH", "-H", "Content-Type: application/json", "-d"]
    assert curl("vera", *change, json.dumps(view(gain=2)))[1] == "403"
    assert curl("otto", *change, json.dumps(view(gain=2)))[1] == "200"
    assert curl("otto", *change, json.dumps(view(gain=3)), "-H", "Origin: http://evil")[1] == "403"
    safe = nested("cameras.front.views.safe.gain", 2)
    assert "safe" not in text and "safe" in curl("anna")[0]
    refused, status = curl("otto", *change, json.dumps(safe))
    assert status == "404" and "not there for this user" in refused
    assert curl("anna", *change, json.dumps(safe))[1] == "200"
    kept = json.dumps(nested("cameras.front.record.view", "safe"))  # by who may watch it alone
    refused, status = curl("otto", *change, kept)
    assert status == "404" and "not there for this user" in refused
    assert curl("anna", *change, kept)[1] == "200"
    assert curl("anna", *change, json.dumps({"cameras": {"front": {"pipeline": "x"}}}))[1] == "403"
    assert get(server)["cameras"]["front"]["views"]["edges"]["gain"] == 2.0
    assert "settings changed by otto, 127.0.0.1: between two frames: cameras.front.views.edges.gain" in server.stderr()
