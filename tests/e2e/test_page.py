"""The page as a browser fetches it; what it does in one is shown by tests/browser."""

import gzip
import json
import re
import urllib.error
import urllib.parse
import urllib.request

import pytest

import daemon
from ports import free_port


@pytest.fixture(scope="module")
def base(shared_edged):
    port = free_port()
    shared_edged([daemon.camera()], settings={"http": {"port": port}})
    return f"http://127.0.0.1:{port}"


def fetch(url, **headers):
    request = urllib.request.Request(url, headers=headers)
    with urllib.request.urlopen(request, timeout=daemon.PATIENCE_S) as reply:
        return reply.headers, reply.read().decode(errors="replace")


def test_a_browser_gets_the_page_and_others_a_list(base):
    headers, page = fetch(base, Accept="text/html,*/*")
    assert headers["Content-Type"].startswith("text/html") and "<title>edged</title>" in page
    policy = headers["Content-Security-Policy"]
    assert "default-src 'self'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy
    assert fetch(base)[1].startswith("edged ")


def test_the_page_is_small_and_comes_from_here_alone(base):
    wanted, files = ["/"], {}
    while wanted:
        path = wanted.pop()
        text = files[path] = fetch(base + path, Accept="text/html")[1]
        # Relative, so that the page may stand below a path of another server.
        found = re.findall(r"""(?:src|href)="(page/[\w./]+)"|from "\.(/[\w.]+)";""", text)
        wanted += [name for root, beside in found for name in [f"/{root}" if root else f"/page{beside}"]
                   if name not in files and name not in wanted]
        # The name of SVG's elements is no address that is fetched.
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text), path
        assert not re.search(r"""["'`]/(v1|page|snapshot|stream|login)\b""", text), path
    assert {"/page/app.js", "/page/video.js", "/page/style.css"} <= set(files)
    # As a browser gets them.
    assert sum(len(gzip.compress(text.encode())) for text in files.values()) < 80 * 1024


def test_the_manifest_makes_it_an_app_of_its_own_below_any_path(base):
    headers, text = fetch(base + "/page/manifest.json")
    manifest = json.loads(text)
    assert headers["Content-Type"] == "application/manifest+json"
    at = "http://host/edged/page/manifest.json"
    assert urllib.parse.urljoin(at, manifest["start_url"]) == urllib.parse.urljoin(at, manifest["scope"]) == "http://host/edged/"
    for icon in manifest["icons"]:
        assert fetch(f"{base}/page/{icon['src']}")[0]["Content-Type"] == icon["type"]


def test_a_file_comes_packed_to_who_unpacks_it(base):
    plain, text = fetch(base + "/page/video.js")
    with urllib.request.urlopen(urllib.request.Request(base + "/page/video.js", headers={"Accept-Encoding": "gzip"})) as reply:
        packed = reply.read()
        assert reply.headers["Content-Encoding"] == "gzip" and reply.headers["Vary"] == "Accept-Encoding"
        assert reply.headers["ETag"] != plain["ETag"] and plain["Content-Encoding"] is None
    assert gzip.decompress(packed).decode() == text and len(packed) < len(text) / 2


def test_a_file_that_is_known_is_not_sent_again(base):
    tag = fetch(base + "/page/app.js")[0]["ETag"]
    with pytest.raises(urllib.error.HTTPError) as known:
        fetch(base + "/page/app.js", **{"If-None-Match": tag})
    assert known.value.code == 304
    with pytest.raises(urllib.error.HTTPError) as unknown:
        fetch(base + "/page/..%2fapp.js")
    assert unknown.value.code == 404
