"""The recipes of config/fleet/ name what edged has, and the programs they are for take them.

What the engines do with them is shown by `make check-connect`.
"""

import json
import pathlib
import re
import shutil
import subprocess

import pytest

import daemon
from ports import free_port

FLEET = daemon.ROOT / "config/fleet"
METRICS = FLEET / "metrics"
DASHBOARD = json.loads((METRICS / "grafana-edged.json").read_text())
QUERIES = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
needs_promtool = pytest.mark.skipif(not shutil.which("promtool"), reason="apt install prometheus has promtool")


def run(*command, folder=None):
    done = subprocess.run([str(word) for word in command], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=daemon.PATIENCE_S, check=False)
    assert done.returncode == 0, done.stdout
    return done.stdout


def copy_unit(path, folder):
    """As `make install` puts it; each program that it runs is one that is there."""
    text = re.sub(r"@(bindir|libexecdir)@", "/usr/bin", path.read_text()).replace("@sysconfdir@", "/etc")
    text = re.sub(r"^(Exec\w+=)(\S+)", r"\1/bin/true", text, flags=re.M)
    (folder / path.name.replace("@.", "@front-edges.")).write_text(text)
    return folder / path.name.replace("@.", "@front-edges.")


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="apt install systemd has systemd-analyze")
def test_systemd_has_nothing_to_object_to(tmp_path):
    units = [copy_unit(path, tmp_path) for path in
             [*(daemon.ROOT / "systemd").glob("edged-push@.*"), *(daemon.ROOT / "systemd").glob("edged-upload.*"),
              *FLEET.glob("*/*.service")]]
    assert len(units) == 5
    assert run("systemd-analyze", "verify", "--man=no", *units) == ""


@pytest.mark.skipif(not pathlib.Path("/usr/lib/nginx/modules/ngx_rtmp_module.so").exists(), reason="scripts/setup --with nginx")
def test_nginx_takes_the_configuration_of_the_relay(tmp_path):
    configuration = tmp_path / "nginx.conf"
    configuration.write_text((FLEET / "live/nginx-rtmp.conf").read_text().replace("/var/lib/nginx", str(tmp_path))
                             .replace("/etc/nginx", str(tmp_path)))
    (tmp_path / "edged-keys.conf").write_text('"jetson-front-edges secret" 1;\n')
    told = run("/usr/sbin/nginx", "-t", "-c", configuration, "-g", f"pid {tmp_path}/pid; error_log {tmp_path}/log;")
    assert "test is successful" in told


@needs_promtool
def test_each_alert_fires_and_is_resolved_as_its_tests_say():
    run("promtool", "test", "rules", METRICS / "edged-rules-test.yml")
    rules, tests = ((METRICS / name).read_text() for name in ("edged-rules.yml", "edged-rules-test.yml"))
    for alert in re.findall(r"- alert: (\w+)", rules):
        assert re.search(rf"- alertname: {alert}\n.*\n +exp_alerts:", tests), alert
        assert re.search(rf"- {{alertname: {alert}, ", tests), alert


@needs_promtool
@pytest.mark.parametrize("name", ["prometheus.yml", "prometheus-centre.yml"])
def test_prometheus_takes_its_configurations(tmp_path, name):
    for path in METRICS.glob("*.yml"):
        shutil.copy(path, tmp_path)
    for secret in ("edged.token", "edged.crt"):
        (tmp_path / secret).touch()
    run("promtool", "check", "config", tmp_path / name)


@needs_promtool
def test_prometheus_takes_the_queries_of_the_dashboard(tmp_path):
    rules = [{"record": f"panel:{number}", "expr": re.sub(r"\$\w+", ".*", query)} for number, query in enumerate(QUERIES)]
    (tmp_path / "rules.yml").write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
    assert f"{len(QUERIES)} rules found" in run("promtool", "check", "rules", tmp_path / "rules.yml")


def test_rules_and_dashboard_name_metrics_and_labels_that_edged_has(edged, tmp_path):
    server = edged([daemon.camera(regions=[{"name": "door"}], record={"mode": "events"})],
                   settings={"storage": {"path": str(tmp_path / "clips")}, "rtsp": {"tls_port": free_port()}},
                   STATE_DIRECTORY=tmp_path)
    server.wait_camera("front", lambda camera: camera["state"] == "live")
    daemon.wait_for(lambda: server.status()["recorder"]["state"] == "ready" and server.camera()["regions"])
    samples = server.http_get("/metrics")
    named = " ".join([*QUERIES, *re.findall(r"^ +expr: (.*(?:\n {12}.*)*)", (METRICS / "edged-rules.yml").read_text(), re.M)])
    metrics = set(re.findall(r"\bedged_\w+", named))
    assert len(metrics) > 20
    missing = {metric for metric in metrics if not re.search(rf"^{metric}[ {{]", samples, re.M)}
    assert missing <= {"edged_board_temperature_celsius"}  # this machine may have no sensor
    labels = set(re.findall(r"[{ ](\w+)=", named)) | set(re.findall(r"{{(\w+)}}", json.dumps(DASHBOARD)))
    of_prometheus = {"job", "instance", "site", "alertname", "alertstate"}
    assert not [label for label in labels - of_prometheus if f'{label}="' not in samples]


def test_the_panels_of_the_dashboard_are_each_in_a_place_of_their_own():
    taken = [(panel["gridPos"]["x"] + x, panel["gridPos"]["y"] + y) for panel in DASHBOARD["panels"]
             for x in range(panel["gridPos"]["w"]) for y in range(panel["gridPos"]["h"])]
    assert len(taken) == len(set(taken)) and max(x for x, _ in taken) < 24
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
