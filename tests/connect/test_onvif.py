"""Every answer of ONVIF by its own schemas, and clients of several makers."""

import json
import os
import pathlib
import subprocess

import pytest

import daemon
import onvif_client
from onvif_client import DEVICE, EVENTS, MEDIA, NOTIFICATION

PYTHON = pathlib.Path(os.environ["EDGED_CONNECT"]) / "bin/python"
HERE = pathlib.Path(__file__).resolve().parent
VIEWS = ("edges", {"name": "photo", "view": "camera", "codec": "mjpeg"})
PROFILE = "<ProfileToken>front/edges</ProfileToken>"
CONFIGURATION = "<ConfigurationToken>front/edges</ConfigurationToken>"
SOURCE = "<ConfigurationToken>front</ConfigurationToken>"

DEVICE_OPERATIONS = (
    "GetSystemDateAndTime", "GetServices", "GetServiceCapabilities", "GetCapabilities", "GetHostname", "GetWsdlUrl",
    "GetEndpointReference", "GetDeviceInformation", "GetNetworkInterfaces", "GetScopes", "GetDNS", "GetNTP",
    "GetNetworkProtocols", "GetNetworkDefaultGateway", "GetDiscoveryMode", "GetUsers")
MEDIA_OPERATIONS = {
    "GetServiceCapabilities": "", "GetProfiles": "", "GetProfile": PROFILE, "GetVideoSources": "",
    "GetVideoSourceConfigurations": "", "GetVideoSourceConfiguration": SOURCE,
    "GetCompatibleVideoSourceConfigurations": PROFILE, "GetVideoEncoderConfigurations": "",
    "GetVideoEncoderConfiguration": CONFIGURATION, "GetCompatibleVideoEncoderConfigurations": PROFILE,
    "GetVideoEncoderConfigurationOptions": "", "GetGuaranteedNumberOfVideoEncoderInstances": SOURCE,
    "GetStreamUri": PROFILE, "GetSnapshotUri": PROFILE, "SetSynchronizationPoint": PROFILE,
    **dict.fromkeys((
        "GetAudioSources", "GetAudioSourceConfigurations", "GetAudioEncoderConfigurations", "GetAudioOutputs",
        "GetAudioOutputConfigurations", "GetAudioDecoderConfigurations", "GetMetadataConfigurations",
        "GetVideoAnalyticsConfigurations", "GetCompatibleAudioSourceConfigurations",
        "GetCompatibleAudioEncoderConfigurations", "GetCompatibleMetadataConfigurations",
        "GetCompatibleVideoAnalyticsConfigurations"), PROFILE)}


@pytest.fixture
def served(edged, tmp_path):
    (tmp_path / "edged-0").mkdir()
    users = tmp_path / "edged-0/rtsp.users"
    password = onvif_client.add_user(users)
    server = edged([daemon.camera(views=VIEWS, width=320, height=240)], settings=onvif_client.settings(users))
    server.password, server.api = password, server.settings["http"]["port"]
    server.wait_mount("/front/edges", lambda mount: mount["width"] == 320)
    return server


def judge(answers):
    return subprocess.run([PYTHON, HERE / "onvif_schemas"], input=json.dumps(answers), check=True,
                          capture_output=True, text=True).stdout


def test_every_answer_is_valid_by_onvifs_schemas(served):
    client = onvif_client.Client(served.api, "hass", served.password)
    answers = [("devicemgmt.wsdl", client.ask(DEVICE, operation).text) for operation in DEVICE_OPERATIONS]
    answers += [("media.wsdl", client.ask(MEDIA, operation, arguments).text)
                for operation, arguments in MEDIA_OPERATIONS.items()]
    photo = client.ask(MEDIA, "GetVideoEncoderConfigurationOptions", CONFIGURATION.replace("edges", "photo"))
    answers.append(("media.wsdl", photo.text))
    point = client.create()
    answers += [("events.wsdl", client.ask(EVENTS, operation, path=path).text) for operation, path in (
        ("GetServiceCapabilities", None), ("GetEventProperties", None), ("CreatePullPointSubscription", None),
        ("PullMessages", point), ("SetSynchronizationPoint", point))]
    answers += [("events.wsdl", client.ask(NOTIFICATION, operation, path=point).text)
                for operation in ("Renew", "Unsubscribe")]
    client.close()
    assert judge(answers) == f"{len(answers)} valid\n"
    # And the judge refuses what is wrong.
    wrong = answers[DEVICE_OPERATIONS.index("GetUsers")][1].replace("tt:Username", "tt:Usename")
    assert "Usename" in judge([("devicemgmt.wsdl", wrong)])
