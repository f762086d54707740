"""What the READMEs tell people to type: configurations that edged takes, commands that there are."""

import pathlib
import re
import shutil
import subprocess

import pytest

import daemon

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", *ROOT.glob("*/README.md"), ROOT / "config/fleet/README.md"])
CONFIGURATIONS = [
    (page, block)
    for page in PAGES
    for block in re.findall(r"^```\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    if re.match(r"\w+ *= *[({]", block)
]


@pytest.mark.parametrize(("page", "block"), CONFIGURATIONS)
def test_configurations_are_taken(tmp_path, page, block):
    for name in re.findall(r'mask = "(.*?)"', block):
        shutil.copy(ROOT / "tests/data/chelsea.png", tmp_path / name)
    for name in re.findall(r'credentials = "(.*?)"', block):
        (tmp_path / name).write_text("user:password\n")
        (tmp_path / name).chmod(0o600)
    users = tmp_path / "rtsp.users"
    subprocess.run([daemon.BUILD / "edgectl", "passwd", "--file", users, "anna"],
                   input="correct horse\n", text=True, check=True, capture_output=True)
    if "onvif" in block:
        subprocess.run([daemon.BUILD / "edgectl", "passwd", "--onvif", "--file", users, "recorder"], check=True,
                       capture_output=True)
    configuration = tmp_path / "edged.conf"
    configuration.write_text(block.replace("/etc/edged/rtsp.users", str(users)))
    check = subprocess.run([daemon.BUILD / "edged", "--check", "--config", configuration],
                           capture_output=True, text=True, check=False)
    assert check.returncode == 0, check.stderr
    # A device may not be there, and a camera may know no TLS; all else has to be right.
    beside = re.compile("cannot open \"/dev/|credentials: .* in plain text with rtsp://")
    warnings = [line for line in check.stderr.splitlines() if not beside.search(line)]
    assert not warnings, (page, warnings)


def test_first_page_names_every_command_of_edgectl():
    usage = subprocess.run([daemon.BUILD / "edgectl", "--help"], capture_output=True, text=True,
                           check=True).stdout
    there_are = set(re.findall(r"^  (\w+)  ", usage, re.MULTILINE))
    rows = re.findall(r"^\| (`edgectl [^|]*)\|", (ROOT / "README.md").read_text(), re.MULTILINE)
    told = re.findall(r"`edgectl (\w+)", " ".join(rows))
    assert sorted(told) == sorted(there_are)


def test_first_page_names_every_view(tmp_path):
    table = re.findall(r"^\| (`[a-z`, ]+`) \| ", (ROOT / "README.md").read_text(), re.MULTILINE)
    told = {view for row in table for view in re.findall(r"`([a-z]+)`", row)}
    (tmp_path / "edged.conf").write_text('cameras = ( { views = ( { view = "none"; } ); } );\n')
    check = subprocess.run([daemon.BUILD / "edged", "--check", "--config", tmp_path / "edged.conf"],
                           capture_output=True, text=True, check=False)
    allowed = check.stderr.split("allowed:")[1]
    assert told == set(re.findall(r'"([a-z]+)"', allowed))


def test_make_has_every_target_that_is_named():
    rules = re.findall(r"^([a-z0-9 -]+):", "".join(
        (ROOT / name).read_text() for name in ("Makefile", "tests/tests.mk", "scripts/install.mk")), re.MULTILINE)
    targets = {target for rule in rules for target in rule.split()}
    for page in PAGES:
        named = set(re.findall(r"(?:`|^)(?:sudo )?make ([a-z0-9-]+)(?![\w/=-])", page.read_text(), re.M))
        assert not named - targets, page


def test_make_run_has_every_view_of_the_first_page():
    table = re.findall(r"^\| (`[a-z`, ]+`) \| ", (ROOT / "README.md").read_text(), re.MULTILINE)
    views = re.search(r"^views=\((.*)\)$", (ROOT / "scripts/run").read_text(), re.MULTILINE)[1]
    assert sorted(views.split()) == sorted(re.findall(r"`([a-z]+)`", " ".join(table)))


def test_make_run_and_the_first_page_name_the_same_players():
    def players(path):
        text = (ROOT / path).read_text().replace("$url", "rtsp://127.0.0.1:8554")
        return re.findall(r"^ *((?:ffplay|vlc|gst-launch-1.0) .*)$", text, re.MULTILINE)

    assert players("scripts/run") == players("README.md")


def test_make_run_installs_no_package_of_the_tests():
    commands = subprocess.run(["make", "-n", "run"], cwd=ROOT, capture_output=True, text=True,
                              check=True).stdout
    assert re.findall(r"^scripts/setup.*", commands, re.MULTILINE) == [
        "scripts/setup --group build run"
    ]
