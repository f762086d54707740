"""edgectl setup --answers: what a terminal is asked, answered by a file or by standard input."""

import json
import os
import re
import subprocess

import pytest

from daemon import EDGECTL, PATIENCE_S, ROOT, environment, run_edged
from edgectl import on_terminal

PASSWORD = "correct horse"
EXAMPLE = json.loads((ROOT / "config/fleet/provision/answers.json").read_text())


@pytest.fixture
def config(tmp_path):
    return tmp_path / "edged.conf"


def run_setup(config, answers, *arguments, file="-"):
    """`answers`: text, or what becomes JSON."""
    text = answers if isinstance(answers, (str, bytes)) else json.dumps(answers)
    return subprocess.run(
        [EDGECTL, "setup", "--config", config, "--answers", file, *arguments], env=environment(),
        input=text.encode() if isinstance(text, str) else text, capture_output=True, timeout=PATIENCE_S, check=False)


def test_answers_do_what_a_terminal_does(config, tmp_path):
    (tmp_path / "asked").mkdir()
    asked = tmp_path / "asked/edged.conf"
    terminal = on_terminal("setup", "--config", asked, "--device", "rtsp://192.0.2.7/live", EDGED_MQTT_PROGRAM="edged-mqtt")
    terminal.answer((b"User of that camera", b"admin"), (b"at the camera: ", b"s3:cret@"), (b"[front]: ", b"yard"),
                    (b"[edges]: ", b"canny"), (b"[viewer]: ", b"anna"), (b"[0.0.0.0]: ", b"10.1.2.3"),
                    (b"rtsps [no]: ", b"yes"), (b"inside TLS [yes]: ", b""), (b"[off]: ", b"events"), (b"of its own [no]: ", b"yes"),
                    (b"finds the cameras [none]: ", b"home.local"), (b"inside TLS [no]: ", b"yes"),
                    (b"at the broker, or none [none]: ", b"jetson"), (b"Password of that user", b"broker-secret"))
    for question in (b"Password of anna", b"again: "):
        terminal.answer((question, PASSWORD.encode()))
    terminal.answer((b"Write that to", b"yes"))
    assert terminal.wait() == 0, terminal.shown
    done = run_setup(config, {
        "device": "rtsp://admin:s3%3Acret%40@192.0.2.7/live", "camera": "yard", "view": "canny", "user": "anna",
        "password": PASSWORD, "address": "10.1.2.3", "tls": True, "page": True, "record": "events", "onvif": True,
        "broker": "home.local", "broker_tls": True, "broker_user": "jetson", "broker_password": "broker-secret"})
    assert done.returncode == 0, done.stderr
    assert config.read_text() == asked.read_text().replace(str(asked.parent), str(config.parent))
    for name in ("yard.credentials", "mqtt.password"):
        written, like = ((folder / name) for folder in (config.parent, asked.parent))
        assert written.read_text() == like.read_text() and written.stat().st_mode & 0o7777 == 0o600
    assert "\nanna:viewer:" in (config.parent / "rtsp.users").read_text()
    for secret in (PASSWORD, "cret", "broker-secret"):
        assert secret.encode() not in done.stdout + done.stderr


def test_the_journal_gets_no_drawn_password(config, tmp_path):
    told = tmp_path / "told"
    with told.open("w") as journal:
        stat = os.fstat(journal.fileno())  # by which systemd says that a stream is the journal's
        done = subprocess.run(
            [EDGECTL, "setup", "--config", config, "--answers", "-"], stdout=journal, stderr=journal,
            input=json.dumps({"user": "anna", "password": PASSWORD, "onvif": True}), text=True, timeout=PATIENCE_S, check=False,
            env={**environment(), "JOURNAL_STREAM": f"{stat.st_dev}:{stat.st_ino}"})
    drawn = re.search("^onvif:(.*)$", (config.parent / "onvif.passwords").read_text(), re.M)[1]
    assert done.returncode == 0, told.read_text()
    assert drawn not in told.read_text()
    assert f"user onvif, whose password is in {config.parent}/onvif.passwords\n" in told.read_text()


def test_the_example_of_an_image_is_taken_once_it_is_filled_in(config, tmp_path):
    file = tmp_path / "answers.json"
    file.write_text(json.dumps(EXAMPLE))
    file.chmod(0o600)
    refused = run_setup(config, "", file=file)
    assert refused.returncode == 1 and b"password" in refused.stderr and not config.exists()
    authority = tmp_path / "fleet-ca.crt"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=ca",
                    "-keyout", "/dev/null", "-out", authority], check=True, capture_output=True, timeout=PATIENCE_S)
    file.write_text(json.dumps({**EXAMPLE, "password": PASSWORD, "broker_user": "gate", "broker_password": "words of it",
                                "broker_ca": str(authority)}))
    done = run_setup(config, "", file=file)
    assert done.returncode == 0, done.stderr
    assert f'tls = true; ca = "{authority}"; user = "gate";' in config.read_text()
    assert run_edged("--config", config, "--check").returncode == 0


def test_a_file_with_answers_is_its_owners_alone(config, tmp_path):
    file = tmp_path / "answers.json"
    file.write_text("{}")
    for mode in (0o644, 0o640, 0o602):
        file.chmod(mode)
        refused = run_setup(config, "", file=file)
        assert refused.returncode == 1
        assert f"has mode {mode:04o}, allowed: none that lets others read or change passwords; `chmod 600".encode() in refused.stderr
    missing = run_setup(config, "", file=tmp_path / "none.json")
    assert missing.returncode == 1 and b"No such file" in missing.stderr


WRONG = {
    "misspelt": ('{\n "camera": "a",\n "vieW": "canny"}', '3: "vieW": unknown, did you mean "view"? allowed: camera, device, view'),
    "unknown": ('{"colour": 1}', '1: "colour": unknown, allowed: camera,'),
    "twice": ('{"camera": "a",\n "view": "{\\"camera\\":",\n\n "camera": "b"}', '4: "camera" stands here a second time'),
    "number": ('{\n"camera": 5}', '2: "camera" has another kind of value, allowed: a text in double quotes'),
    "null": ('{"user": null}', '1: "user" has another kind of value'),
    "list": ('{"view": ["edges"]}', '1: "view" has another kind of value'),
    "yes": ('{"camera": "a",\n"tls": "yes"}', '2: "tls" has another kind of value, allowed: true or false'),
    "name": ('{"view": "gray",\n"camera": "back yard"}', "2: cameras[0].name: got \"back yard\", allowed: 1 to 32"),
    "kind": ('{\n\n"view": "egdes"}', '3: view: got "egdes", allowed: "camera"'),
    "device": ('{"device":\n"webcam"}', '1: device: got "webcam", allowed: auto'),
    "user": ('{"password": "correct horse",\n"user": "two words"}', '2: --user: got "two words"'),
    "short password": ('{"user": "anna",\n"password": "short"}', "2: the password has 5 characters, allowed: at least 8"),
    "common password": ('{"user": "anna",\n"password": "password1"}', "2: the password is one of the first"),
    "empty password": ('{"user": "anna",\n"password": ""}', '2: "password" has another kind of value, allowed: a text in double '
                       "quotes, 1 to 128 bytes"),
    "control character": ('{"user": "anna",\n"password": "correct\\nhorse"}', '2: "password" has another kind'),
    "no password": ('{"user": "anna"}', 'has no password of the user anna, allowed: "password"'),
    "password of nobody": ('{\n"password": "correct horse"}', '2: "password" says nothing without "user", allowed: both or none'),
    "broker": ('{"broker": "mqtt://there"}', "1: mqtt.broker: got"),
    "login of no broker": ('{"broker_password": "x",\n"broker_user": "y"}', '2: "broker_user" says nothing without "broker"'),
    "authority without TLS": ('{"broker": "b", "broker_ca": "/a"}', '1: "broker_ca" says nothing without "broker_tls"'),
    "record": ('{\n"record": "sometimes"}', '2: record: got "sometimes", allowed: off, events or always'),
    "storage": ('{\n"storage": "/home/a"}', "2: --storage: got"),
    "address": ('{\n"address": "nowhere"}', "2: rtsp.address: got \"nowhere\", allowed"),
    "no JSON": ('{"camera": "a",\n"view": canny\n}', "2: no JSON from here on, allowed: an object of JSON"),
    "cut off": ('{"camera": "a', "1: no JSON from here on"),
    "byte 0": (b'{"camera": "a"}\0{', "1: no JSON from here on"),
    "no UTF-8": (b'{"camera": "\xff"}', "1: no JSON from here on"),
    "deep": ("[" * 10000, "1: no JSON from here on"),
    "no object": ('["camera"]', "1: no object, allowed: an object of JSON"),
    "nothing": ("", "1: no JSON from here on"),
    "comma": ('{"camera": "a"\n"view": "gray"}', "2: no JSON from here on"),
    "comment": ('{"camera": "a", # mine\n"view": "gray"}', "1: no JSON from here on"),
    "too long": ('{"camera": "' + "a" * 70000 + '"}', "standard input has more answers than the 65535 bytes"),
}


@pytest.mark.parametrize("answers, told", WRONG.values(), ids=WRONG.keys())
def test_a_wrong_answer_names_its_line_and_what_is_allowed(config, answers, told):
    refused = run_setup(config, answers)
    assert refused.returncode == 1
    assert told in refused.stderr.decode() and "allowed" in told + refused.stderr.decode()
    if told[0].isdigit():
        assert refused.stderr.decode().startswith(f"edgectl: standard input:{told}"), refused.stderr
    assert list(config.parent.iterdir()) == []
    for secret in (b"correct horse", b"short", b"password1"):
        assert secret not in refused.stdout + refused.stderr


def test_the_command_line_comes_before_the_answers(config):
    done = run_setup(config, {"camera": "yard", "view": "canny"}, "--camera", "gate", "--view", "gray")
    assert done.returncode == 0, done.stderr
    assert 'name = "gate";' in config.read_text() and "canny" not in config.read_text()


def test_no_answer_changes_nothing_and_asks_nothing(config):
    config.write_text("cpu_threads = 3;\n")
    done = run_setup(config, {})
    assert done.returncode == 0 and config.read_text() == "cpu_threads = 3;\n", done.stderr
    refused = run_setup(config, {"camera": "yard"})
    assert refused.returncode == 1 and b"--force" in refused.stderr
    terminal = on_terminal("setup", "--config", config, "--answers", config.parent / "none")
    assert terminal.wait() == 1 and b"[auto]" not in terminal.shown
