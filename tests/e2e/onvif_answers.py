"""What edged answers to every operation of ONVIF that it knows, an element a line, without what changes from run to
run. tests/data/onvif-answers.txt has those that ONVIF's own schemas found valid (tests/connect/test_onvif.py)."""

import pathlib
import re
import xml.dom.minidom

import daemon
from onvif_client import DEVICE, EVENTS, MEDIA, NOTIFICATION

JUDGED = pathlib.Path(__file__).resolve().parents[1] / "data/onvif-answers.txt"
VIEWS = ({"name": "edges", "view": "edges", "encoder": "x264enc"},
          {"name": "photo", "view": "camera", "codec": "mjpeg"})
CAMERA = daemon.camera(views=list(VIEWS), width=320, height=240)
PROFILE = "<ProfileToken>front/edges</ProfileToken>"
CONFIGURATION = "<ConfigurationToken>front/edges</ConfigurationToken>"
SOURCE = "<ConfigurationToken>front</ConfigurationToken>"
DEVICE_OPERATIONS = (
    "GetSystemDateAndTime", "GetServices", "GetServiceCapabilities", "GetCapabilities", "GetHostname", "GetWsdlUrl",
    "GetEndpointReference", "GetDeviceInformation", "GetNetworkInterfaces", "GetScopes", "GetDNS", "GetNTP",
    "GetNetworkProtocols", "GetNetworkDefaultGateway", "GetDiscoveryMode", "GetUsers")
MEDIA_OPERATIONS = (
    ("GetServiceCapabilities", ""), ("GetProfiles", ""), ("GetProfile", PROFILE), ("GetVideoSources", ""),
    ("GetVideoSourceConfigurations", ""), ("GetVideoSourceConfiguration", SOURCE),
    ("GetCompatibleVideoSourceConfigurations", PROFILE), ("GetVideoEncoderConfigurations", ""),
    ("GetVideoEncoderConfiguration", CONFIGURATION), ("GetCompatibleVideoEncoderConfigurations", PROFILE),
    ("GetVideoEncoderConfigurationOptions", ""),
    ("GetVideoEncoderConfigurationOptions", CONFIGURATION.replace("edges", "photo")),
    ("GetGuaranteedNumberOfVideoEncoderInstances", SOURCE), ("GetStreamUri", PROFILE), ("GetSnapshotUri", PROFILE),
    ("SetSynchronizationPoint", PROFILE),
    *((operation, PROFILE) for operation in (
        "GetAudioSources", "GetAudioSourceConfigurations", "GetAudioEncoderConfigurations", "GetAudioOutputs",
        "GetAudioOutputConfigurations", "GetAudioDecoderConfigurations", "GetMetadataConfigurations",
        "GetVideoAnalyticsConfigurations", "GetCompatibleAudioSourceConfigurations",
        "GetCompatibleAudioEncoderConfigurations", "GetCompatibleMetadataConfigurations",
        "GetCompatibleVideoAnalyticsConfigurations")))
EVENT_OPERATIONS = ("GetServiceCapabilities", "GetEventProperties", "CreatePullPointSubscription")
POINT_OPERATIONS = ((EVENTS, "PullMessages"), (EVENTS, "SetSynchronizationPoint"), (NOTIFICATION, "Renew"),
                    (NOTIFICATION, "Unsubscribe"))
# What another run or another machine answers otherwise.
CHANGES = (
    (r"\d{4}-\d\d-\d\dT[\d:.]+Z", "MOMENT"),
    (r"127\.0\.0\.1:\d+", "ADDRESS"),
    (r"[0-9a-f]{8}-[0-9a-f-]{27}", "UUID"),
    (r"(/onvif/subscription/)\w+", r"\1POINT"),
    (r"(\btt:(?:DateTimeType|DaylightSavings|TZ|Hour|Minute|Second|Year|Month|Day) = ).+", r"\1VALUE"),
    (r"(\btt:Port = )[1-9]\d*", r"\1PORT"),
    (r"(FromDHCP = false\n *tt:Name = ).+", r"\1NAME"),
    (r"(\btds:(?:Model|FirmwareVersion|HardwareId) = ).+", r"\1VALUE"),
    (r"(onvif://www.onvif.org/(?:name|hardware)/).+", r"\1VALUE"),
    (r" tds:Scopes\n.*\n.*/mac/.*\n", ""),  # a machine without a network has none
    (r"tds:GetNetworkInterfacesResponse\n( .*\n)*", ""))


def ask_all(client):
    """The WSDL by which each answer is judged, and the answer."""
    answers = [("devicemgmt.wsdl", client.ask(DEVICE, operation)) for operation in DEVICE_OPERATIONS]
    answers += [("media.wsdl", client.ask(MEDIA, *operation)) for operation in MEDIA_OPERATIONS]
    answers += [("events.wsdl", client.ask(EVENTS, operation)) for operation in EVENT_OPERATIONS]
    point = client.create()
    answers += [("events.wsdl", client.ask(*operation, path=point)) for operation in POINT_OPERATIONS]
    return [(wsdl, reply.text) for wsdl, reply in answers]


def as_lines(element, indent=""):
    attributes = "".join(f' {name}="{value}"' for name, value in sorted(element.attributes.items()))
    text = "".join(child.data for child in element.childNodes if child.nodeType == child.TEXT_NODE).strip()
    yield f"{indent}{element.tagName}{attributes}{text and ' = '}{text}"
    for child in element.childNodes:
        if child.nodeType == child.ELEMENT_NODE:
            yield from as_lines(child, indent + " ")


def as_text(answers):
    """The envelope, which all have alike, and what is in each one's body."""
    heads, bodies = set(), []
    for _, answer in answers:
        envelope = xml.dom.minidom.parseString(answer).documentElement
        body = envelope.getElementsByTagName("s:Body")[0]
        bodies += [line for child in body.childNodes for line in as_lines(child)]
        envelope.removeChild(body)
        heads.add("\n".join(as_lines(envelope)))
    text = "\n".join([*heads, *bodies, ""])
    for pattern, name in CHANGES:
        text = re.sub(pattern, name, text)
    return text
