"""edgectl setup: from nothing to a configuration that edged takes, and what it leaves alone."""

import os
import re
import shutil
import subprocess
import tempfile

import pytest

import daemon
from daemon import EDGECTL, PATIENCE_S, ROOT, environment, run_edged
from edgectl import on_terminal
from ports import free_port

PASSWORD = "correct horse"


@pytest.fixture
def config(tmp_path):
    return tmp_path / "edged.conf"


def run_setup(config, *arguments, password=PASSWORD):
    return subprocess.run(
        [EDGECTL, "setup", "--config", config, *arguments], input=f"{password}\n", text=True,
        env=environment(), capture_output=True, timeout=PATIENCE_S, check=False,
    )


def names(config):
    return sorted(path.name for path in config.parent.iterdir())


def test_flags_make_what_edged_takes(config):
    done = run_setup(config, "--user", "anna", "--camera", "yard", "--view", "canny",
                 "--device", "/dev/video63", "--address", "127.0.0.1")
    assert done.returncode == 0, done.stderr
    assert "rtsp://127.0.0.1:8554/yard/canny" in done.stdout
    assert PASSWORD not in done.stdout + done.stderr
    assert run_edged("--config", config, "--check").returncode == 0
    written = config.read_text()
    for line in (f'users = "{config.parent}/rtsp.users";',
                 'name = "yard";', 'source = "v4l2";', 'device = "/dev/video63";',
                 'view = "canny";'):
        assert line in written
    assert (config.parent / "rtsp.users").stat().st_mode & 0o7777 == 0o600
    assert "\nanna:viewer:" in (config.parent / "rtsp.users").read_text()


def test_a_user_is_for_the_network(config):
    done = run_setup(config, "--user", "anna")
    assert done.returncode == 0, done.stderr
    assert 'address = "0.0.0.0";' in config.read_text()
    assert "ffplay -rtsp_transport tcp rtsp://anna:PASSWORD@" in done.stdout


@pytest.mark.parametrize("installed, named, hint", [
    (["ffplay", "mpv"], "ffplay -rtsp_transport tcp ", False),
    (["mpv"], "mpv --rtsp-transport=tcp ", False),
    ([], "ffplay -rtsp_transport tcp ", True),
])
def test_the_player_that_is_named_is_installed_or_has_its_package(config, tmp_path, installed, named,
                                                                  hint):
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in installed:
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)
    done = subprocess.run(
        [EDGECTL, "setup", "--config", config, "--user", "anna"], input=f"{PASSWORD}\n", text=True,
        env=environment(PATH=str(programs)), capture_output=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stderr
    assert f"  {named}rtsp://anna:PASSWORD@" in done.stdout
    assert ("`sudo apt install ffmpeg`" in done.stdout) == hint


def test_tls_is_offered_with_the_fingerprint_of_the_running_edged(config, edged, tmp_path):
    server = edged([daemon.camera()], settings={"rtsp": {"tls_port": free_port()}},
                   STATE_DIRECTORY=tmp_path)
    config.write_text(f'control = {{ socket = "{server.socket}"; }};')
    done = run_setup(config, "--user", "anna", "--address", "10.1.2.3", "--tls", "--force")
    assert done.returncode == 0, done.stderr
    assert "tls_port = 8322;" in config.read_text()
    assert "\n  rtsps://10.1.2.3:8322/edges\n" in done.stdout
    assert f"\n  {server.status()['certificate']['fingerprint']}\n" in done.stdout
    server.stop()
    done = run_setup(config, "--address", "10.1.2.3", "--tls", "--force")
    assert "`edgectl status` shows the certificate's fingerprint" in done.stdout


def test_the_port_inside_tls_is_named_as_well(config):
    config.write_text("rtsp = { tls_port = 8322; };")
    done = run_setup(config, "--user", "anna", "--address", "10.1.2.3", "--force")
    assert done.returncode == 0, done.stderr
    assert "\n  rtsps://10.1.2.3:8322/edges\n" in done.stdout


def test_the_port_inside_tls_may_be_the_only_one(config):
    config.write_text("rtsp = { plain = false; tls_port = 8322; };")
    done = run_setup(config, "--user", "anna", "--address", "10.1.2.3", "--force")
    assert done.returncode == 0, done.stderr
    assert "\n  rtsps://10.1.2.3:8322/edges\n" in done.stdout
    assert " rtsp://" not in done.stdout


def test_without_a_user_it_stays_this_machines_own(config):
    done = run_setup(config, "--view", "motion")
    assert done.returncode == 0, done.stderr
    assert "address" not in config.read_text()
    refused = run_setup(config, "--address", "0.0.0.0", "--force")
    assert refused.returncode == 1
    assert "rtsp.address: got \"0.0.0.0\", allowed:" in refused.stderr
    assert "address" not in config.read_text()


@pytest.mark.parametrize("text", [
    (ROOT / "config" / "edged.conf").read_text(),
    "# of another version\ncpu_threads = 1;\n",
], ids=["installed", "older"])
def test_a_configuration_of_defaults_is_replaced_without_asking(config, text):
    config.write_text(text)
    done = run_setup(config, "--user", "anna")
    assert done.returncode == 0, done.stderr
    assert 'rtsp.address: "127.0.0.1" -> "0.0.0.0"' in done.stdout
    assert names(config) == ["edged.conf", "edged.conf.bak", "rtsp.users"]
    assert (config.parent / "edged.conf.bak").read_text() == text
    assert f"{config}.bak is the file as it was before" in done.stdout


def test_only_what_differs_is_changed_in_the_file(config):
    """Word for word: comments, order and settings that stay; no key that has its default is added."""
    config.write_text("""# mine
rtsp = { address = "127.0.0.1"; port = 9554; };   # another one
cameras = (
  /* the door; once { name = "gate" } */
  { name = "front"; source = "pattern";
    views = ( { name = "edges"; view = "edges"; gain = 1.5; }, # strong
              { view = "canny"; } );
  },
  { name = "back"; source = "pattern"; }
);
""")
    done = run_setup(config, "--user", "anna", "--device", "rtsp://camera/1", "--force")
    assert done.returncode == 0, done.stderr
    assert config.read_text() == f"""# mine
rtsp = {{ address = "0.0.0.0"; port = 9554; users = "{config.parent}/rtsp.users"; }};   # another one
cameras = (
  /* the door; once {{ name = "gate" }} */
  {{ name = "front"; source = "rtsp";
    views = ( {{ name = "edges"; view = "edges"; gain = 1.5; }}, # strong
              {{ view = "canny"; }} );
    url = "rtsp://camera/1";
  }},
  {{ name = "back"; source = "pattern"; }}
);
"""
    done = run_setup(config, "--view", "motion", "--force")
    assert done.returncode == 0, done.stderr
    assert """
    views = ( { name = "motion"; view = "motion"; },
        { name = "edges"; view = "edges"; gain = 1.5; },
        { view = "canny"; } );
""" in config.read_text()
    assert "# mine\n" in config.read_text() and "/* the door" in config.read_text()


def test_a_new_file_has_only_what_is_not_the_default(config):
    assert run_setup(config, "--view", "canny", "--device", "/dev/video63").returncode == 0
    settings = [line for line in config.read_text().splitlines() if line and not line.startswith("#")]
    assert "".join(settings) == (
        'cameras = ( { name = "front"; source = "v4l2"; device = "/dev/video63"; '
        'views = ( { name = "canny"; view = "canny"; },  { name = "edges"; view = "edges"; } ); } );')


def test_settings_of_an_included_file_are_written_out_where_they_change(config):
    (config.parent / "network.conf").write_text('rtsp = { port = 9554; };\n')
    config.write_text('# mine\n@include "network.conf"\ncpu_threads = 2;\n')
    assert run_setup(config, "--view", "canny", "--force").returncode == 0
    assert '# mine\n@include "network.conf"\n' in config.read_text()
    done = run_setup(config, "--user", "anna", "--force")
    assert done.returncode == 0, done.stderr
    assert "port = 9554;" in config.read_text() and 'address = "0.0.0.0";' in config.read_text()
    assert run_edged("--config", config, "--check").returncode == 0


def test_files_named_relative_to_the_configuration_stay_so(config):
    assert run_setup(config, "--user", "anna").returncode == 0
    text = '# mine\nrtsp = { users = "rtsp.users"; address = "0.0.0.0"; };  # beside\n'
    config.write_text(text)
    assert run_setup(config, "--view", "canny", "--force").returncode == 0
    assert config.read_text().startswith(text)
    assert run_edged("--config", config, "--check").returncode == 0


def test_a_copy_of_the_file_is_never_overwritten(config):
    config.write_text("# first\n")
    for view in ("canny", "motion", "gray"):
        assert run_setup(config, "--view", view, "--force").returncode == 0
    copies = [(config.parent / f"edged.conf.bak{end}").read_text() for end in ("", ".1", ".2")]
    assert copies[0] == "# first\n"
    assert "canny" in copies[1] and "motion" not in copies[1]
    assert "motion" in copies[2] and "gray" not in copies[2]


def test_somebodys_configuration_is_kept_without_force(config):
    own = """
        # mine
        cpu_threads = 3;
        cameras = ( { name = "gate"; source = "file"; path = "/bin/true"; fps = 12;
                      views = ( { view = "gray"; name = "plain"; }, { view = "canny"; low = 7; } ); } );
    """
    config.write_text(own)
    config.chmod(0o640)
    refused = run_setup(config, "--user", "anna", "--view", "canny")
    assert refused.returncode == 1
    assert 'rtsp.address: "127.0.0.1" -> "0.0.0.0"' in refused.stdout
    assert "--force" in refused.stderr
    assert config.read_text() == own
    assert names(config) == ["edged.conf"]

    done = run_setup(config, "--user", "anna", "--view", "canny", "--force")
    assert done.returncode == 0, done.stderr
    assert (config.parent / "edged.conf.bak").read_text() == own
    assert config.stat().st_mode & 0o7777 == 0o640
    assert "/gate/canny" in done.stdout  # the view that was the second
    diff = run_edged("--config", config, "--check", "--diff", f"{config}.bak").stdout
    assert "rtsp.users" in diff
    for kept in ("cpu_threads", "fps", "path", "low", "plain"):
        assert kept not in diff


def test_a_view_is_put_in_front_of_those_there(config):
    config.write_text('''cameras = ( { name = "gate"; views = (
        { name = "motion"; view = "edges"; gain = 2.0; }, { name = "plain"; view = "gray"; },
        { name = "both"; view = "split"; left = "motion"; right = "plain"; } ); } );''')
    shutil.copy(config, f"{config}.was")
    done = run_setup(config, "--view", "motion", "--force")
    assert done.returncode == 0, done.stderr
    assert "/gate/motion-2" in done.stdout
    written = config.read_text()
    places = [written.index(f'name = "{name}";') for name in ("motion-2", "motion", "plain", "both")]
    assert places == sorted(places)
    diff = run_edged("--config", config, "--check", "--diff", f"{config}.was").stdout
    assert [line for line in diff.splitlines() if "views" in line and "motion-2" not in line and
            "->" in line] == []


@pytest.mark.parametrize("url, kept, login", [
    ("rtsp://192.0.2.7/stream1", "rtsp://192.0.2.7/stream1", None),
    ("RTSP://admin:p%40ss:w/rd@192.0.2.7:554/a?b=c", "rtsp://192.0.2.7:554/a?b=c", "admin:p@ss:w/rd"),
    ("rtsps://admin@192.0.2.7/a", "rtsps://192.0.2.7/a", "admin:"),
])
def test_an_ip_camera_is_a_device(config, url, kept, login):
    done = run_setup(config, "--camera", "yard", "--device", url)
    assert done.returncode == 0, done.stderr
    written = config.read_text()
    assert 'source = "rtsp";' in written and f'url = "{kept}";' in written
    place = config.parent / "yard.credentials"
    if login:
        assert place.read_text() == login
        assert place.stat().st_mode & 0o7777 == 0o600
        assert f'credentials = "{place}";' in written
    else:
        assert not place.exists()
    assert run_edged("--config", config, "--check").returncode == 0


def test_another_ip_camera_gets_nobodys_password(config):
    assert run_setup(config, "--device", "rtsp://a:secret@192.0.2.7/").returncode == 0
    assert run_setup(config, "--device", "rtsp://192.0.2.8/", "--force").returncode == 0
    assert 'credentials = "";' in config.read_text()


@pytest.mark.parametrize("device", ["webcam", "http://192.0.2.7/", "/", "/etc/passwd",
                                    "rtsp://", "rtsp://:p@192.0.2.7/", "rtsp://192.0.2.7:99999/"])
def test_what_is_no_camera_is_refused(config, device):
    refused = run_setup(config, "--device", device)
    assert refused.returncode == 1
    assert "allowed" in refused.stderr
    assert names(config) == []


def test_nothing_to_change_needs_no_force(config):
    for _ in range(2):
        done = run_setup(config, "--user", "anna")
        assert done.returncode == 0, done.stderr
    assert names(config) == ["edged.conf", "rtsp.users"]


@pytest.mark.parametrize("arguments, password, message", [
    (["--view", "egdes"], PASSWORD, "allowed"),
    (["--camera", "back yard"], PASSWORD, "cameras[0].name"),
    (["--user", "anna:x"], PASSWORD, "--user"),
    (["--user", "anna", "--address", "nowhere at all"], PASSWORD, "rtsp.address"),
    (["--user", "anna"], "short", "8"),
    (["--user", "anna"], "", "no password"),
])
def test_mistakes_leave_nothing_behind(config, arguments, password, message):
    done = run_setup(config, *arguments, password=password)
    assert done.returncode == 1
    assert message in done.stderr
    assert names(config) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_who_may_not_write_is_told_first():
    with tempfile.TemporaryDirectory() as directory:  # what is built may be where nobody else may go
        os.chmod(directory, 0o755)
        edgectl = shutil.copy(EDGECTL, directory)
        done = subprocess.run(
            [edgectl, "setup", "--config", "/edged-is-not-here/edged.conf", "--user", "anna"],
            stdin=subprocess.DEVNULL, env=environment(), capture_output=True, text=True,
            timeout=PATIENCE_S, check=False, user=65534, group=65534, extra_groups=[],
        )
    assert done.returncode == 1
    assert "cannot write to /edged-is-not-here: Permission denied; run it with sudo" in done.stderr


def test_a_broken_configuration_is_not_changed_without_force(config):
    config.write_text("cameras = ( { fps = -1; } );")
    refused = run_setup(config, "--user", "anna")
    assert refused.returncode == 1
    assert "cameras[0].fps" in refused.stderr
    assert "run this on a terminal, where it offers to mend them" in refused.stderr
    assert config.read_text() == "cameras = ( { fps = -1; } );"
    assert run_setup(config, "--user", "anna", "--force").returncode == 0
    assert run_edged("--config", config, "--check").returncode == 0
    assert (config.parent / "edged.conf.bak").read_text() == "cameras = ( { fps = -1; } );"


PATTERN = 'cameras = ( { source = "pattern"; } );  # mine\n'
# A file with a mistake, what is told of it, answers with what is told of them where they are wrong,
# and the file that comes out; "" is Enter.
MENDS = {
    "value": ('cameras = ( { source = "pattern"; fps = -1; } );  # mine\n',
              ":1: error: cameras[0].fps: got -1, allowed: an integer from 1 to 240",
              [("[30]: ", "300", "got 300, allowed"), ("[30]: ", "fast", "got the string"),
               ("[30]: ", "25", "")],
              'cameras = ( { source = "pattern"; fps = 25; } );  # mine\n'),
    "word": ('cameras = ( { source = "patern"; } );  # mine\n', 'did you mean "pattern"?',
             [("[pattern]: ", "", "")], PATTERN),
    "key": (PATTERN + 'control = { sokcet = "/tmp/s"; };\n', ":2: error: control.sokcet: unknown key",
            [("[socket]: ", "plug", "control.plug: unknown key"), ("[out]: ", "socket", "")],
            PATTERN + 'control = { socket = "/tmp/s"; };\n'),
    "needed": ('cameras = ( { source = "rtsp"; } );\n', "cameras[0].url: got nothing, allowed",
               [("[keep]: ", "http://x", "allowed"), ("[keep]: ", "rtsp://192.0.2.7/a", "")],
               'cameras = ( { url = "rtsp://192.0.2.7/a"; source = "rtsp"; } );\n'),
    "taken out": (PATTERN + "cpu_threads = 2; colour = [1, 2]; # red\n", "colour: unknown key",
                  [("[out]: ", "", "")], PATTERN + "cpu_threads = 2;  # red\n"),
    "mark and carriage return": (
        '\ufeff# first\r\n' + PATTERN.replace("pattern", "patern").replace("\n", "\r\n"),
        ":2: error: cameras[0].source", [("[pattern]: ", "", "")],
        '\ufeff# first\r\n' + PATTERN.replace("\n", "\r\n")),
    "quote": ("cameras = ( { source = \u201cpattern\u201d; } );  # mine\n", "got a curly quote",
              [('source = "pattern"; } );  # mine]: ', "", "")], PATTERN),
    "bracket": (PATTERN + "  rtsp = { port = 8554;\n", ':2: error: syntax error: "{" is never closed',
                [("[keep]: ", "rtsp = { port = 8554; ;", "never closed"),
                 ("[keep]: ", "rtsp = { port = 8554; };", "")],
                PATTERN + "  rtsp = { port = 8554; };\n"),
    "twice": (PATTERN + "cameras = ( );\n", "cameras is set at ", [("[keep]: ", "# no", "")],
              PATTERN + "# no\n"),
}


@pytest.mark.parametrize("was, told, answers, mended", MENDS.values(), ids=MENDS.keys())
def test_a_mistake_is_mended_by_an_answer_that_edged_takes(config, was, told, answers, mended):
    config.write_bytes(was.encode())
    terminal = on_terminal("setup", "--config", config)
    terminal.wait_shown(told.encode())
    for question, typed, wrong in answers:
        terminal.answer((question.encode(), typed.encode()))
        terminal.wait_shown(wrong.encode())
    terminal.answer((b"[camera0]: ", b""), (b"[edges]: ", b""), (b"[viewer]: ", b"none"),
                    (b"[off]: ", b""))
    terminal.wait_shown(b"Write that to")
    assert config.read_bytes() == was.encode() and names(config) == ["edged.conf"]
    terminal.type(b"yes\n")
    assert terminal.wait() == 0, terminal.shown.decode()
    assert config.read_bytes() == mended.encode()
    assert (config.parent / "edged.conf.bak").read_bytes() == was.encode()
    assert run_edged("--config", config, "--check").returncode == 0


def test_a_mistake_that_is_kept_leaves_the_others_mended(config):
    was = "# mine\ncpu_threads = 0;\nnonsense = 3;\n"
    config.write_text(was)
    terminal = on_terminal("setup", "--config", config)
    terminal.answer((b"cpu_threads; out takes it out of the file, keep leaves it as it is [1]: ", b"2"),
                    (b"Key in the place of nonsense; ", b"keep"), (b"Write that to", b"yes"))
    assert terminal.wait() == 1
    assert b"cpu_threads: 0 -> 2\r\n" in terminal.shown
    assert b"before you correct what you have kept" in terminal.shown
    assert config.read_text() == "# mine\ncpu_threads = 2;\nnonsense = 3;\n"
    assert (config.parent / "edged.conf.bak").read_text() == was


def test_a_mistake_of_an_included_file_is_told_and_left(config):
    (config.parent / "more.conf").write_text("cpu_threads = 0;\n")
    config.write_text('@include "more.conf"\n')
    terminal = on_terminal("setup", "--config", config)
    assert terminal.wait() == 1
    assert b"more.conf:1: error: cpu_threads: got 0, allowed" in terminal.shown
    assert b"Another file has it, which setup leaves as it is." in terminal.shown
    assert (config.parent / "more.conf").read_text() == "cpu_threads = 0;\n"
    assert names(config) == ["edged.conf", "more.conf"]


def test_the_end_of_the_input_mends_nothing(config):
    config.write_text("cpu_threads = 0; colour = 1;\n")
    terminal = on_terminal("setup", "--config", config)
    terminal.answer((b"[1]: ", b""), (b"[out]: ", b"\x04"))
    assert terminal.wait() == 1
    assert b"nothing is written" in terminal.shown
    assert config.read_text() == "cpu_threads = 0; colour = 1;\n" and names(config) == ["edged.conf"]


def test_a_terminal_is_asked_for_the_rest(config, tmp_path):
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "qrencode").write_text('#!/bin/sh\necho "qrencode $@"\n')
    (programs / "qrencode").chmod(0o755)
    terminal = on_terminal("setup", "--config", config, "--device", "auto",
                           PATH=f"{programs}:{os.environ['PATH']}")
    terminal.answer((b"[front]: ", b"yard"), (b"[edges]: ", b"egdes"),
                    (b"[edges]: ", b"edges"), (b"[viewer]: ", b"two words"),
                    (b"[viewer]: ", b"anna"), (b"[0.0.0.0]: ", b"10.1.2.3"), (b"rtsps [no]: ", b"yes"),
                    (b"inside TLS [yes]: ", b""), (b"always [off]: ", b"sometimes"),
                    (b"always [off]: ", b"events"), (b"of its own [no]: ", b""), (b"Password of anna", b"short"), (b"again: ", b"short"))
    for question in (b"Password of anna", b"again: "):
        terminal.answer((question, PASSWORD.encode()))
        assert PASSWORD.encode() not in terminal.process("cmdline")
    terminal.answer((b"Write that to", b"yes"))
    assert terminal.wait() == 0, terminal.shown
    assert b"qrencode -t ANSIUTF8 rtsp://10.1.2.3:8554/edges" in terminal.shown
    assert PASSWORD.encode() not in terminal.shown
    assert 'name = "yard";' in config.read_text()
    assert "tls_port = 8322;" in config.read_text()
    assert 'http = { address = "10.1.2.3"; tls = true; };' in config.read_text()
    assert 'record = { mode = "events"; };' in config.read_text()
    assert 'regions = ( { name = "picture"; } );' in config.read_text()
    assert b"  https://10.1.2.3:9854\r\n" in terminal.shown
    assert run_edged("--config", config, "--check").returncode == 0
    assert "\nanna:viewer:" in (config.parent / "rtsp.users").read_text()


def test_a_broker_is_asked_for_where_edged_mqtt_is(config):
    """Once: what is there already is offered, and its login is not asked for again."""
    terminal = on_terminal("setup", "--config", config, "--device", "auto", EDGED_MQTT_PROGRAM="edged-mqtt")
    terminal.answer((b"[front]: ", b""), (b"[edges]: ", b""), (b"[viewer]: ", b"none"), (b"[off]: ", b""),
                    (b"finds the cameras [none]: ", b"mqtt://there"), (b"allowed: a name or an address", b""),
                    (b"Write that to", b"no"))
    terminal.wait()
    assert not config.exists()
    terminal = on_terminal("setup", "--config", config, "--device", "auto", EDGED_MQTT_PROGRAM="edged-mqtt")
    terminal.answer((b"[front]: ", b""), (b"[edges]: ", b""), (b"[viewer]: ", b"none"), (b"[off]: ", b""),
                    (b"finds the cameras [none]: ", b"home.local"), (b"inside TLS [no]: ", b"yes"),
                    (b"at the broker, or none [none]: ", b"jetson"), (b"Password of that user", PASSWORD.encode()))
    terminal.answer((b"Write that to", b"yes"))
    assert terminal.wait() == 0, terminal.shown
    secret = config.parent / "mqtt.password"
    assert (f'mqtt = {{ broker = "home.local"; tls = true; user = "jetson"; password_file = "{secret}"; }};'
            in config.read_text())
    assert secret.read_text() == PASSWORD and secret.stat().st_mode & 0o7777 == 0o600
    assert PASSWORD.encode() not in terminal.shown
    assert run_edged("--config", config, "--check").returncode == 0
    again = on_terminal("setup", "--config", config, "--device", "auto", EDGED_MQTT_PROGRAM="edged-mqtt")
    again.answer((b"[front]: ", b""), (b"[edges]: ", b""), (b"[viewer]: ", b"none"), (b"[off]: ", b""),
                 (b"finds the cameras [home.local]: ", b""))
    assert again.wait() == 0, again.shown
    done = run_setup(config, "--broker", "none", "--force")
    assert done.returncode == 0 and 'mqtt = { broker = "";' in config.read_text(), done.stderr


def test_each_wrong_answer_is_asked_again_with_its_rule(config):
    """Nothing is lost, and no file is touched before the last answer."""
    was = "# mine\ncpu_threads = 3;\n"
    config.write_text(was)
    terminal = on_terminal("setup", "--config", config)
    for question, wrong, rule, right in [
        (b"rtsp://HOST/PATH [auto]: ", b"webcam", b"allowed: auto, a device", None),
        (b"[auto]: ", b"/dev/edged-is-not-here", b"There is no /dev/edged-is-not-here", None),
        (b"[auto]: ", b"rtsp://192.0.2.7:99999/", b"1 to 65535", b"rtsp://192.0.2.7/live"),
        (b"User of that camera", b"ad:min", b"without a colon", b"admin"),
        (b"at the camera: ", b"", b"no password was given", b"camera-secret"),
        (b"[front]: ", b"back yard", b"cameras[0].name: got \"back yard\", allowed", None),
        (b"[front]: ", b"y" * 300, b"too long", b"yard"),
        (b"[edges]: ", b"egdes", b"allowed", b"canny"),
        (b"[viewer]: ", b"two words", b"Allowed: 1 to 32", b"anna"),
        (b"[0.0.0.0]: ", b"nowhere at all", b"rtsp.address: got \"nowhere at all\", allowed",
         b"127.0.0.1"),
    ]:
        terminal.answer((question, wrong))
        terminal.wait_shown(rule)
        if right is not None:
            terminal.answer((question[-4:], right))
        assert config.read_text() == was and names(config) == ["edged.conf"]
    terminal.answer((b"[off]: ", b"maybe"), (b"[off]: ", b""))
    rule = b"at least 8 characters, not a common password.\r\nPassword of anna: "
    for wrong, again, told in [(b"short", b"short", b"8"), (b"password1", b"password1", b"commonest"),
                               (PASSWORD.encode(), b"another one", b"differ")]:
        terminal.answer((rule, wrong), (b"again: ", again))
        terminal.wait_shown(told)
    terminal.answer((rule, PASSWORD.encode()), (b"again: ", PASSWORD.encode()),
                    (b"Write that", b"perhaps"), (b"yes or no", b""))
    assert terminal.wait() == 0, terminal.shown.decode()
    shown = terminal.shown.decode()
    assert ": error:" not in shown  # no line of a file that is not written
    for secret in (PASSWORD, "camera-secret"):
        assert secret not in shown
    assert (config.parent / "edged.conf.bak").read_text() == was
    assert (config.parent / "yard.credentials").read_text() == "admin:camera-secret"
    assert run_edged("--config", config, "--check").returncode == 0


def test_a_terminal_that_says_no_changes_nothing(config):
    config.write_text("cpu_threads = 3;")
    terminal = on_terminal("setup", "--config", config, "--device", "auto", "--camera", "yard",
                           "--view", "gray")
    terminal.answer((b"[viewer]: ", b"none"), (b"[off]: ", b""), (b"Write that to", b"no"))
    assert terminal.wait() == 1
    assert config.read_text() == "cpu_threads = 3;"
    assert names(config) == ["edged.conf"]


def test_the_end_of_the_input_writes_nothing(config):
    terminal = on_terminal("setup", "--config", config, "--device", "auto")
    terminal.answer((b"[front]: ", b"yard"))
    terminal.wait_shown(b"[edges]: ")
    terminal.type(b"\x04")
    assert terminal.wait() == 1
    assert b"nothing is written" in terminal.shown
    assert names(config) == []


def test_onvif_is_opened_with_a_user_whose_password_is_shown(config):
    done = run_setup(config, "--onvif", "--address", "10.1.2.3")
    assert done.returncode == 0, done.stderr
    shown = re.search(r"ONVIF\): address 10\.1\.2\.3, port 9854, user onvif, password ([a-z2-9]{16})\n", done.stdout)
    assert shown, done.stdout
    written = config.read_text()
    assert "onvif = { enabled = true; };" in written
    assert 'http = { address = "10.1.2.3"; tls = true; };' in written
    assert run_edged("--config", config, "--check").returncode == 0
    assert "\nonvif:viewer:" in (config.parent / "rtsp.users").read_text()
    assert f"\nonvif:{shown[1]}\n" in (config.parent / "onvif.passwords").read_text()
    assert "ONVIF" not in run_setup(config, "--view", "gray", "--force").stdout
    again = run_setup(config, "--onvif", "--view", "edges", "--force")
    assert f"user onvif, password {shown[1]}\n" in again.stdout, "recorders that have it go on"
    # Another password for that user, which is not drawn, is none of ONVIF's.
    assert run_setup(config, "--user", "onvif", "--force").returncode == 0
    assert "onvif:" not in (config.parent / "onvif.passwords").read_text()


def test_onvif_is_asked_for_with_the_network(config):
    terminal = on_terminal("setup", "--config", config, "--device", "auto")
    terminal.answer((b"[front]: ", b""), (b"[edges]: ", b""), (b"[viewer]: ", b"anna"), (b"[0.0.0.0]: ", b""),
                    (b"rtsps [no]: ", b""), (b"inside TLS [yes]: ", b""), (b"[off]: ", b""),
                    (b"of its own [no]: ", b"yes"), (b"Password of anna", PASSWORD.encode()),
                    (b"again: ", PASSWORD.encode()), (b"Write that to", b"yes"))
    assert terminal.wait() == 0, terminal.shown
    assert b"user onvif, password " in terminal.shown and "onvif = { enabled = true; };" in config.read_text()


def test_where_nobody_is_asked_onvif_needs_no_user(config):
    config.write_text('rtsp = { auth = "none"; address = "0.0.0.0"; }; http = { address = "0.0.0.0"; };')
    done = run_setup(config, "--onvif", "--force")
    assert done.returncode == 0 and "port 9854\n" in done.stdout, done
    assert names(config) == ["edged.conf", "edged.conf.bak"] and "tls" not in config.read_text()
