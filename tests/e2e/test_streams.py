"""What a mount promises besides its frames: addresses, SDP, signalling, work only when watched."""

import base64
import json
import re
import subprocess

import pytest

import daemon
import pattern
import rtsp

SMALL = {"width": 640, "height": 360}


@pytest.fixture(scope="module")
def shared(shared_edged):
    """One for tests that only ask."""
    return shared_edged([daemon.camera(views=["edges", "camera"])])


def probe(url):
    """The video stream as ffprobe sees it."""
    rtsp.wait_served(url)
    result = subprocess.run(
        ["ffprobe", "-loglevel", "error", "-rtsp_transport", "tcp", "-show_streams", "-of", "json"]
        + [url], capture_output=True, text=True, timeout=daemon.PATIENCE_S, check=True,
    )
    return json.loads(result.stdout)["streams"][0]


def test_sdp_offers_h264_video_with_its_parameter_sets(shared):
    code, sdp, _ = rtsp.wait_served(shared.url("/front/edges"))
    assert code == 200
    assert re.findall(r"^m=(.*)\r?$", sdp, re.M)[0].strip() == "video 0 RTP/AVP 96"
    assert re.search(r"^a=rtpmap:96 H264/90000", sdp, re.M), sdp
    assert re.search(r"^a=fmtp:96 .*packetization-mode=1", sdp, re.M), sdp
    assert re.search(r"^a=fmtp:96 .*profile-level-id=42[0-9a-fA-F]{4}", sdp, re.M), sdp
    assert re.search(r"^a=fmtp:96 .*sprop-parameter-sets=\S+,\S+", sdp, re.M), sdp


def test_sdp_offers_h265_video_with_its_parameter_sets(edged):
    """RFC 7798, section 7.1: whole NAL units, of types 32, 33 and 34."""
    views = [{"name": "edges", "view": "edges", "codec": "h265"}]
    server = edged([daemon.camera(views=views, width=320, height=240)])
    code, sdp, _ = rtsp.wait_served(server.url("/front/edges"))
    assert code == 200
    assert re.search(r"^a=rtpmap:96 H265/90000", sdp, re.M), sdp
    sets = re.search(r"^a=fmtp:96 sprop-vps=(\S+?);sprop-sps=(\S+?);sprop-pps=(\S+)", sdp, re.M)
    assert [base64.b64decode(text)[0] >> 1 & 63 for text in sets.groups()] == [32, 33, 34]


def test_h265_is_signalled_as_limited_range_main_without_b_frames(edged):
    views = [{"name": "edges", "view": "edges", "codec": "h265"}]
    server = edged([daemon.camera(views=views, width=320, height=240)])
    stream = probe(server.url("/front/edges"))
    assert (stream["codec_name"], stream["profile"]) == ("hevc", "Main")
    assert stream["color_range"] == "tv"
    assert (stream["width"], stream["height"]) == (320, 240)
    assert stream["has_b_frames"] == 0
    server.wait_mount("/front/edges", lambda m: m["encoder"] == "x265enc")


def test_edges_are_signalled_as_limited_range_baseline_without_b_frames(shared):
    stream = probe(shared.url("/front/edges"))
    assert stream["color_range"] == "tv"
    assert (stream["width"], stream["height"]) == (1280, 720)
    assert stream["profile"] in ("Constrained Baseline", "Baseline")
    assert stream["has_b_frames"] == 0


@pytest.mark.parametrize("codec, encoder, field", [
    ("h264", "x264enc", "max_num_reorder_frames"), ("h264", "openh264enc", "max_num_reorder_frames"),
    ("h265", "x265enc", "sps_max_num_reorder_pics[0]")])  # fmt: skip
def test_no_decoder_has_to_wait_for_earlier_pictures(edged, codec, encoder, field):
    view = {"name": "edges", "view": "edges", "codec": codec, "encoder": encoder}
    server = edged([daemon.camera(views=[view], **SMALL)])
    url = server.url("/front/edges")
    rtsp.wait_served(url)
    result = subprocess.run(
        ["ffmpeg", "-nostdin", "-hide_banner", "-rtsp_transport", "tcp", "-i", url]
        + ["-frames:v", "5", "-c", "copy", "-bsf:v", "trace_headers", "-f", "null", "-"],
        capture_output=True, text=True, timeout=daemon.PATIENCE_S, check=True,
    )
    said = re.findall(rf"{re.escape(field)} +[01]+ = (\d+)", result.stderr)
    assert said and set(said) == {"0"}, result.stderr[-2000:]


def test_a_split_is_twice_as_wide_as_its_camera(edged):
    views = ["edges", {"name": "both", "view": "split", "left": "camera", "right": "edges"}]
    server = edged([daemon.camera(views=views, **SMALL)])
    stream = probe(server.url("/front/both"))
    assert (stream["width"], stream["height"]) == (1280, 360)
    assert stream["color_range"] == "tv"
    server.wait_mount("/front/both", lambda mount: mount["encoded"] > 0)


def test_edges_alias_is_the_first_view_of_the_first_camera(edged, watch):
    server = edged(
        [
            daemon.camera("first", views=["edges", "camera"], **SMALL),
            daemon.camera("second", views=["camera"], width=320, height=240),
        ]
    )
    viewer = watch(server.url("/edges"), size=(640, 360), keep_every=1)
    viewer.wait_numbers(5)
    viewer.stop()
    number, picture = next(iter(viewer.pictures().items()))
    assert pattern.psnr_db(picture, pattern.expected_luma("edges", number, 640, 360)) >= 32


def test_unknown_path_is_not_found(shared):
    assert rtsp.describe(shared.url("/front/nothing"))[0] == 404
    assert rtsp.describe(shared.url("/"))[0] == 404


def test_query_string_and_alias_share_the_media(edged, watch):
    server = edged([daemon.camera(**SMALL)])
    server.wait_camera("front", lambda c: c["state"] == "live")  # slates are no frames of it
    for path in ("/front/edges", "/front/edges?tcp", "/edges"):
        watch(server.url(path)).wait_numbers(1)
    mount = server.wait_mount("/front/edges", lambda m: m["viewers"] == 3)
    begin = mount["encoded"]
    mount = server.wait_mount("/front/edges", lambda m: m["encoded"] >= begin + 2 * pattern.FPS)
    assert server.status()["viewers"] == 3
    # Three encoders would have made three times as many.
    assert mount["encoded"] <= server.camera()["frames"] + pattern.FPS


def test_view_is_computed_only_while_watched(edged, watch):
    server = edged([daemon.camera(views=["edges", "gray"], **SMALL)])
    assert server.wait_camera("front", lambda c: c["frames"] > pattern.FPS)["stages"] == []
    assert [m["encoded"] for m in server.status()["mounts"]] == [0, 0]
    viewer = watch(server.url("/front/edges"))
    viewer.wait_numbers(pattern.FPS)
    server.wait_mount("/front/edges", lambda m: m["encoded"] > 0 and m["viewers"] == 1)
    assert server.mount("/front/gray")["encoded"] == 0
    viewer.stop()
    server.wait_mount("/front/edges", lambda m: m["viewers"] == 0)

    def encodes_no_more():
        encoded, before = server.mount("/front/edges")["encoded"], server.camera()["frames"]
        server.wait_camera("front", lambda c: c["frames"] > before + pattern.FPS)
        return server.mount("/front/edges")["encoded"] == encoded

    daemon.wait_for(encodes_no_more)  # but what an encoder still had


def test_viewer_who_returns_sees_live_frames_at_once(edged, watch):
    server = edged([daemon.camera(**SMALL)])
    first = watch(server.url("/front/edges"))
    last = max(n for n, _ in first.wait_numbers(pattern.FPS) if n is not None)
    first.stop()

    server.wait_mount("/front/edges", lambda m: m["viewers"] == 0)
    viewer = watch(server.url("/front/edges"))
    assert min(n for n, _ in viewer.wait_numbers(pattern.FPS) if n is not None) > last
    server.assert_accounted(viewer)


def test_status_over_http_and_from_edgectl_tell_the_same(shared):
    shared.wait_camera("front", lambda c: c["state"] == "live")
    over_http, by_edgectl = shared.status(), shared.status_by_edgectl()
    assert [m["path"] for m in over_http["mounts"]] == ["/front/edges", "/front/camera"]
    assert [m["url"] for m in by_edgectl["mounts"]] == [
        shared.url("/front/edges"), shared.url("/front/camera")
    ]
    assert by_edgectl["version"] == over_http["version"]
    camera = by_edgectl["cameras"][0]
    assert (camera["state"], camera["width"], camera["height"]) == ("live", 1280, 720)
    assert camera["process"]["pid"] in daemon.process_children(shared.process.pid)


def test_status_shows_latency_of_every_step(edged, watch):
    server = edged([daemon.camera(**SMALL)])
    watch(server.url("/front/edges")).wait_numbers(1)
    steps = ("capture", "compute", "encode", "link", "capture_to_rtp")
    latency = server.wait_mount("/front/edges", lambda mount: all(
        mount["latency_ms"][step]["count"] >= pattern.FPS for step in steps))["latency_ms"]
    for step in steps:
        assert 0 <= latency[step]["p50"] <= latency[step]["p95"], step
    assert latency["capture_to_rtp"]["p50"] > 0


def test_metrics_count_viewers_and_frames(edged, watch):
    server = edged([daemon.camera(**SMALL)])
    watch(server.url("/front/edges")).wait_numbers(pattern.FPS)
    metrics = server.http_get("/metrics")
    assert re.search(r"^edged_\w*viewers\{[^}]*\} 1$", metrics, re.M), metrics
    assert re.search(r"^edged_\w+_bucket\{[^}]*le=\"\+Inf\"[^}]*\} [1-9]", metrics, re.M), metrics


def test_status_and_metrics_tell_the_pace_and_what_each_process_uses(edged, watch):
    server = edged([daemon.camera(**SMALL), daemon.camera("back", **SMALL)])
    watch(server.url("/front/edges")).wait_numbers(2 * pattern.FPS)
    camera = server.wait_camera("front", lambda c: c["process"]["cpu_s"] > 0)
    assert 0 <= camera["frame_age_s"] < daemon.PATIENCE_S
    assert 1e6 < camera["process"]["resident_bytes"] < 4e9
    assert server.status()["process"]["resident_bytes"] > 1e6
    metrics = server.http_get("/metrics")
    for labels in ('role="front"', 'role="camera",camera="front"', 'role="camera",camera="back"'):
        assert f"edged_process_cpu_seconds_total{{{labels}}} " in metrics
    for name in ("frames_per_second", "last_frame_age_seconds"):
        assert re.search(rf'^edged_camera_{name}{{camera="front"}} [\d.]+$', metrics, re.M), metrics


def test_sigterm_with_viewers_is_a_clean_end(edged, watch):
    server = edged([daemon.camera(**SMALL)])
    viewers = [watch(server.url("/front/edges"), transport=t) for t in ("udp", "tcp", "tcp", "udp")]
    for viewer in viewers:
        viewer.wait_numbers(pattern.FPS)
    server.stop()
    assert not server.socket.exists()


def test_stopping_is_told_to_systemd(edged):
    server = edged([daemon.camera(**SMALL)])
    server.stop()
    daemon.wait_for(lambda: "STOPPING=1" in server.notify.told.splitlines())


def test_status_line_tells_systemd_rate_and_viewers(edged, watch):
    server = edged([daemon.camera(**SMALL)])
    watch(server.url("/front/edges")).wait_numbers(pattern.FPS)
    server.wait_notified(r"^STATUS=.*\b1 viewer")
    server.wait_notified(r"^STATUS=.*\b[1-9]\d*(\.\d)? fps")
