"""What the answer to a change of settings says takes it back, for undo."""

from test_live_config import get, patch, serve, view  # noqa: F401
from test_mask import draw_mask

CORNERS = [[0, 0], [1, 0], [1, 1]]
CHANGES = {
    "a value of the file": view(gain=0.7),
    "a value that was set": view(bitrate_kbps=900),
    "back to the file": view(bitrate_kbps=None),
    "two at once": {"cameras": {"front": {"armed": False, "views": {"edges": {"gain": 2}}}}},
    "a new region": {"cameras": {"front": {"regions": {"yard": {"polygon": CORNERS, "start": 0.1}}}}},
    "a region of the file": {"cameras": {"front": {"regions": {"door": None}}}},
    "a region of a mask": {"cameras": {"front": {"regions": {"odd": None}}}},
    "a region that was set": {"cameras": {"front": {"regions": {"set": None}}}},
    "a corner of it": {"cameras": {"front": {"regions": {"set": {"polygon": [*CORNERS, [0, 1]]}}}}},
    "all regions": {"cameras": {"front": {"regions": None}}},
}


def test_the_inverse_of_each_change_takes_it_back(serve, tmp_path):  # noqa: F811
    """Whole, with what was set in a region that was removed, and what only the file can set."""
    draw_mask(tmp_path / "mask.png", (4, 8))
    server = serve(regions=[{"name": "door", "start": 0.3, "erode": 0, "polygon": CORNERS}, {"name": "odd", "mask": tmp_path / "mask.png", "start": 0.2}])
    patch(server, {"cameras": {"front": {"views": {"edges": {"bitrate_kbps": 700}}, "regions": {
        "door": {"end": 0.1, "cooldown_s": 3}, "set": {"polygon": CORNERS, "start": 0.4, "duration_s": 2}}}}})
    before = get(server)
    for name, change in CHANGES.items():
        status, dry = patch(server, change, "?dry_run=1")
        status, answer = patch(server, change)
        assert status == 200 and get(server) != before, name
        assert answer["inverse"] == dry["inverse"], name
        status, back = patch(server, answer["inverse"])
        assert status == 200 and get(server) == before, (name, answer, back)
        status, again = patch(server, back["inverse"])
        assert status == 200 and again["inverse"], name
        patch(server, again["inverse"])
        assert get(server) == before, name
    assert patch(server, {})[1]["inverse"] == {}
