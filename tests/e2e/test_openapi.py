"""/openapi.yaml is what the table of routes has. `make check-api` holds edged to what it says."""

import pathlib
import re

import daemon

HTTP = pathlib.Path(__file__).resolve().parents[2] / "daemon/front/http"


def described(text):
    """Method and path of each operation, and the statuses of its answers."""
    paths = text[text.index("\npaths:\n"):text.index("\ncomponents:\n")]
    found, path = {}, None
    for line in paths.splitlines():
        if entry := re.fullmatch(r"  (/\S*):", line):
            path = entry[1]
        elif entry := re.fullmatch(r"    (\w+):", line):
            method = entry[1].upper()
            found[method, path] = set()
        elif entry := re.match(r'        "(\d+)":', line):
            found[method, path].add(int(entry[1]))
    return found


def test_every_route_is_described_and_nothing_else(edged):
    server = edged([daemon.camera(width=320, height=240)])
    text = server.http_get("/openapi.yaml")
    before, after = re.split(r"(?m)^    Clip: \{\}.*\n", (HTTP / "openapi.yaml").read_text())
    assert text.startswith(before + "    Clip:\n") and text.endswith(after)
    routes = re.findall(r'^    \{"([A-Z]+)", "(/[^"]*)"', (HTTP / "routes.c").read_text(), re.MULTILINE)
    assert len(routes) > 15
    assert sorted(described(text)) == sorted(routes)
    for (method, path), statuses in described(text).items():
        assert {400, 401, 403, 413, 429} < statuses, (method, path)
        assert statuses & {200, 303}, (method, path)
