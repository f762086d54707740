"""What edged answers to ONVIF's operations, by answers that ONVIF's schemas found valid."""

import onvif_answers
from test_onvif import bed  # noqa: F401


def test_answers_are_those_that_onvifs_schemas_found_valid(bed):  # noqa: F811
    one = bed([onvif_answers.CAMERA])
    one.server.wait_mount("/front/edges", lambda mount: mount["width"] == 320)
    text = onvif_answers.as_text(onvif_answers.ask_all(one.client()))
    assert text == onvif_answers.JUDGED.read_text(), \
        "if that is meant: make check-connect CONNECT='-k schemas' judges it and writes the file"
