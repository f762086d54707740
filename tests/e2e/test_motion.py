"""Motion in the street clip, from the camera process to somebody who listens, with no viewer."""

import itertools
import json
import subprocess

import pytest

import daemon

STREET = daemon.ROOT / "tests/data/street.mp4"
# tests/data/street-motion.json: somebody is on the path in the first 1.2 s, nobody on the grass.
REGIONS = [
    {"name": "path", "cooldown_s": 0.5,
     "polygon": [[0.3255, 0.2951], [0.4297, 0.2951], [0.4297, 0.5556], [0.3255, 0.5556]]},
    {"name": "grass", "polygon": [[0.0, 0.6], [0.35, 0.6], [0.5, 0.95], [0.0, 0.95]]},
]


def street(**settings):
    return daemon.camera(source="file", path=STREET, width=768, height=576, fps=10, **settings)


def test_who_walks_in_the_street_is_heard_of_with_nobody_watching(edged):
    server = edged([street(regions=REGIONS)])
    listener = subprocess.Popen(
        [daemon.EDGECTL, "watch", "--json", "--socket", server.socket], text=True,
        stdout=subprocess.PIPE, env=daemon.environment())
    try:
        # Under way, or as it comes; and its end.
        told = map(json.loads, listener.stdout)
        events = list(itertools.islice((one for one in told if one["event"].startswith("motion_")), 2))
    finally:
        listener.kill()
        listener.wait()
        listener.stdout.close()
    assert [e["event"] for e in events] == ["motion_started", "motion_ended"]
    for event in events:
        assert event["camera"] == "front" and event["region"] == "path"
    assert events[0]["share"] >= 0.01
    assert events[1]["reason"] == "still"
    box = events[0]["box"]
    assert 250 <= box["x"] and box["x"] + box["width"] <= 330
    assert 170 <= box["y"] and box["y"] + box["height"] <= 320
    path, grass = server.camera()["regions"]
    assert path["name"] == "path" and path["events"] >= 1
    assert grass["name"] == "grass" and grass["events"] == 0
    assert server.status()["viewers"] == 0


def mirrored(regions):
    return [{**region, "polygon": [[round(1 - x, 4), y] for x, y in region["polygon"]]} for region in regions]


@pytest.mark.parametrize("memory, flip, regions", [
    ("auto", "none", REGIONS),
    ("managed", "none", REGIONS),
    ("auto", "horizontal", mirrored(REGIONS)),  # which lies in the GPU's own memory
])
def test_the_gpu_makes_what_is_measured_with_nobody_watching(board, memory, flip, regions):
    server = board("orin-nano", [street(regions=regions, flip=flip)], settings={"memory": memory})
    camera = server.wait_camera("front", lambda c: c["regions"] and c["regions"][0]["events"] >= 1)
    assert camera["backend"] == "CUDA sm_87" and camera["gpu_faults"] == 0
    assert [region["events"] for region in camera["regions"] if region["name"] == "grass"] == [0]
    assert server.status()["viewers"] == 0


def test_motion_is_measured_on_after_a_fault_of_the_gpu(board):
    server = board("orin-nano", [street(regions=REGIONS)], "illegal=cells:3")
    camera = server.wait_camera("front", lambda c: c["regions"] and c["regions"][0]["events"] >= 1)
    assert camera["gpu_faults"] >= 1


def test_a_region_whose_mask_is_missing_costs_no_stream(edged, watch):
    server = edged([street(regions=[{"name": "door", "mask": "none.png"}, *REGIONS])])
    server.wait_camera("front", lambda c: c["state"] == "live")
    assert 'cameras[0].regions[0].mask: cannot read "' in server.log.read_text()
    viewer = watch(server.url("/front/edges"))
    viewer.wait_frames(5)
    assert server.camera()["regions"][0]["events"] == 0
