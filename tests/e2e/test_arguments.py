"""What is typed wrong is told first, with a short usage behind it; -h and -v work everywhere."""

import re
import subprocess

import pytest

from daemon import BUILD, EDGECTL, PATIENCE_S, ROOT, environment

COMMANDS = ["setup", "status", "top", "snapshot", "reload", "set", "unset", "diff", "passwd", "token", "page",
            "watch", "process", "events", "bench", "doctor", "support", "tune"]
EVERY = [[BUILD / "edged"], [BUILD / "edged-camera"], [EDGECTL], *([EDGECTL, name] for name in COMMANDS)]


def call(*command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          env=environment(), timeout=PATIENCE_S, check=False)


@pytest.mark.parametrize("command", EVERY, ids=lambda command: command[-1])
def test_short_and_long_options_say_the_same(command):
    for short, long, begin in (("-h", "--help", ("Usage: ", "edged starts")), ("-v", "--version", "edge")):
        told = call(*command, long)
        assert told.returncode == 0 and told.stdout.startswith(begin) and told.stderr == ""
        assert call(*command, short).stdout == told.stdout


def test_help_explains_a_command():
    assert call(EDGECTL, "help", "set").stdout == call(EDGECTL, "set", "--help").stdout
    assert call(EDGECTL, "help").stdout == call(EDGECTL, "--help").stdout
    assert 'did you mean "set"?' in call(EDGECTL, "help", "sett").stderr


def test_of_the_file_that_names_the_socket_only_mistakes_are_told(tmp_path):
    config = tmp_path / "edged.conf"
    config.write_text(f'control = {{ socket = "{tmp_path}/control.sock"; }};\n'
                      'cameras = ( { source = "file"; path = "none.mp4"; } );\n')
    assert "none.mp4" in call(BUILD / "edged", "--check", "--config", config).stderr
    assert "none.mp4" not in call(EDGECTL, "status", "--config", config).stderr
    config.write_text('control = { sockt = "control.sock"; };\n')
    assert 'did you mean "socket"?' in call(EDGECTL, "status", "--config", config).stderr


@pytest.mark.parametrize("command", [*EVERY[:1], *EVERY[2:]], ids=lambda command: command[-1])
def test_a_wrong_option_is_told_first(command):
    refused = call(*command, "--edged-has-no-such-option")
    assert refused.returncode == 2 and refused.stdout == ""
    first, second, *rest = refused.stderr.splitlines()
    assert "--edged-has-no-such-option" in first
    assert second.startswith("Usage: ")
    assert len(rest) <= 5 and "--help` " in rest[-1]


@pytest.mark.parametrize("arguments, first", [
    (["process", "a.pgm"], "edgectl: process takes 2 arguments, got 1"),
    (["events"], "edgectl: events takes 1 argument, got 0"),
    (["passwd"], "edgectl: passwd takes one user, and asks for the password"),
    (["status", "now"], "edgectl: status takes no argument \"now\""),
    (["set", "--keep"], "edgectl: set takes settings, KEY=VALUE"),
    (["unset"], "edgectl: unset takes keys"),
    ([], "edgectl: no command was given"),
])
def test_what_is_missing_is_told_first(arguments, first):
    refused = call(EDGECTL, *arguments)
    assert refused.returncode == 2
    assert refused.stderr.startswith(first + "\nUsage: edgectl ")


# Options of WHERE and --help are explained once for all commands; unset and diff stand in SET.
@pytest.mark.parametrize("name", COMMANDS)
def test_the_manual_names_every_option_of_a_command(name):
    manual = (ROOT / "daemon/ctl/edgectl.1").read_text().replace("\\-", "-")
    synopsis, rest = manual.split(".SH DESCRIPTION", 1)
    section = re.search(rf"^\.SH {'SET' if name in ('unset', 'diff') else name.upper()}$(.*?)^\.SH ",
                        rest, re.DOTALL | re.MULTILINE).group(1)
    used = "".join(re.findall(rf"^\.B edgectl {name}\b(.*?)^\.(?:br|SH)", f"{synopsis}.SH\n",
                              re.DOTALL | re.MULTILINE))
    told = call(EDGECTL, name, "--help").stdout
    options = set(re.findall(r"^ +(--[a-z][a-z-]+)", told, re.MULTILINE))
    for option in options - {"--help", "--config", "--socket", "--host", "--token-file", "--ca",
                             "--fingerprint"}:
        assert option in section
        assert option in used
