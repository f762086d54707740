"""JPEGs of views over HTTP, as curl, a browser's img element, OpenCV, ffmpeg and the cameras of home
automation ask for them."""

import concurrent.futures
import contextlib
import json
import os
import re
import signal
import struct
import subprocess
import time

import cv2
import numpy as np
import pytest

import daemon
import pattern
from ports import free_port
from test_http import write_users

WIDTH, HEIGHT = 640, 360
VIEWS = ["edges", "gray", {"name": "plain", "view": "camera"},
         {"name": "moves", "view": "motion", "erode": 0}]


@pytest.fixture
def snapped(edged):
    """An edged with every kind of picture, its API at .api."""

    def start(**settings):
        settings.setdefault("views", VIEWS)
        port = free_port()
        server = edged([daemon.camera(width=WIDTH, height=HEIGHT, **settings)],
                       settings={"http": {"port": port}})
        server.api = f"http://127.0.0.1:{port}"
        server.wait_camera("front", lambda c: c["state"] == "live")
        return server

    return start


def curl(url, *options):
    """Status, headers by their names in small letters, body."""
    result = subprocess.run(
        ["curl", "-q", "-sS", "-i", "--noproxy", "*", "--max-time", str(daemon.PATIENCE_S), *options,
         url], capture_output=True, check=True)
    head, body = result.stdout.split(b"\r\n\r\n", 1)
    while body.startswith(b"HTTP/1.1 "):  # the reply to a login
        head, body = body.split(b"\r\n\r\n", 1)
    lines = head.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines[1:])
    return int(lines[0].split()[1]), headers, body


def decode(body):
    """Blue, green and red, or a failure of the test."""
    picture = cv2.imdecode(np.frombuffer(body, np.uint8), cv2.IMREAD_COLOR)
    assert picture is not None, body[:200]
    return picture


def snapshot(server, query):
    """A picture, asked for until there is one: a busy machine takes longer than a client waits."""

    def look():
        status, headers, body = curl(f"{server.api}/snapshot.jpg{query}")
        assert status in (200, 503), body
        return status == 200 and (headers, body)

    headers, body = daemon.wait_for(look)
    assert headers["content-type"] == "image/jpeg"
    return decode(body), headers


def full_range(luma):
    """The luma of a limited picture as a JPEG has it."""
    return np.clip(np.rint((luma.astype(float) - 16) * 255 / 219), 0, 255)


def test_a_snapshot_shows_the_view_that_it_is_of(snapped):
    """Of views that nobody watches; the first one by default. OpenCV takes the JPEG's colours for
    BT.601 of full range, as everybody does."""
    server = snapped()
    for view in ("edges", "gray"):
        picture, headers = snapshot(server, f"?view={view}" if view != "edges" else "")
        assert (picture[..., 0] == picture[..., 2]).all()
        limited = np.rint(16 + picture[..., 0].astype(float) * 219 / 255).astype(np.uint8)
        number = pattern.read_number(limited, view)
        expected = full_range(pattern.expected_luma(view, number, WIDTH, HEIGHT))
        psnr = pattern.psnr_db(picture[..., 0], expected)
        print(f"{view}: frame {number}, {psnr:.1f} dB")
        assert psnr >= 30
        assert headers["content-disposition"] == f'inline; filename="front-{view}.jpg"'
        assert abs(time.time() - float(headers["x-timestamp"])) < daemon.PATIENCE_S
    picture, _ = snapshot(server, "?camera=front&view=plain")
    luma, chroma = pattern.frame(number, WIDTH, HEIGHT)[:2]
    assert picture.shape == (HEIGHT, WIDTH, 3) and luma.shape == (HEIGHT, WIDTH)
    moves, _ = snapshot(server, "?view=moves")
    assert (moves[..., 2].astype(int) - moves[..., 1] > 100).any(), "nothing moves in it"
    assert {m["path"]: m["encoded"] for m in server.status()["mounts"]} == {
        f"/front/{view}": 0 for view in ("edges", "gray", "plain", "moves")}


def test_snapshots_are_what_edgectl_process_makes(snapped, tmp_path):
    """Of one picture, but for what quantization and half the chroma take."""
    still = tmp_path / "still.png"
    noise = np.random.default_rng(7).integers(0, 256, (12, 20, 3), np.uint8)
    cv2.imwrite(str(still), cv2.resize(noise, (WIDTH, HEIGHT), interpolation=cv2.INTER_CUBIC))
    views = [{"name": view, "view": view, "jpeg_quality": 95}
             for view in ("camera", "gray", "edges", "canny", "overlay", "direction")]
    server = snapped(
        source="gstreamer", views=views,
        pipeline=f"multifilesrc location={still} loop=true caps=image/png,framerate=10/1 ! pngdec ! videoconvert ! "
        "video/x-raw,format=BGRx")
    for view in (view["name"] for view in views):
        made = tmp_path / f"{view}.png"
        subprocess.run([daemon.EDGECTL, "process", "--view", view, still, made], check=True,
                       env=daemon.environment(), timeout=daemon.PATIENCE_S)
        picture, _ = snapshot(server, f"?view={view}")
        expected = cv2.imread(str(made), cv2.IMREAD_COLOR)
        assert picture.shape == expected.shape
        psnr = pattern.psnr_db(picture, expected)
        print(f"{view}: {psnr:.1f} dB")
        assert psnr >= 34


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_telephones_picture_is_shown_as_it_was_taken(snapped, tmp_path, orientation):
    """A quarter of another gray in each corner tells all eight orientations apart; OpenCV turns as EXIF
    (TIFF 6.0, tag 274) says."""
    stored = np.repeat(np.repeat(np.array([[30, 90], [150, 220]], np.uint8), 60, 0), 100, 1)
    data = cv2.imencode(".jpg", stored)[1].tobytes()
    tiff = b"II" + struct.pack("<HIH", 42, 8, 1) + struct.pack("<HHIHH", 274, 3, 1, orientation, 0) + bytes(4)
    body = b"Exif\0\0" + tiff
    path = tmp_path / "picture.jpg"
    path.write_bytes(data[:2] + b"\xff\xe1" + struct.pack(">H", len(body) + 2) + body + data[2:])
    expected = cv2.imread(str(path))
    shown, _ = snapshot(snapped(source="file", path=str(path), views=[{"name": "plain", "view": "camera"}]),
                        "?view=plain")
    assert shown.shape == expected.shape
    assert np.abs(shown.astype(int) - expected).mean() < 3


def assert_resembles(small, whole, size):
    """It is the whole picture at that size, by OpenCV."""
    expected = cv2.resize(whole, size, interpolation=cv2.INTER_AREA)
    assert small.shape == expected.shape
    psnr = pattern.psnr_db(*(cv2.cvtColor(p, cv2.COLOR_BGR2GRAY) for p in (small, expected)))
    print(f"{size}: {psnr:.1f} dB")
    assert psnr >= 30


def still_camera(snapped, tmp_path, width, height):
    """A camera whose picture stays the same, and is decoded once: a busy machine could not bring one of now."""
    still = tmp_path / "still.png"
    noise = np.random.default_rng(5).integers(0, 256, (9, 16, 3), np.uint8)
    cv2.imwrite(str(still), cv2.resize(noise, (width, height), interpolation=cv2.INTER_CUBIC))
    return snapped(
        source="gstreamer", views=[{"name": "plain", "view": "camera"}],
        pipeline=f"filesrc location={still} ! pngdec ! videoconvert ! imagefreeze is-live=true ! "
        "video/x-raw,format=NV12,framerate=10/1")


def test_smaller_snapshots_are_means_of_the_whole_one(snapped, tmp_path):
    server = still_camera(snapped, tmp_path, WIDTH, HEIGHT)
    whole, _ = snapshot(server, "?scale=1")
    for word, divisor in (("1/2", 2), ("1/4", 4), ("1%2F8", 8)):
        small, _ = snapshot(server, f"?scale={word}")
        assert_resembles(small, whole, (WIDTH // divisor, HEIGHT // divisor))


@pytest.mark.parametrize("size, smaller", [
    ((1920, 1080), ((160, 90), (320, 180), (640, 360))), ((720, 406), ((160, 90), (320, 180), (640, 360))),
    ((322, 100), ((160, 50), (320, 100), (322, 100))), ((128, 96), ((128, 96), (128, 96), (128, 96)))])
def test_a_snapshot_has_the_width_that_is_asked_for_but_is_never_larger_than_the_view(snapped, tmp_path, size, smaller):
    server = still_camera(snapped, tmp_path, *size)
    whole, _ = snapshot(server, "")
    assert whole.shape[1::-1] == size
    for width, expected in zip((160, 320, 640), smaller):
        small, _ = snapshot(server, f"?width={width}")
        assert_resembles(small, whole, expected)


def test_a_snapshot_is_not_sent_twice_to_a_client_that_has_it(edged):
    """Of a slow camera; a client asks more often than it brings pictures."""
    port = free_port()
    server = edged([daemon.camera(width=WIDTH, height=HEIGHT, fps=1)], settings={"http": {"port": port}})
    url = f"http://127.0.0.1:{port}/snapshot.jpg"
    server.wait_camera("front", lambda c: c["state"] == "live")

    def asked_again():
        status, first, _ = curl(url)
        if status == 503:
            return False  # the machine was too busy for one in time
        status, headers, rest = curl(url, "-H", f"If-None-Match: {first['etag']}")
        assert (status, bool(rest)) == ((304, False) if headers["etag"] == first["etag"] else (200, True))
        return status == 304

    daemon.wait_for(asked_again)
    status, headers, body = curl(url, "-I")
    assert (status, headers["content-type"], body) == (200, "image/jpeg", b"")
    assert int(headers["content-length"]) > 1000


def test_what_cannot_be_had_is_said(snapped):
    server = snapped()
    for query, status, key, sentence, allowed in (
        ("?scale=1/3", 400, "scale", 'got "1/3"', "1, 1/2, 1/4 and 1/8"),
        ("?width=321", 400, "width", 'got "321"', "160, 320 and 640, and no `scale`"),
        ("?width=320&scale=1/2", 400, "width", 'got "320"', "160, 320 and 640, and no `scale`"),
        ("?view=edgs", 404, "view", 'there is no "edgs"', '"edges", "gray", "plain", "moves"'),
        ("?camera=back", 404, "camera", 'there is no "back"', '"front"'),
    ):
        got, headers, body = curl(f"{server.api}/snapshot.jpg{query}")
        assert (got, headers["content-type"]) == (status, "application/problem+json")
        told = json.loads(body)
        assert (told["key"], told["allowed"], told["status"]) == (key, allowed, status)
        assert told["detail"] == f"{key}: {sentence}, allowed: {allowed}"
    assert curl(f"{server.api}/stream.mjpg?fps=0")[0] == 400


def test_the_slate_is_no_snapshot(edged):
    port = free_port()
    server = edged([daemon.camera(source="v4l2", device="/dev/null")], settings={"http": {"port": port}})
    server.wait_camera("front", lambda c: c["state"] == "no signal")
    for path in ("snapshot.jpg", "stream.mjpg"):
        status, headers, body = curl(f"http://127.0.0.1:{port}/{path}")
        assert (status, headers["retry-after"]) == (503, "1"), body
        assert b"no picture of /front/edges" in body


@pytest.mark.parametrize("query", ["", "?width=160"])
def test_twenty_who_ask_get_the_same_jpegs(snapped, query):
    """No frame is made into more than one JPEG of a size."""
    server = snapped(fps=10)
    before = server.camera()["frames"]

    def read_pictures():
        connection = daemon.UnixConnection(server.socket)

        def connect():
            with contextlib.suppress(BlockingIOError):  # too many wait to be accepted
                connection.connect()
                return True

        daemon.wait_for(connect)
        connection.request("GET", f"/stream.mjpg{query}")
        response = connection.getresponse()
        assert response.status == 200
        text = b""
        while text.count(b"X-Timestamp") < 10:
            text += daemon.more(response.read(4096))
        connection.close()
        return 10

    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        got = sum(pool.map(lambda _: read_pictures(), range(20)))
    mount, told = server.mount(), server.camera()["frames"]
    frames = server.wait_camera("front", lambda c: c["frames"] > told)["frames"] - before
    print(f"{got} pictures from {mount['snapshots']} JPEGs of {frames} frames")
    assert 10 <= mount["snapshots"] <= frames
    assert mount["encoded"] == 0
    metrics = server.http_get("/metrics")
    assert re.search(r'^edged_snapshots_total\{camera="front",view="edges"\} \d\d', metrics, re.M)


def test_opencv_and_ffmpeg_play_the_stream(snapped):
    server = snapped()
    player = cv2.VideoCapture(f"{server.api}/stream.mjpg?view=gray&scale=1/2")
    numbers = []
    while len(numbers) < 5:
        there, picture = player.read()
        assert there and picture.shape == (HEIGHT // 2, WIDTH // 2, 3)
        numbers.append(picture.tobytes())
    player.release()
    assert len(set(numbers)) == 5, "the same picture came again"
    frames = subprocess.run(
        ["ffmpeg", "-nostdin", "-loglevel", "error", "-f", "mpjpeg", "-i",
         f"{server.api}/stream.mjpg?view=gray&width=320&fps=2", "-frames:v", "3", "-f", "rawvideo", "-pix_fmt", "gray",
         "-"], capture_output=True, check=True, timeout=daemon.PATIENCE_S).stdout
    assert len(frames) == 3 * 320 * 180
    frames = subprocess.run(
        ["ffmpeg", "-nostdin", "-loglevel", "error", "-f", "mpjpeg", "-i",
         f"{server.api}/stream.mjpg?fps=20", "-frames:v", "5", "-f", "rawvideo", "-pix_fmt", "gray",
         "-"], capture_output=True, check=True, timeout=daemon.PATIENCE_S).stdout
    assert len(frames) == 5 * WIDTH * HEIGHT


def test_streams_of_several_sizes_lose_no_picture_to_each_other(edged):
    """One that is lost on the link would be asked for again after a second."""
    views = [{"name": "plain", "view": "camera", "jpeg_quality": 95}, "edges"]
    server = edged([daemon.camera(width=1920, height=1080, views=views)])
    server.wait_camera("front", lambda c: c["state"] == "live")
    ends = time.monotonic() + 6

    def read(query):
        """When its pictures came."""
        connection, text, came = daemon.UnixConnection(server.socket), b"", []
        connection.request("GET", f"/stream.mjpg?{query}")
        response = connection.getresponse()
        while time.monotonic() < ends:
            text = text[-10:] + response.read1(65536)
            came += [time.monotonic()] * text.count(b"X-Timestamp")
        connection.close()
        return came

    queries = [f"view={view}{size}" for view in ("plain", "edges") for size in ("", "&width=320", "&width=640")]
    with concurrent.futures.ThreadPoolExecutor(len(queries)) as pool:
        streams = list(pool.map(read, queries))
    print({query: len(came) for query, came in zip(queries, streams)})
    for query, came in zip(queries, streams):
        for begin, end in zip(came, came[1:]):
            others = max(sum(begin < at < end for at in other) for other in streams)
            assert end - begin < 0.9 or others < 8, f"{query} stood still for {end - begin:.2f} s, others had {others}"


def test_between_the_pictures_of_a_slow_stream_nothing_is_computed(snapped):
    """Of 30 pictures of the camera a second two are."""
    server = snapped(views=["edges"])

    def counted():
        return [stage["runs"] for stage in server.camera()["stages"] if stage["name"] == "gradient"]

    connection = daemon.UnixConnection(server.socket)
    connection.request("GET", "/stream.mjpg?fps=2&width=160")
    response, text = connection.getresponse(), b""
    while text.count(b"X-Timestamp") < 3:
        text += daemon.more(response.read1(65536))
    runs, = daemon.wait_for(counted)
    frames, made = server.camera()["frames"], server.mount()["snapshots"]
    while text.count(b"X-Timestamp") < 13:
        text += daemon.more(response.read1(65536))
    frames = server.camera()["frames"] - frames
    made = server.mount()["snapshots"] - made
    runs = counted()[0] - runs
    connection.close()
    print(f"{made} JPEGs and {runs} pictures of {frames} frames")
    assert runs <= made + 4 and frames > 3 * made  # a status is up to a second old


def test_a_slow_reader_gets_the_newest_pictures(snapped):
    """Whoever reads nothing for a while goes on with a picture of now."""
    server = snapped()
    connection = daemon.UnixConnection(server.socket)
    connection.request("GET", "/stream.mjpg")
    response = connection.getresponse()
    text = response.read(1000)
    stalled = time.time()
    made = server.mount()["snapshots"]
    server.wait_still("snapshots")
    assert server.mount()["snapshots"] - made < 20, "nobody took these"
    resumed = time.time()
    while not (stamps := [float(t) for t in re.findall(rb"X-Timestamp: ([\d.]+)", text)
                          if float(t) > resumed]):
        text += daemon.more(response.read(65536))
    behind = [float(t) for t in re.findall(rb"X-Timestamp: ([\d.]+)", text) if float(t) <= resumed]
    print(f"{len(behind)} pictures from before, then one of {stamps[0] - stalled:.1f} s later")
    connection.close()


def edgectl_snapshot(server, *arguments):
    return subprocess.run([daemon.EDGECTL, "snapshot", "--socket", server.socket, *arguments],
                          capture_output=True, env=daemon.environment(), check=False,
                          timeout=daemon.PATIENCE_S)


def test_edgectl_writes_a_snapshot_whole_or_not_at_all(snapped, tmp_path):
    server = snapped()
    path = tmp_path / "front.jpg"
    path.write_text("before")
    path.chmod(0o444)

    def taken(*arguments):
        return daemon.wait_for(
            lambda: (told := edgectl_snapshot(server, *arguments)).returncode == 0 and told)

    taken(path)
    assert decode(path.read_bytes()).shape == (HEIGHT, WIDTH, 3)
    told = taken("front/plain", "--scale", "1/4", "-")
    assert decode(told.stdout).shape == (HEIGHT // 4, WIDTH // 4, 3)
    whole = path.read_bytes()
    for arguments, words in (
        (["edges", "--scale", "3", path], 'scale: got "3", allowed: 1, 1/2, 1/4 and 1/8'),
        (["front/none", path], 'view: there is no "none", allowed: "edges", "gray"'),
        (["gray", tmp_path / "nowhere/a.jpg"], "nowhere/a.jpg: cannot write there"),
    ):
        # A busy machine may have no picture of a view in time.
        told = daemon.wait_for(lambda: b"there is no picture" not in (told := edgectl_snapshot(server, *arguments)).stderr and told)
        assert told.returncode == 1 and words in told.stderr.decode(), told.stderr
    assert path.read_bytes() == whole and list(tmp_path.glob(".front*")) == []
    assert edgectl_snapshot(server).returncode == 2
    assert edgectl_snapshot(server, "a", "b", "c").returncode == 2


def test_a_stream_ends_with_its_view(snapped):
    server = snapped()
    watcher = subprocess.Popen(["curl", "-sSN", f"{server.api}/stream.mjpg?view=gray"],
                               stdout=subprocess.DEVNULL)
    server.wait_mount("/front/gray", lambda m: m["snapshots"] > 5)
    server.reload([daemon.camera(width=WIDTH, height=HEIGHT, views=["edges"])])
    assert watcher.wait(daemon.PATIENCE_S) == 0


def test_a_lost_camera_leaves_no_old_picture(snapped):
    server = snapped()
    snapshot(server, "")
    os.kill(server.camera()["process"]["pid"], signal.SIGKILL)
    server.wait_camera("front", lambda c: c["state"] == "live" and c["process"]["restarts"] == 1)
    after = time.time()
    _, headers = snapshot(server, "")
    assert float(headers["x-timestamp"]) > after - 2


def test_a_reload_changes_the_quality_under_a_viewer(edged, watch):
    """Of MJPEG over RTSP and of snapshots; the viewer loses nothing."""
    port = free_port()

    def camera(quality):
        view = {"name": "edges", "view": "edges", "codec": "mjpeg", "jpeg_quality": quality}
        return daemon.camera(width=WIDTH, height=HEIGHT, views=[view])

    server = edged([camera(80)], settings={"http": {"port": port}})
    server.api = f"http://127.0.0.1:{port}"
    viewer = watch(server.url("/front/edges"), program="ffmpeg", size=(WIDTH, HEIGHT))
    viewer.wait_numbers(10)
    before = int(snapshot(server, "")[1]["content-length"])
    server.reload([camera(10)])
    daemon.wait_for(lambda: int(snapshot(server, "")[1]["content-length"]) < before / 2)
    viewer.wait_after(time.monotonic_ns(), 10)
    assert viewer.watching
    server.assert_accounted(viewer)
    assert server.mount()["encoder"] == "turbojpeg"


def test_what_is_too_large_for_mjpeg_is_said_and_left_out(edged):
    """Of a camera that does not do as it was told."""
    server = edged([daemon.camera(
        source="gstreamer", views=[{"name": "small", "view": "edges"},
                                   {"name": "edges", "view": "edges", "codec": "mjpeg"}],
        pipeline="videotestsrc is-live=true ! video/x-raw,format=NV12,width=2560,height=720")])
    server.wait_stderr(r'view "edges": .*turbojpeg: got pictures of 2560x720, allowed for MJPEG are '
                       "up to 2040x2040, going on without this view")
    server.wait_camera("front", lambda c: c["state"] == "live")


def test_home_automation_logs_in_and_sees_what_it_may(edged, tmp_path):
    """As Home Assistant's generic camera asks: httpx, Digest, redirects followed, a limit of 10 s; and
    motionEye by curl."""
    httpx = pytest.importorskip("httpx", reason="Ubuntu 20.04 has no python3-httpx")
    users, port = tmp_path / "users", free_port()
    write_users(users, vera="viewer", otto="operator")
    safe = {"name": "safe", "view": "edges", "allow": ["operator"]}
    server = edged([daemon.camera(views=[safe, "gray"])],
                   settings={"http": {"port": port}, "rtsp": {"users": str(users)}})
    server.api = f"http://127.0.0.1:{port}"
    server.wait_camera("front", lambda c: c["state"] == "live")
    for user, name in (("vera", "gray"), ("otto", "safe")):
        with httpx.Client() as client:
            reply = daemon.wait_for(lambda user=user, client=client: (
                reply := client.get(f"{server.api}/snapshot.jpg", auth=httpx.DigestAuth(user, "pass"),
                                    follow_redirects=True, timeout=10)).status_code == 200 and reply)
        decode(reply.content)
        assert f"front-{name}.jpg" in reply.headers["content-disposition"]
    daemon.wait_for(lambda: curl(f"{server.api}/snapshot.jpg", "--digest", "-u", "vera:pass", "-L")[0] == 200)
    status, _, body = curl(f"{server.api}/snapshot.jpg?view=safe", "--digest", "-u", "vera:pass")
    assert status == 404 and "safe" not in json.loads(body)["allowed"]
    assert curl(f"{server.api}/snapshot.jpg")[0] == 401
