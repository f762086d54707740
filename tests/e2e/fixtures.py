"""Fixtures: a running edged that must also end well, and clients that are hung up afterwards."""

import contextlib
import pathlib
import subprocess
import time

import pytest

import clients
import daemon
import rtsp


@contextlib.contextmanager
def daemons(folder):
    """Starts daemons: edged([camera, …], ENVIRONMENT=…). Each is stopped by SIGTERM at the end and
    has to exit 0, leaving no process and no sanitizer report behind."""
    started = []

    def start(cameras, **extra):
        started.append(daemon.Daemon(folder / f"edged-{len(started)}", cameras, **extra))
        return started[-1].start()

    yield start
    try:
        for one in started:
            if one.process and one.process.poll() is None:
                one.stop()
            one.assert_sane_log()
    finally:
        for one in started:
            one.kill()


@pytest.fixture
def edged(tmp_path):
    with daemons(tmp_path) as start:
        yield start


@pytest.fixture(scope="module")
def shared_edged(tmp_path_factory):
    """The same for the tests of a module together, each of which leaves it as it was."""
    with daemons(tmp_path_factory.mktemp("shared")) as start:
        yield start


@pytest.fixture
def watch(tmp_path):
    """Starts viewers, when there is something to see: watch(url, program=…, keep_every=…)."""
    viewers = []

    def start(url, **settings):
        if url.startswith("rtsp"):
            rtsp.wait_served(url)
        directory = tmp_path / f"viewer-{len(viewers)}" if settings.get("keep_every") else None
        viewers.append(clients.Viewer(url, keep_dir=directory, **settings))
        return viewers[-1]

    yield start
    for viewer in viewers:
        viewer.stop()


@pytest.fixture(scope="session")
def elements(tmp_path_factory):
    """The environment in which GStreamer has the elements of a folder of tests/fakes as well:
    elements("jetson"). It looks through all plugins once, not in every test, and where no stand-in
    for a driver is loaded: a sanitizer that one of those brings along does not survive every plugin."""
    environments = {}

    def of(folder):
        if folder not in environments:
            registry = tmp_path_factory.mktemp(folder) / "registry"
            environments[folder] = {"GST_PLUGIN_PATH": daemon.BUILD / "tests/fakes" / folder,
                                    "GST_REGISTRY": registry}
            subprocess.run(
                ["gst-inspect-1.0", "--exists", "fakesink"], check=True, capture_output=True,
                timeout=daemon.PATIENCE_S, env=daemon.environment(**environments[folder]),
            )
            assert registry.exists()
        return environments[folder]

    return of


@pytest.fixture
def board(edged, tmp_path):
    """Starts a daemon on a board: board("thor", [camera, …], "hang=gradient:9", settings=…)."""
    started = []

    def start(name, cameras, *faults, libraries=(daemon.FAKE_CUDA,), **extra):
        options = [f"board={name}", f"trigger={tmp_path / 'trigger'}", *faults]
        started.append(
            edged(
                cameras, program=daemon.FAKE_CUDA / "edged",
                LD_LIBRARY_PATH=":".join(map(str, libraries)),
                EDGED_FAKE_CUDA=",".join(options), **extra,
            )
        )
        return started[-1]

    yield start
    for server in started:
        assert "CPU touched" not in server.stderr(), server.stderr()
        assert "fake_cuda: leaked" not in server.stderr(), server.stderr()
        assert "fake_nvmm: " not in server.stderr(), server.stderr()


@pytest.fixture
def provoke(tmp_path):
    """Has a fault done to the next launch, and waits until it was, unless nothing is launched yet:
    its moment in ns."""

    def do(fault, launching=True):
        trigger = tmp_path / "trigger"
        (tmp_path / "new").write_text(fault + "\n")
        (tmp_path / "new").rename(trigger)
        daemon.wait_for(lambda: not launching or not trigger.exists())
        return time.monotonic_ns()

    return do


@pytest.fixture
def few_plugins(tmp_path):
    """The environment of a machine without GStreamer's bad plugins, which `make run` does not install."""
    folder = subprocess.check_output(["pkg-config", "--variable=pluginsdir", "gstreamer-1.0"], text=True).strip()
    bad = subprocess.check_output(["dpkg", "-L", "gstreamer1.0-plugins-bad"], text=True).split()
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    for plugin in pathlib.Path(folder).glob("*.so"):
        if plugin.name not in {pathlib.Path(path).name for path in bad}:
            (plugins / plugin.name).symlink_to(plugin)
    assert not (plugins / "libgstvideoparsersbad.so").exists() and (plugins / "libgstx264.so").exists()
    return {"GST_PLUGIN_SYSTEM_PATH_1_0": plugins, "GST_REGISTRY": tmp_path / "registry"}
