"""`edgectl doctor` on a configuration, and what it found."""

import json
import subprocess

import pytest

import daemon


class Findings:
    def __init__(self, result):
        self.result = result
        self.report = json.loads(result.stdout)
        self.checks = {check["check"]: check for check in self.report["checks"]}
        assert len(self.checks) == len(self.report["checks"])
        assert all(set(check) == {"check", "verdict", "text"} for check in self.checks.values())
        failed = [check for check in self.checks.values() if check["verdict"] == "failed"]
        assert self.report["ok"] == (not failed) == (result.returncode == 0)

    def of(self, check):
        return self.checks[check]["verdict"], self.checks[check]["text"]


@pytest.fixture
def doctor(tmp_path):
    """Runs it on a configuration: doctor([camera, …], fake="board=thor", backend="cuda", …)."""

    def run(cameras=None, *words, fake=None, variables=None, text=None, **settings):
        path = tmp_path / "edged.conf"
        keys = {"control": {"socket": tmp_path / "control.sock"}, "rtsp": {"port": 0}, **settings,
                "cameras": cameras or [daemon.camera(width=64, height=48)]}
        path.write_text(
            text or "".join(f"{key} = {daemon.libconfig(v)};\n" for key, v in keys.items()))
        gpu = {"CUDA_VISIBLE_DEVICES": ""} if fake is None else {
            "LD_LIBRARY_PATH": daemon.FAKE_CUDA, "EDGED_FAKE_CUDA": fake}
        result = subprocess.run(
            [daemon.EDGECTL if fake is None else daemon.FAKE_CUDA / "edgectl", "doctor", "--config",
             path, *(words or ["--json"])],
            capture_output=True, text=True, timeout=daemon.PATIENCE_S,
            env=daemon.environment(**{"DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nowhere", **gpu,
                                      **(variables or {})}),
        )
        assert not daemon.SANITIZER_REPORT.search(result.stderr), result.stderr
        assert "fake_cuda: leaked" not in result.stderr, result.stderr
        return result if words else Findings(result)

    return run
