"""An image with answers sets itself up at its first start: config/fleet/provision in a real systemd."""
import json

import pytest

import beds
from container import Container

PROVISION = beds.ROOT / "config/fleet/provision"
PASSWORD = "correct-horse"


@pytest.fixture(scope="module")
def image():
    bed = Container("--private-network")
    answers = json.loads((PROVISION / "answers.json").read_text())
    chosen = {name: value for name, value in answers.items() if not name.startswith("broker")}
    bed.write("/etc/systemd/system/edged-answers.service", (PROVISION / "edged-answers.service").read_text())
    bed.write("/etc/edged/answers.json", json.dumps({**chosen, "password": PASSWORD}))
    bed.check("chmod 600 /etc/edged/answers.json && systemctl daemon-reload && systemctl enable --now edged-answers")
    yield bed
    bed.close()


def test_the_first_start_of_an_image_answers_setup_and_takes_the_answers_away(image):
    assert image.property("ActiveState") == "active"
    assert image.check("systemctl is-enabled edged").strip() == "enabled"
    assert image.run("ls /etc/edged/answers.json")[0] != 0
    assert "cameras.front" in image.check("edgectl diff --all") and "viewer" in image.check("cat /etc/edged/rtsp.users")
    assert image.check("stat -c '%U %a' /etc/edged/rtsp.users").strip() == "edged 600"
    journal = image.check("journalctl --no-pager -o export -a")
    assert "No camera was found" in journal and PASSWORD not in journal


def test_a_wrong_answer_stays_and_is_named(image):
    image.check("echo '{\"view\": \"egdes\"}' >/etc/edged/answers.json && chmod 600 /etc/edged/answers.json")
    before = image.check("cat /etc/edged/edged.conf")
    assert image.run("systemctl start edged-answers")[0] != 0
    assert '/etc/edged/answers.json:1: view: got "egdes", allowed' in image.check("journalctl --no-pager -u edged-answers")
    assert image.check("cat /etc/edged/edged.conf") == before
    assert image.property("ActiveState") == "active"
    image.check("ls /etc/edged/answers.json")
