"""Behind an encoder that is too slow, frames do not wait: what the governor promises, by the clock."""

import time

import pytest

import daemon

SIZE = {"width": 640, "height": 360}
NS_PER_PIXEL = "217"  # 50 ms a frame, where 30 frames a second leave 33


@pytest.mark.parametrize("governor", ["rate-size", "size-rate"])
def test_latency_stays_below_150_ms_and_all_is_back_within_10_s(
        edged, elements, watch, tmp_path, seconds, governor):
    slowness = tmp_path / "slowness"
    slowness.write_text(NS_PER_PIXEL)
    view = {"name": "edges", "view": "edges", "governor": governor}
    server = edged([daemon.camera(views=[view], **SIZE)], FAKE_ENCODER=f"slow:{slowness}",
                   **elements("encoder"))
    viewer = watch(server.url("/front/edges"))
    viewer.wait_numbers(1)
    time.sleep(max(seconds - 10, 30))  # of which it needs 0.3 s to act
    mount = server.mount()
    assert mount["governor"] != ""
    assert mount["latency_ms"]["capture_to_rtp"]["p95"] < 150, mount["latency_ms"]
    slowness.unlink()
    begin = time.monotonic()
    server.wait_mount("/front/edges", lambda m: m["governor"] == "")
    assert time.monotonic() - begin < 10
