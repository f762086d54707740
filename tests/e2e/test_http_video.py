"""Live video over HTTP: the pictures that RTSP's viewers see, for pages and players; who may watch, how
a reader that stalls goes on, and what ends a reply."""

import contextlib
import itertools
import json
import os
import re
import signal
import struct
import subprocess
import threading
import time
from collections import Counter

import numpy as np
import pytest

import daemon
import ffmpeg
import http_video
import pattern
import rtp
import rtsp
import rtsp_client
from daemon import PATIENCE_S, wait_for
from fake_camera import FakeCamera
from ports import free_port
from rtsp_camera import starting, watching
from test_http import write_users

SIZE = {"width": 320, "height": 240}
VIEWS = [
    {"name": "edges", "view": "edges", "keyframe_s": 1},
    {"name": "plain", "view": "camera", "keyframe_s": 1},
    {"name": "h265", "view": "camera", "codec": "h265", "keyframe_s": 1},
    {"name": "jpeg", "view": "camera", "codec": "mjpeg"},
]
# What no encoder makes small: 20 Mbit/s.
NOISE = {
    "source": "gstreamer", "fps": 30, **SIZE,
    "pipeline": "videotestsrc is-live=true pattern=snow ! video/x-raw,format=NV12,width=320,height=240,framerate=30/1",
    "views": [{"name": "noise", "view": "camera", "encoder": "x264enc", "bitrate_kbps": 20000}],
}
FAKE_CAMERA = daemon.BUILD / "tests/fakes/camera/fake_camera"


@pytest.fixture(scope="module")
def server(shared_edged):
    return shared_edged([daemon.camera(views=VIEWS, **SIZE), daemon.camera("back", **SIZE)])


@contextlib.contextmanager
def pictures_by_rtsp(url, path):
    """Hashes of the pictures that FFmpeg sees, in a list that grows."""
    rtsp.wait_served(url)
    with path.open("w") as output:
        ffmpeg = subprocess.Popen(
            ["ffmpeg", "-nostdin", "-v", "error", "-rtsp_transport", "tcp", "-i", url, "-vsync",
             "passthrough", "-flush_packets", "1", "-f", "framemd5", "-"], stdout=output)

    def seen():
        return http_video.hashes(path.read_text().rpartition("\n")[0])  # the last line may not be whole

    wait_for(lambda: len(seen()) > 5)
    yield seen
    ffmpeg.terminate()
    ffmpeg.wait(PATIENCE_S)


def assert_part_of(server, found, seen, dropped_before):
    """What one client saw is what another one saw in the same time, each picture bit for bit, but for
    what edged says that one of them lost, as on a machine that is too busy. Slates are left out: who begins may be
    shown some that are for it alone, and others come more than once."""

    def without_slates():
        pictures = seen()
        slates = {picture for shown in (found, pictures) for picture, count in Counter(shown).items() if count > 1}
        theirs = [picture for picture in pictures if picture not in slates]
        own = itertools.dropwhile(lambda picture: picture not in theirs, found)
        return [picture for picture in own if picture not in slates], theirs

    def is_accounted():
        own, theirs = without_slates()
        return own and len(set(own) - set(theirs)) <= server.dropped() - dropped_before

    wait_for(is_accounted, explain=lambda: f"{found}\n{seen()}")
    own, pictures = without_slates()
    common = [picture for picture in own if picture in pictures]
    part = pictures[pictures.index(common[0]) : pictures.index(common[-1]) + 1]
    assert [picture for picture in part if picture in own] == common
    assert len(part) + len(own) - 2 * len(common) <= server.dropped() - dropped_before


@pytest.mark.parametrize("view", ["plain", "h265"])
def test_records_are_the_pictures_of_rtsp(server, view, tmp_path):
    before = server.dropped()
    with pictures_by_rtsp(server.url(f"/front/{view}"), tmp_path / "seen") as seen:
        with http_video.Video(server, http_video.of("front", view)) as video:
            assert video.response.getheader("Content-Type") == "application/vnd.edged.records"
            configuration = video.next(http_video.CONFIGURATION)
            units = video.units(40)
        found = http_video.frame_hashes(b"".join(unit.payload for unit in units),
                                        "hevc" if view == "h265" else "h264")
        assert len(found) == 40
        assert_part_of(server, found, seen, before)
    expected = r"hvc1\.1\.6\.L\d+\.[\dA-F]+" if view == "h265" else r"avc1\.(42|4D|64)[\dA-F]{4}"
    assert re.match(expected, configuration.json["codec"])
    assert configuration.json == {"view": f"front/{view}", "codec": configuration.json["codec"], **SIZE}
    assert units[0].flags & http_video.KEY_FRAME  # of a slate, if the camera is too slow to begin
    # A slate is of the moment in which it is shown, and a late picture may follow it.
    times = [unit.time_us for unit in units if not unit.flags & http_video.SLATE]
    assert times == sorted(set(times)) and abs(times[-1] / 1e6 - time.time()) < PATIENCE_S


@pytest.mark.parametrize("view", ["plain", "h265"])
def test_mp4_plays_live(server, view, tmp_path):
    """Over TCP, FFmpeg's own HTTP."""
    port, before = free_port(), server.dropped()
    server.reload(http={"port": port})
    with pictures_by_rtsp(server.url(f"/front/{view}"), tmp_path / "seen") as seen:
        url = f"http://127.0.0.1:{port}" + http_video.of("front", view, format="mp4")
        text = subprocess.run(
            ["ffmpeg", "-nostdin", "-v", "error", "-i", url, "-frames:v", "40", "-vsync", "passthrough", "-f",
             "framemd5", "-"], check=True, capture_output=True, text=True, timeout=PATIENCE_S)
        assert not ffmpeg.complaints(text.stderr)
        assert_part_of(server, http_video.hashes(text.stdout), seen, before)


def read_fragments(video, count):
    """(time, duration) of each picture of live MP4, in seconds, once there are so many."""
    times, durations, data = [], [], b""
    while len(durations) < count:
        data += daemon.more(video.response.read1(65536))
        times = [int.from_bytes(found, "big") / 90000
                 for found in re.findall(rb"tfdt\x01\x00\x00\x00(.{8})", data, re.S)]
        durations = [int.from_bytes(found, "big") / 90000
                     for found in re.findall(rb"trun.\x00\x07\x01\x00\x00\x00\x01.{4}(.{4})", data, re.S)]
    return list(zip(times, durations))


def serve_plain(edged, fps):
    """A camera of so many frames a second, at the port server.api."""
    port = free_port()
    server = edged([daemon.camera(width=320, height=240, fps=fps, views=["camera"])], settings={"http": {"port": port}})
    server.wait_camera("front", lambda c: c["frames"] > 3 * fps)
    server.api = port
    return server


def live_mp4(server, fragments):
    """What it sends: (time, duration) of each picture, in seconds."""
    with http_video.Video(server, http_video.of("front", "camera"), port=server.api) as awake:
        awake.next(http_video.UNIT, lambda unit: not unit.flags & http_video.SLATE)
        with http_video.Video(server, http_video.of("front", "camera", format="mp4"), port=server.api) as video:
            assert video.response.getheader("X-Accel-Buffering") == "no"
            return read_fragments(video, fragments)


def uneven_clip(tmp_path):
    """A clip whose pictures are 42 and 83 ms apart, one after the other: 24 a second, without each third."""
    path = tmp_path / "uneven.mp4"
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=320x240:r=24:d=40", "-vf",
                    r"select=not(eq(mod(n\,3)\,2))", "-vsync", "vfr", "-c:v", "libx264", "-preset", "ultrafast", "-bf", "0",
                    path], check=True)
    return daemon.camera(source="file", path=path)


@pytest.mark.parametrize("kind, distances_s", [("uneven", (1 / 24, 2 / 24)), ("late", (1 / 25,))])
def test_live_mp4_of_an_uneven_camera_is_one_buffered_range(edged, tmp_path, kind, distances_s):
    """It has a picture for each frame, at the time that the clip says or the clock of a camera in the network, some of
    whose pictures come late; and each begins before the one in front of it is over."""
    with contextlib.ExitStack() as stack:
        camera = uneven_clip(tmp_path) if kind == "uneven" else watching(
            stack.enter_context(starting(FakeCamera))(kind).url, transport="tcp")
        server = edged([{**camera, "views": [{"name": "plain", "view": "camera", "keyframe_s": 0.2}]}])
        server.wait_camera("front", lambda c: c["frames"] > 75)
        records = stack.enter_context(http_video.Video(server, http_video.of("front", "plain")))
        records.next(http_video.UNIT, lambda unit: not unit.flags & http_video.SLATE)

        def shown():
            """Asked for again where a slate came, for a busy camera process: what was captured before it follows at once."""
            dropped = server.dropped()
            with http_video.Video(server, http_video.of("front", "plain", format="mp4")) as video:
                found = read_fragments(video, 40)
            return all(b - a > 0.001 for (a, _), (b, _) in zip(found[1:], found[2:])) and (dropped, found)

        for _ in range(4):
            before, pictures = wait_for(shown)
            apart = [b - a for (a, _), (b, _) in zip(pictures, pictures[1:])]
            late = [distance for distance, (_, duration) in zip(apart, pictures) if distance > duration]
            missing = round((pictures[-1][0] - pictures[0][0]) / np.mean(distances_s)) - len(apart)
            # The second picture may be shown a little early: its distances are none of the camera's.
            others = [s for s in apart[2:] if min(abs(s - distance) for distance in distances_s) > 0.002]
            # What a busy machine drops is told once a second.
            wait_for(lambda: max(abs(missing) - 1, len(others), len(late)) <= server.dropped() - before,
                     explain=lambda: str(pictures))


@pytest.mark.parametrize("fps", [1, 10])
def test_a_picture_of_live_mp4_lasts_until_the_next_one_or_longer(edged, fps):
    """A browser drops all up to a key frame after a distance of more than twice a duration: the first, which says the
    rate, may be as long as the distance."""
    server = serve_plain(edged, fps)

    def of_the_whole_rate():
        """Unless the second before held fewer frames, as on a busy machine."""
        before, pictures = server.dropped(), live_mp4(server, 4 if fps == 1 else 30)
        return pictures[0][1] == pytest.approx(1 / fps, rel=0.15) and (before, pictures)

    before, pictures = wait_for(of_the_whole_rate)
    assert all(duration >= 0.5 for _, duration in pictures[1:])
    late = [time for (time, duration), (following, _) in zip(pictures[1:], pictures[2:]) if following - time > duration + 0.2]
    wait_for(lambda: len(late) <= server.dropped() - before, explain=lambda: str(pictures))


def test_live_mp4_of_a_rare_picture_sends_something_each_second(edged):
    """So that a page notices a lost connection: an empty box, which players pass over."""
    port = free_port()
    edged([daemon.camera(width=320, height=240, fps=1, views=["camera"])], settings={"http": {"port": port}})
    with http_video.Video(None, http_video.of("front", "camera", format="mp4"), port=port) as video:
        kinds = []
        while kinds.count(b"moof") < 4 or b"free" not in kinds:
            size, kind = struct.unpack(">I4s", video.bytes(8))
            kinds.append(kind)
            video.bytes(size - 8)
            assert kind in (b"ftyp", b"moov", b"prft", b"moof", b"mdat") or (kind, size) == (b"free", 8)


def test_ffmpeg_reads_the_rate_of_live_mp4(edged):
    server = serve_plain(edged, 10)
    live_mp4(server, 1)
    url = f"http://127.0.0.1:{server.api}" + http_video.of("front", "camera", format="mp4")

    def rate():
        told = subprocess.run(["ffprobe", "-v", "error", "-show_entries", "stream=avg_frame_rate", "-of", "csv=p=0", url],
                              capture_output=True, text=True, check=True, timeout=PATIENCE_S).stdout
        numerator, denominator = map(int, told.strip().split("/"))
        return numerator / denominator

    wait_for(lambda: rate() == pytest.approx(10, rel=0.02))  # once a second held ten frames


@pytest.mark.parametrize("view", ["plain", "h265"])
def test_mp4_names_its_codec_as_records_do(server, view):
    """So that a page can ask whether it can play it, and make a source buffer of it."""
    with http_video.Video(server, http_video.of("front", view)) as records, \
            http_video.Video(server, http_video.of("front", view, format="mp4")) as mp4:
        codec = records.next(http_video.CONFIGURATION).json["codec"]
        assert mp4.response.getheader("Content-Type") == f'video/mp4; codecs="{codec}"'


def test_one_reply_has_views_of_several_cameras_and_their_status(server):
    with http_video.Video(server, "/v1/video?view=front/edges&view=back/edges") as video:
        status = video.next(http_video.STATUS)
        configurations = [video.next(http_video.CONFIGURATION) for _ in range(2)]
        assert {c.view: c.json["view"] for c in configurations} == {0: "front/edges", 1: "back/edges"}
        for view in (0, 1):
            assert all(unit.payload.startswith(b"\0\0") for unit in video.units(10, view))
        later = video.next(http_video.STATUS)
    assert status.view == http_video.ALL_VIEWS
    assert [camera["name"] for camera in later.json["cameras"]] == ["front", "back"]
    assert [mount["path"] for mount in later.json["mounts"]] == ["/front/edges", "/back/edges"]
    assert later.json["mounts"][0].keys() == server.mount().keys()


def test_an_event_comes_with_the_video(edged):
    """Of the fake camera, which begins and ends motion in its region "door" on SIGUSR1."""
    server = edged([daemon.camera(regions=[{"name": "door"}, {"name": "yard"}])],
                   EDGED_CAMERA_PROGRAM=FAKE_CAMERA, FAKE_CAMERA="motion")
    camera = server.wait_camera("front", lambda c: c["state"] == "live" and len(c["regions"]) == 2)
    with http_video.Video(server, http_video.of("front", "edges")) as video:
        video.units(1)
        os.kill(camera["process"]["pid"], signal.SIGUSR1)
        event = video.next(http_video.EVENT)
        assert (event.json["event"], event.json["region"]) == ("motion_started", "door")
        status = video.next(http_video.STATUS, lambda record: daemon.is_moving(record.json["cameras"][0]))
        assert status.json["cameras"][0]["regions"][0]["name"] == "door"
        with http_video.Video(server, http_video.of("front", "edges")) as later:  # hears of it as well
            assert later.next(http_video.EVENT).json == event.json


def test_a_viewer_of_jpegs_is_counted_and_one_picture_is_not(server):
    path = "/front/jpeg"

    def ask(kind):
        """Again where a busy machine has no picture in time."""
        return wait_for(lambda: (asked := http_video.Video(server, f"/{kind}?camera=front&view=jpeg")).status == 200 and asked)

    with ask("stream.mjpg") as video:
        video.bytes(1000)
        assert server.mount(path)["http_viewers"] == 1
        with ask("snapshot.jpg") as picture:
            assert picture.response.read()[:2] == b"\xff\xd8"
            assert server.mount(path)["viewers"] == 1
    server.wait_mount(path, lambda mount: mount["viewers"] == 0)


def list_watched(server):
    """The list of views, once it has a rate of the one that is watched."""
    views = {view["path"]: view for view in json.loads(server.http_get("/v1/views"))}
    return views if views["/front/plain"]["fps"] > 0 else None


def test_the_list_of_views_says_what_each_stream_is(server):
    with http_video.Video(server, "/v1/video?view=front/plain&view=front/h265") as video:
        video.units(60, view=0)
        views = daemon.wait_for(lambda: list_watched(server), daemon.PATIENCE_S, server.stderr)
        assert {path: view["codec"] for path, view in views.items()} == {
            "/front/edges": "h264", "/front/plain": "h264", "/front/h265": "h265",
            "/front/jpeg": "mjpeg", "/back/edges": "h264"}
        for path in ("/front/plain", "/front/h265", "/front/edges"):  # of the slate where nobody watches
            assert (views[path]["width"], views[path]["height"]) == (SIZE["width"], SIZE["height"])
        server.wait_mount("/back/edges", lambda mount: mount["fps"] == 0)


def test_a_viewer_is_counted_and_a_view_without_viewers_is_not_encoded(server):
    path = "/front/plain"
    wait_for(lambda: server.status()["viewers"] == 0)  # those of the tests before have left
    with http_video.Video(server, http_video.of("front", "plain")) as video:
        video.units(1)
        mount = server.mount(path)
        assert (mount["viewers"], mount["http_viewers"]) == (1, 1)
        assert server.status()["viewers"] == 1
        assert 'edged_mount_http_viewers{camera="front",view="plain"} 1' in server.http_get("/metrics")
    server.wait_mount(path, lambda mount: mount["viewers"] == 0)
    server.wait_still("encoded", path)


def read_packets(connection, session, over, sequence):
    """Sequence numbers of the RTP packets that come."""
    while not over.is_set():
        is_rtcp, data = session.read()
        if not is_rtcp:
            sequence.append(rtp.parse_packet(data).sequence)


def read_units(video, over, units):
    """The bytes of the access units that come."""
    while not over.is_set():
        units.append(video.units(1)[0].payload)


def test_ten_pages_and_ten_rtsp_viewers_cost_one_capture_and_one_encoder(edged):
    """A page reads one reply of records. All of them see every frame, and none is encoded twice."""
    port = free_port()
    server = edged([daemon.camera(**SIZE)], settings={"http": {"port": port}})
    url, over = server.url("/front/edges"), threading.Event()
    rtsp.wait_served(url)
    with contextlib.ExitStack() as stack:
        pages, sequences, threads = [[] for _ in range(10)], [[] for _ in range(10)], []
        for units in pages:
            video = stack.enter_context(http_video.Video(server, "/v1/video?view=front/edges", port=port))
            threads.append(threading.Thread(target=read_units, args=(video, over, units)))
        for sequence in sequences:
            connection = stack.enter_context(rtsp_client.Connection(url))
            session = rtsp_client.set_up(connection, url)
            session.play()
            threads.append(threading.Thread(target=read_packets, args=(connection, session, over, sequence)))
        stack.callback(lambda: [thread.join(PATIENCE_S) for thread in threads])
        stack.callback(over.set)
        for thread in threads:
            thread.start()
        before, mount = server.camera()["frames"], server.wait_mount("/front/edges", lambda mount: mount["viewers"] == 20)
        wait_for(lambda: min(map(len, pages)) > 60 and min(map(len, sequences)) > 60
                 and server.mount("/front/edges")["encoded"] > mount["encoded"] + 30)
        encoded, told = server.mount("/front/edges")["encoded"] - mount["encoded"], server.camera()["frames"]
        frames = server.wait_camera("front", lambda c: c["frames"] > told)["frames"] - before  # told once a second
        assert mount["http_viewers"] == 10 and encoded <= frames + 1
        assert len(daemon.process_children(server.process.pid)) == 1
    common = [unit for unit in pages[0] if all(unit in units for units in pages)]
    assert len(common) > 30
    for units in pages:
        assert units[units.index(common[0]) : units.index(common[-1]) + 1] == common
    for sequence in sequences:
        assert all(rtp.is_next(after, before) for before, after in zip(sequence, sequence[1:]))


def test_head_answers_without_a_viewer_left_behind(server):
    url = "http://edged" + http_video.of("front", "plain")
    head = subprocess.run(["curl", "-sSI", "--unix-socket", server.socket, url], check=True, capture_output=True,
                          text=True, timeout=PATIENCE_S).stdout
    assert head.startswith("HTTP/1.1 200")
    server.wait_mount("/front/plain", lambda mount: mount["viewers"] == 0)


@pytest.mark.parametrize("path, status, said", [
    (http_video.of("front", "none"), 404, 'view: there is no "none", allowed: "edges", "plain", "h265", "jpeg"'),
    (http_video.of("front", "jpeg"), 406, "this view is JPEGs: use /stream.mjpg"),
    (http_video.of("none", "edges"), 404, 'camera: there is no "none", allowed: "front", "back"'),
    (http_video.of("front", "edges", format="webm"), 400, 'format: got "webm", allowed: records and mp4'),
    ("/v1/video", 400, 'view: got "0 of them", allowed: 1 to 16, each as view=front/edges'),
    ("/v1/video?view=edges", 400, 'view: got "edges", allowed: a camera and its view, as front/edges'),
    ("/v1/video?" + "&".join(17 * ["view=front/edges"]), 400,
     'view: got "17 of them", allowed: 1 to 16, each as view=front/edges'),
    ("/v1/video?format=mp4&view=front/edges&view=back/edges", 400,
     'view: got "2 of them", allowed: one, as view=front/edges'),
])  # fmt: skip
def test_what_is_not_there_is_said(server, path, status, said):
    code, answer = http_video.problem(server, path)
    assert (code, answer["detail"]) == (status, said)


def test_a_reader_stays_while_the_camera_process_is_replaced(edged):
    """And sees NO SIGNAL meanwhile; all of it is one stream that FFmpeg decodes without a word."""
    server = edged([daemon.camera(**SIZE)])
    with http_video.Video(server, http_video.of("front", "edges")) as video:
        units = video.units(10)
        os.kill(server.camera()["process"]["pid"], signal.SIGKILL)
        while not units[-1].flags & http_video.SLATE:
            units += video.units(1)
        assert units[-1].flags & http_video.KEY_FRAME
        while units[-1].flags & http_video.SLATE:
            units += video.units(1)
        assert units[-1].flags & http_video.KEY_FRAME
        units += video.units(10)
    data = b"".join(unit.payload for unit in units)
    assert len(http_video.frame_hashes(data, "h264")) == len(units)


def read_until_gap(video):
    """Units up to the first one that follows a gap, with those of its second."""
    units = video.units(1)
    while units[-1].time_us - units[-2 if len(units) > 1 else -1].time_us < 10**6:
        units += video.units(1)
    return units


def test_a_reader_that_stalled_goes_on_with_a_key_frame_and_disturbs_nobody(edged):
    """Who reads nothing for 6 s has lost what the ring does not keep, is sent what is new, and has cost no memory: what
    came meanwhile is 15 MB."""
    port = free_port()
    server = edged([daemon.camera(**NOISE)], settings={"http": {"port": port}},
                   ASAN_OPTIONS=f"{os.environ.get('ASAN_OPTIONS', '')}:quarantine_size_mb=1")
    rtsp.wait_served(server.url("/front/noise"))
    path = http_video.of("front", "noise")
    with http_video.Video(server, path) as healthy:
        healthy.units(90)  # the ring is full
        before_kib = daemon.process_memory_kib(server.process.pid)
        with http_video.Video(server, path, port=port, receive_buffer_bytes=4096) as stalled:
            stalled.units(1)
            seen = healthy.units(1)
            encoded = server.mount("/front/noise")["encoded"]
            while seen[-1].time_us < seen[0].time_us + 6 * 10**6:
                seen += healthy.units(1)
            grown_kib = daemon.process_memory_kib(server.process.pid) - before_kib
            came, now_us = server.mount("/front/noise")["encoded"] - encoded, time.time() * 1e6
            while seen[-1].time_us < now_us:
                seen += healthy.units(1)
            units = read_until_gap(stalled)
    assert grown_kib < 8192
    assert units[-1].flags == http_video.KEY_FRAME
    assert server.mount("/front/noise")["dropped"] >= 30, "the stalled reader has lost nothing"
    # Behind a slate, which a busy camera process costs, pictures are left out up to a key frame.
    slates = sum(bool(unit.flags & http_video.SLATE) for unit in seen)
    assert came - (len(seen) - slates) <= pattern.FPS * (1 + slates), "the healthy reader has lost pictures"


def test_a_reader_that_reads_nothing_is_hung_up_on(edged):
    port = free_port()
    server = edged([daemon.camera(**NOISE)], settings={"http": {"port": port}})
    rtsp.wait_served(server.url("/front/noise"))
    with http_video.Video(server, http_video.of("front", "noise"), port=port, receive_buffer_bytes=4096):
        server.wait_mount("/front/noise", lambda mount: mount["http_viewers"] == 1)
        server.wait_mount("/front/noise", lambda mount: mount["http_viewers"] == 0)


def read_to_end(video):
    """Until the reply has ended as it should."""
    while video.response.read(65536):
        pass
    return True


def test_a_view_that_is_removed_ends_its_reply_and_no_other(edged):
    server = edged([daemon.camera(views=VIEWS[:2], **SIZE)])
    with http_video.Video(server, http_video.of("front", "plain")) as removed, \
            http_video.Video(server, http_video.of("front", "edges")) as kept:
        for video in (removed, kept):
            video.units(1)
        server.reload([daemon.camera(views=VIEWS[:1], **SIZE)])
        assert read_to_end(removed)
        kept.units(2 * pattern.FPS)


def test_edged_stops_at_once_though_somebody_watches(edged):
    server = edged([daemon.camera(**SIZE)])
    with http_video.Video(server, http_video.of("front", "edges")) as video:
        video.units(1)
        server.stop()
        assert read_to_end(video)
    assert "goes on, ending without it" not in server.stderr()


def curl(port, user, view, output):
    return subprocess.Popen(
        ["curl", "-q", "-sSk", "-u", f"{user}:pass", "-o", output, "-w", "%{http_code}",
         f"https://127.0.0.1:{port}" + http_video.of("front", view)], stdout=subprocess.PIPE, text=True)


def test_a_view_is_for_its_role_alone_also_after_a_reload(edged, tmp_path):
    users, port = tmp_path / "users", free_port()
    write_users(users, vera="viewer", otto="operator")
    views = [{"name": "edges", "view": "edges"}, {"name": "safe", "view": "edges", "allow": ["operator"]}]
    settings = {"http": {"port": port, "tls": True}, "rtsp": {"users": str(users)}}
    server = edged([daemon.camera(views=views, **SIZE)], settings=settings, STATE_DIRECTORY=tmp_path)
    refused = curl(port, "vera", "safe", tmp_path / "refused")
    assert refused.communicate(timeout=PATIENCE_S)[0] == "403"
    assert "may not watch this view" in (tmp_path / "refused").read_text()
    vera, otto = curl(port, "vera", "edges", tmp_path / "vera"), curl(port, "otto", "safe", tmp_path / "otto")
    for name, mount in (("vera", "edges"), ("otto", "safe")):
        wait_for(lambda: (tmp_path / name).exists() and (tmp_path / name).stat().st_size > 10000)
        assert server.mount(f"/front/{mount}")["http_viewers"] == 1
    views[0]["allow"] = ["operator"]
    server.reload([daemon.camera(views=views, **SIZE)])
    assert vera.communicate(timeout=PATIENCE_S)[0] == "200"
    assert otto.poll() is None
    write_users(users, vera="viewer")
    server.hang_up()
    otto.communicate(timeout=PATIENCE_S)
