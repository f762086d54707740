"""Clips over HTTP: who is shown which, whole and in parts, what may be done with them, and what a slow
recorder costs. A recorder of the tests' own has the clips."""

import errno
import json
import re
import subprocess
import threading
import time

import pytest

import daemon
from fake_recorder import Recorder
from ports import free_port
from test_http import write_users
from test_snapshot import curl

S = 1_000_000_000
MORNING = 1795767303 * S  # 2026-11-27T08:15:03Z
# Bytes that tell their place, and more than edged asks for at once.
VIDEO = b"".join(b"%07d\n" % i for i in range(125_000))
PICTURE = b"\xff\xd8" + bytes(1000)
VIEWS = [{"name": "plain", "view": "camera", "allow": ["viewer", "operator", "admin"]},
         {"name": "inside", "view": "camera", "allow": ["operator", "admin"]}]


@pytest.fixture
def recorder(tmp_path):
    recorder = Recorder(tmp_path / "recorder.sock")
    for number, view in ((5, b"plain"), (7, b"inside"), (9, b"gone"), (11, b"plain")):
        begin = MORNING + number * 60 * S
        recorder.add(number, VIDEO, PICTURE, camera=b"front", view=view, event=number, regions=("door",),
                     codec=b"h265", start_wall_ns=begin, asked_wall_ns=begin + S // 2,
                     end_wall_ns=begin + 12 * S, peak=0.25)
    yield recorder
    recorder.close()


@pytest.fixture
def served(edged, recorder, tmp_path):
    """An edged that asks that recorder, its API at .api, with the users ada, oscar and vera."""
    users = tmp_path / "users"
    write_users(users, ada="admin", oscar="operator", vera="viewer")
    port = free_port()
    server = edged([daemon.camera(width=320, height=240, views=VIEWS)],
                   settings={"http": {"port": port}, "rtsp": {"users": str(users)}},
                   EDGED_RECORDER=recorder.path)
    server.api = f"http://127.0.0.1:{port}"
    return server


def ask(server, path, user="ada", *options):
    """Status, headers, and the JSON or the bytes of the body."""
    status, headers, body = curl(server.api + path, "--digest", "-u", f"{user}:pass", *options)
    return status, headers, json.loads(body) if "json" in headers["content-type"] else body


def change(server, path, user, method, body=None):
    data = () if body is None else ("-d", json.dumps(body), "-H", "Content-Type: application/json")
    return ask(server, path, user, "-X", method, *data)


def ids(server, user, query=""):
    status, _, clips = ask(server, f"/v1/clips{query}", user)
    assert status == 200, clips
    return [clip["id"] for clip in clips]


def test_the_list_tells_what_is_known_of_a_clip(served):
    _, _, clips = ask(served, "/v1/clips?limit=1")
    assert clips == [{
        "id": 11, "camera": "front", "view": "plain", "start": "2026-11-27T08:26:03.000000Z",
        "end": "2026-11-27T08:26:15.000000Z", "duration": 12, "asked": "2026-11-27T08:26:03.500000Z",
        "gap": 0, "codec": "h265", "motion": None, "motion_end": None, "regions": ["door"], "event": 11, "peak": 0.25, "bytes": len(VIDEO), "keep": False,
        "open": False, "always": False, "triggered": False, "url": "/v1/clips/11.mp4", "picture": "/v1/clips/11.jpg"}]
    assert ask(served, "/v1/clips/11")[2] == clips[0]
    described = re.search(r"^    Clip:\n(?:      .*\n)+", served.http_get("/openapi.yaml"), re.M)[0]
    assert re.findall(r"^        (\w+): \{ type: ", described, re.M) == list(clips[0])
    assert f"required: [{', '.join(clips[0])}]" in described


def test_a_clip_is_shown_to_who_may_watch_its_view(served):
    """Of a view that is configured no more, to administrators alone."""
    assert ids(served, "ada") == [11, 9, 7, 5]
    assert ids(served, "oscar") == [11, 7, 5]
    assert ids(served, "vera") == [11, 5]
    for user, hidden in (("vera", (7, 9)), ("oscar", (9,))):
        for number in hidden:
            for path in (f"/v1/clips/{number}", f"/v1/clips/{number}.mp4", f"/v1/clips/{number}.jpg"):
                status, _, told = ask(served, path, user)
                assert (status, told["detail"]) == (404, "there is no such clip")
    assert change(served, "/v1/clips/9", "oscar", "PATCH", {"keep": True})[0] == 404
    assert change(served, "/v1/clips/9", "oscar", "DELETE")[0] == 404


def test_a_list_is_of_a_time_and_a_camera_and_goes_on_page_by_page(served, recorder):
    assert ids(served, "ada", "?from=2026-11-27T08:22:00Z&to=2026-11-27T09:24:30%2B01:00") == [9, 7]
    assert ids(served, "ada", f"?from={MORNING // S + 420}&to={MORNING / S + 551.5}") == [9, 7]
    assert ids(served, "ada", "?camera=back") == []
    assert ids(served, "ada", "?camera=front&before=9") == [7, 5]
    assert ids(served, "ada", "?after=5") == [7, 9, 11]
    assert ids(served, "ada", "?after=5&limit=2") == [7, 9]
    assert ids(served, "ada", "?after=11") == []
    assert ids(served, "vera", "?after=5&limit=1") == [11]


def test_a_list_is_of_a_view_and_a_region(served, recorder):
    recorder.add(13, camera=b"front", view=b"inside", regions=("door", "yard"), start_wall_ns=MORNING)
    assert ids(served, "ada", "?view=plain") == [11, 5]
    assert ids(served, "ada", "?camera=front&view=inside") == [13, 7]
    assert ids(served, "ada", "?region=yard") == [13]
    assert ids(served, "ada", "?view=plain&region=yard") == []


def test_pages_are_full_whatever_lies_between_that_the_user_may_not_see(served, recorder):
    for i in range(20, 1400):
        recorder.add(i, camera=b"front", view=b"plain" if i < 100 else b"inside", start_wall_ns=MORNING,
                     end_wall_ns=MORNING)
    assert ids(served, "vera", "?camera=front&limit=1") == [99]
    assert len(recorder.asked) == 3  # for 1 clip, and twice for 1000
    assert ids(served, "vera", "?camera=front&limit=70") == [*range(99, 29, -1)]
    assert ids(served, "vera", "?camera=front&limit=70&before=30") == [*range(29, 19, -1), 11, 5]
    assert ids(served, "vera", "?camera=front&limit=1&before=5") == []
    assert ids(served, "vera", "?camera=front&limit=70&after=95") == [96, 97, 98, 99]
    assert ids(served, "vera", "?camera=front&limit=2&after=5") == [11, 20]


def test_lists_that_are_asked_for_without_pause_take_a_share_of_the_loop(edged, recorder):
    """A fifth, beside which the recorder's answers are read: over a while, as what is answered meanwhile is paid for later."""
    for number in range(20, 1020):
        recorder.add(number, VIDEO, PICTURE, camera=b"front", view=b"plain", start_wall_ns=MORNING,
                     end_wall_ns=MORNING + S, regions=("door",))
    port, ended, lists, seconds = free_port(), threading.Event(), [], 20
    server = edged([daemon.camera(width=320, height=240, views=VIEWS)], settings={"http": {"port": port}},
                   EDGED_RECORDER=recorder.path)

    def ask_without_pause():
        while not ended.is_set():
            lists.append(curl(f"http://127.0.0.1:{port}/v1/clips?limit=1000")[2].count(b'"id"'))

    threads = [threading.Thread(target=ask_without_pause) for _ in range(6)]
    for thread in threads:
        thread.start()
    daemon.wait_for(lambda: lists)
    before_s, begin_s = daemon.process_cpu_s(server.process.pid), time.monotonic()
    time.sleep(seconds)
    share = (daemon.process_cpu_s(server.process.pid) - before_s) / (time.monotonic() - begin_s)
    ended.set()
    for thread in threads:
        thread.join()
    print(f"{len(lists)} lists, {share:.2f} of a core")
    assert set(lists) == {1000} and share < 0.3


def test_a_query_that_makes_no_sense_is_refused_by_its_key(served):
    for query in ("from=yesterday", "to=-1", "to=nan", "from=9999-01-01T00:00:00Z", "from=2026-11-27",
                  "camera=../x", "view=a/b", "region=%20", "region=" + 40 * "x", "limit=0", "limit=1001", "before=x", "after=0",
                  "after=x", "after=5&before=9"):
        status, headers, told = ask(served, f"/v1/clips?{query}")
        assert (status, told["key"]) == (400, query.split("=")[0]), query
        assert headers["content-type"] == "application/problem+json"


def timeline(server, user, begin_s, steps=6, seconds=240, zone=""):
    """Of minutes of the morning, as the recorder's clips have them."""
    begin, end = (time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(MORNING // S + at)) for at in (begin_s, begin_s + seconds))
    status, _, told = ask(server, f"/v1/timeline?from={zone or begin}&to={end}&steps={steps}", user)
    assert status == 200, told
    return told


def test_a_timeline_has_a_lane_for_each_camera_that_the_user_may_watch(served, recorder):
    """Of the views that they may watch: the lanes of these are one."""
    recorder.add(20, camera=b"old", view=b"plain", start_wall_ns=MORNING + 600 * S, end_wall_ns=MORNING + 601 * S)
    recorder.add(21, camera=b"front", view=b"plain", start_wall_ns=MORNING + 540 * S, end_wall_ns=MORNING + 621 * S)
    # The clips of 12 s begin after 300 s (plain), 420 s (inside), 540 s (gone) and 660 s (plain).
    expected = {"ada": {"front": "2000200021112000", "old": "0000000000100000"}, "oscar": {"front": "2000200011112000"},
                "vera": {"front": "2000000011112000"}}
    for user, lanes in expected.items():
        told = timeline(served, user, 290, steps=16, seconds=16 * 30)
        assert {lane["camera"]: lane["steps"] for lane in told["lanes"]} == lanes, user
        assert (told["from"], told["to"]) == ("2026-11-27T08:19:53.000000Z", "2026-11-27T08:27:53.000000Z")
        assert told["step_s"] == 30 and told["days"] == ["2026-11-27"]


def test_a_camera_without_clips_has_an_empty_lane(served, recorder):
    recorder.clips.clear()
    told = timeline(served, "vera", 0, steps=4)
    assert told["lanes"] == [{"camera": "front", "steps": "0000"}] and told["days"] == []


def test_the_days_are_those_of_the_clock_that_the_question_is_asked_by(served, recorder):
    for number, hour in ((30, -9), (31, 15), (32, 16)):  # 23:15 of the day before, 23:15, 00:15 of the next
        recorder.add(number, camera=b"front", view=b"plain", start_wall_ns=MORNING + hour * 3600 * S,
                     end_wall_ns=MORNING + hour * 3600 * S + S)
    for zone, days in (("2026-11-24T00:00:00Z", ["2026-11-26", "2026-11-27", "2026-11-28"]),
                       ("2026-11-24T00:00:00%2B01:00", ["2026-11-27", "2026-11-28"]),
                       ("2026-11-24T00:00:00-01:00", ["2026-11-26", "2026-11-27"]),
                       (MORNING // S - 3 * 86400, ["2026-11-26", "2026-11-27", "2026-11-28"])):
        assert timeline(served, "vera", 30 * 3600, zone=zone)["days"] == days, zone


def test_a_timeline_that_makes_no_sense_is_refused_by_its_key_and_what_is_allowed(served, recorder):
    good = {"from": str(MORNING // S), "to": str(MORNING // S + 60), "steps": "10"}
    for key, value, allowed in (("from", None, "a time as"), ("from", "yesterday", "a time as"), ("to", None, "a time as"),
                                ("to", "-1", "a time as"), ("to", good["from"], "3660 days"), ("to", "8e9", "3660 days"),
                                ("steps", None, "1 to 2000"), ("steps", "0", "1 to 2000"), ("steps", "2001", "1 to 2000"),
                                ("steps", "1.5", "1 to 2000")):
        query = "&".join(f"{name}={each}" for name, each in {**good, key: value}.items() if each is not None)
        status, headers, told = ask(served, f"/v1/timeline?{query}")
        assert (status, told["key"]) == (400, key) and allowed in told["allowed"], (query, told)
        assert headers["content-type"] == "application/problem+json"
    assert not recorder.asked
    recorder.is_open = False
    assert ask(served, "/v1/timeline?" + "&".join(f"{name}={each}" for name, each in good.items()))[0] == 503


def test_a_part_of_a_clip_is_its_bytes(served):
    for given, first, last in (("0-0", 0, 0), ("500-", 500, len(VIDEO) - 1), ("-8", len(VIDEO) - 8, len(VIDEO) - 1),
                               ("262143-262144", 262143, 262144), ("300000-900000", 300000, 900000),
                               (f"0-{1 << 63}", 0, len(VIDEO) - 1)):
        status, headers, body = ask(served, "/v1/clips/5.mp4", "vera", "-r", given)
        assert status == 206, given
        assert headers["content-range"] == f"bytes {first}-{last}/{len(VIDEO)}"
        assert body == VIDEO[first:last + 1]
    status, headers, body = ask(served, "/v1/clips/5.mp4", "vera")
    assert (status, body) == (200, VIDEO)
    assert headers["content-type"] == "video/mp4"
    assert headers["accept-ranges"] == "bytes"
    assert headers["content-disposition"] == 'inline; filename="front-plain-2026-11-27t082003z.mp4"'
    assert int(headers["content-length"]) == len(VIDEO)
    status, headers, body = ask(served, "/v1/clips/5.mp4", "vera", "-r", f"{len(VIDEO)}-")
    assert (status, headers["content-range"]) == (416, f"bytes */{len(VIDEO)}")
    # Of another file the client gets all; so it does for several parts, and for what is no range.
    for header in ("Range: bytes=0-1,4-5", "Range: lines=0-1", "Range: bytes=5-2", "Range: bytes=-"):
        assert ask(served, "/v1/clips/5.mp4", "vera", "-H", header)[0] == 200, header
    tag = headers.get("etag") or ask(served, "/v1/clips/5.mp4", "vera", "-r", "0-0")[1]["etag"]
    for condition, expected in ((tag, 206), ('"other"', 200)):
        assert ask(served, "/v1/clips/5.mp4", "vera", "-r", "0-0", "-H", f"If-Range: {condition}")[0] == expected
    status, headers, body = ask(served, "/v1/clips/5.jpg", "vera")
    assert (status, headers["content-type"], body) == (200, "image/jpeg", PICTURE)


@pytest.mark.parametrize("name", ["5.mp4", "5.jpg"])
def test_a_clip_is_not_sent_twice_to_a_client_that_has_it(served, name):
    tag = ask(served, f"/v1/clips/{name}", "vera")[1]["etag"]
    for known, expected in ((tag, 304), (f'"other", {tag}', 304), ('"other"', 200)):
        status, headers, body = ask(served, f"/v1/clips/{name}", "vera", "-H", f"If-None-Match: {known}")
        assert (status, headers["etag"], bool(body)) == (expected, tag, expected == 200)
    # Whatever part it asks for (RFC 9110, section 13.2.2).
    for part in ("0-0", "999999999-"):
        for condition in ((), ("-H", f"If-Range: {tag}")):
            status, headers, body = ask(served, f"/v1/clips/{name}", "vera", "-r", part, *condition,
                                        "-H", f"If-None-Match: {tag}")
            assert (status, headers["etag"], body) == (304, tag, b"") and "content-range" not in headers
    status, headers, body = ask(served, f"/v1/clips/{name}", "vera", "-I")
    assert (status, body) == (200, b"") and int(headers["content-length"]) > 0


def test_what_is_no_id_leads_to_no_clip(served, recorder):
    """It is not even asked for; the recorder knows no paths."""
    for name in ("0", "-5", "+5", "5.0", "0x5", "%35x", "..%2F..%2Fetc%2Fpasswd", "..", "front", "5.avi",
                 "5.mp4.mp4", "%2e%2e", "99999999999999999999", "9223372036854775808"):
        for kind in ("", ".mp4", ".jpg"):
            assert ask(served, f"/v1/clips/{name}{kind}", "ada", "--path-as-is")[0] == 404, name
    assert not recorder.asked
    assert ask(served, "/v1/clips/6")[0] == 404
    assert [question.id for question in recorder.asked] == [6]


def test_a_viewer_may_not_start_a_clip(served, recorder):
    assert change(served, "/v1/cameras/front/record", "vera", "POST", {"record": True})[0] == 403
    assert not recorder.asked


def test_who_may_keep_and_delete(served, recorder):
    assert change(served, "/v1/clips/5", "vera", "PATCH", {"keep": True})[0] == 403
    assert change(served, "/v1/clips/5", "vera", "DELETE")[0] == 403
    status, _, clip = change(served, "/v1/clips/5", "oscar", "PATCH", {"keep": True})
    assert (status, clip["id"], clip["keep"]) == (200, 5, True)
    assert recorder.clips[5].is_kept
    assert change(served, "/v1/clips/5", "oscar", "DELETE")[0] == 403
    assert 5 in recorder.clips
    assert change(served, "/v1/clips/5", "ada", "DELETE")[2] == {"deleted": 5}
    assert change(served, "/v1/clips/7", "oscar", "DELETE")[0] == 200
    assert sorted(recorder.clips) == [9, 11]
    assert change(served, "/v1/clips/11", "oscar", "PATCH", {"keep": True})[2]["keep"]
    assert not change(served, "/v1/clips/11", "oscar", "PATCH", {"keep": False})[2]["keep"]
    for body in ({}, {"keep": 1}, {"keep": True, "path": "x"}, [], "keep"):
        assert change(served, "/v1/clips/11", "oscar", "PATCH", body)[0] == 422
    assert not recorder.clips[11].is_kept


def test_slow_storage_is_said_before_the_first_byte_and_cuts_after_it(served, recorder, watch):
    viewer = watch(f"rtsp://vera:pass@127.0.0.1:{served.port}/front/plain", view="camera")
    viewer.wait_numbers(1)
    recorder.read_error = lambda: errno.ETIMEDOUT
    status, headers, told = ask(served, "/v1/clips/5.mp4")
    assert (status, headers["retry-after"]) == (503, "5"), told
    reads = []
    recorder.read_error = lambda: reads.append(1) or (errno.EIO if len(reads) > 2 else 0)
    result = subprocess.run(["curl", "-q", "-sS", "--noproxy", "*", "--digest", "-u", "ada:pass",
                             f"{served.api}/v1/clips/5.mp4"], capture_output=True, timeout=daemon.PATIENCE_S,
                            check=False)
    assert result.returncode == 18  # "transfer closed with bytes remaining"
    assert result.stdout == VIDEO[:2 << 18]
    # One that is busy is asked again.
    again = iter([0, errno.EBUSY, errno.EBUSY, 0, 0, 0, 0, 0])
    recorder.read_error = lambda: next(again)
    assert ask(served, "/v1/clips/5.mp4")[2] == VIDEO
    recorder.read_error = None
    recorder.is_open = False
    for path in ("/v1/clips", "/v1/clips/5", "/v1/clips/5.mp4"):
        status, headers, told = ask(served, path)
        assert (status, headers["retry-after"]) == (503, "5"), told
        assert 'no camera records (record.mode is "off")' in told["detail"]
    assert change(served, "/v1/clips/5", "ada", "DELETE")[0] == 503
    recorder.is_open = True
    # One that answers nothing: whoever asks is told after 5 s, and a download under way is cut.
    recorder.running.clear()
    begin = time.monotonic()
    assert ask(served, "/v1/clips")[0] == 503
    assert time.monotonic() - begin > 4.5
    recorder.running.set()
    daemon.wait_for(lambda: ask(served, "/v1/clips/5.mp4")[2] == VIDEO)
    served.assert_accounted(viewer)


def edgectl(server, *arguments, status=0, **options):
    result = subprocess.run([daemon.EDGECTL, "clips", *arguments, "--config", server.config], capture_output=True,
                            timeout=daemon.PATIENCE_S, check=False, env=daemon.environment(TZ="Asia/Tokyo"), **options)
    assert result.returncode == status, result
    return result.stdout if status == 0 else result.stderr.decode()


def test_edgectl_lists_keeps_deletes_and_exports(served, recorder, tmp_path):
    recorder.clips[9].gap_ns = 3 * S
    recorder.clips[7].is_kept = True
    recorder.clips[5].is_open = True
    lines = edgectl(served).decode().splitlines()
    assert lines[0].split() == ["ID", "VIEW", "BEGIN", "SECONDS", "SIZE", "CAUSE"]
    assert [re.split(" {2,}", line) for line in lines[1:]] == [
        ["11", "front/plain", "2026-11-27 17:26:03", "12.0", "1.0\u00a0MB", "door"],
        ["9", "front/gone", "2026-11-27 17:24:03", "12.0", "1.0\u00a0MB", "door; 3.0 s are missing"],
        ["7", "front/inside", "2026-11-27 17:22:03", "12.0", "1.0\u00a0MB", "door; kept"],
        ["5", "front/plain", "2026-11-27 17:20:03", "12.0", "1.0\u00a0MB", "door; goes on"]]
    # A time as the table has it, in this machine's zone.
    later = json.loads(edgectl(served, "--from", "2026-11-27 17:24:03", "--json"))
    assert [clip["id"] for clip in later] == [11, 9]
    for number in range(20, 1300):
        recorder.add(number, camera=b"back", view=b"plain", start_wall_ns=MORNING, end_wall_ns=MORNING)
    told = json.loads(edgectl(served, "list", "--json", "--camera", "back", "--limit", "0"))
    assert [clip["id"] for clip in told] == [*range(1299, 19, -1)]
    assert len(json.loads(edgectl(served, "--json"))) == 100
    none = b'there are no clips: no camera records (record.mode is "off")\n'
    assert edgectl(served, "--from", "2030-01-01T00:00:00Z") == none
    assert edgectl(served, "--camera", "front", "--from", "2030-01-01T00:00:00Z") == none
    assert 'no camera "fron" and no clips of one; cameras: "front"' in edgectl(
        served, "--camera", "fron", status=1)
    assert json.loads(edgectl(served, "show", "7")) == ask(served, "/v1/clips/7")[2]
    edgectl(served, "keep", "5", "9")
    edgectl(served, "unkeep", "7")
    assert [recorder.clips[number].is_kept for number in (5, 7, 9)] == [1, 0, 1]
    edgectl(served, "delete", "9", "20")
    assert 9 not in recorder.clips and 20 not in recorder.clips
    assert "clip 9: there is no such clip" in edgectl(served, "delete", "9", status=1)
    assert "clip 5: it is still being written" in edgectl(served, "delete", "5", status=1)
    assert edgectl(served, "export", "5", cwd=tmp_path) == b"front-plain-2026-11-27T082003Z.mp4\n"
    file = tmp_path / "front-plain-2026-11-27T082003Z.mp4"
    assert file.read_bytes() == VIDEO
    file.write_bytes(b"mine")
    assert "is there; --force" in edgectl(served, "export", "5", cwd=tmp_path, status=1)
    assert file.read_bytes() == b"mine"
    edgectl(served, "export", "--force", "5", file)
    assert file.read_bytes() == VIDEO
    assert edgectl(served, "export", "5", "-") == VIDEO
    # What is cut short leaves no file.
    reads = []
    recorder.read_error = lambda: reads.append(1) or (errno.EIO if len(reads) > 2 else 0)
    assert "cut short" in edgectl(served, "export", "5", "cut.mp4", cwd=tmp_path, status=1)
    assert not list(tmp_path.glob("*cut*"))
    for wrong in (("show",), ("list", "5"), ("export", "5", "6", "7"), ("keeps", "5")):
        assert "clips takes" in edgectl(served, *wrong, status=2)
    assert "is no number of a clip" in edgectl(served, "show", "../status", status=1)
