"""Fixtures: a running edged that must also end well, and clients that are hung up afterwards."""

import pytest

import clients
import daemon


@pytest.fixture
def edged(tmp_path):
    """Starts daemons: edged([camera, …], ENVIRONMENT=…). Each is stopped by SIGTERM at the end and
    has to exit 0 in time, leaving no process and no sanitizer report behind."""
    started = []

    def start(cameras, **extra):
        started.append(daemon.Daemon(tmp_path / f"edged-{len(started)}", cameras, **extra))
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
def watch(tmp_path):
    """Starts viewers: watch(url, program=…, transport=…, view=…, keep_every=…)."""
    viewers = []

    def start(url, **settings):
        directory = tmp_path / f"viewer-{len(viewers)}" if settings.get("keep_every") else None
        viewers.append(clients.Viewer(url, keep_dir=directory, **settings))
        return viewers[-1]

    yield start
    for viewer in viewers:
        viewer.stop()
