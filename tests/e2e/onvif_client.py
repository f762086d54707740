"""A client of ONVIF that writes its requests by hand: SOAP 1.2, with WS-UsernameToken or HTTP's own
login, over one connection that is kept."""

import base64
import datetime
import hashlib
import http.client
import os
import re
import ssl
import subprocess
import xml.etree.ElementTree as ET

import daemon
from ports import free_port

DEVICE = "http://www.onvif.org/ver10/device/wsdl"
MEDIA = "http://www.onvif.org/ver10/media/wsdl"
EVENTS = "http://www.onvif.org/ver10/events/wsdl"
NOTIFICATION = "http://docs.oasis-open.org/wsn/b-2"
PATHS = {DEVICE: "device_service", MEDIA: "media_service", EVENTS: "events_service"}
SOAP = "http://www.w3.org/2003/05/soap-envelope"
WSSE = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd"
WSU = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd"
PROFILE = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-username-token-profile-1.0"


def token(user, password, kind="PasswordDigest", ahead_s=0, nonce=None, created=None):
    """The header of OASIS's UsernameToken Profile 1.0."""
    nonce = os.urandom(16) if nonce is None else nonce
    moment = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=ahead_s)
    created = moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ") if created is None else created
    if kind == "PasswordDigest":
        password = base64.b64encode(
            hashlib.sha1(nonce + created.encode() + password.encode()).digest()).decode()
    return (f'<s:Header><w:Security xmlns:w="{WSSE}" s:mustUnderstand="true"><w:UsernameToken>'
            f'<w:Username>{user}</w:Username><w:Password Type="{PROFILE}#{kind}">{password}</w:Password>'
            f'<w:Nonce>{base64.b64encode(nonce).decode()}</w:Nonce>'
            f'<u:Created xmlns:u="{WSU}">{created}</u:Created></w:UsernameToken></w:Security></s:Header>')


class Reply:
    def __init__(self, response):
        self.status, self.headers = response.status, response.headers
        self.text = response.read().decode()
        self.is_soap = response.getheader("Content-Type", "").startswith("application/soap+xml")
        self.root = ET.fromstring(self.text) if self.is_soap else None
        self.body = self.root.find(f"{{{SOAP}}}Body")[0] if self.is_soap else None

    def all(self, name):
        """The texts of the elements of that local name."""
        return [element.text for element in self.body.iter() if element.tag.split("}")[1] == name]

    def one(self, name):
        found = self.all(name)
        assert len(found) == 1, (name, self.text)
        return found[0]

    def attributes(self, name, attribute):
        return [element.get(attribute) for element in self.body.iter()
                if element.tag.split("}")[1] == name]

    @property
    def fault(self):
        """Its codes and its text."""
        return (*[code.split(":")[1] for code in self.all("Value")], self.one("Text"))


class Client:
    """Asks a server at its port of HTTP: client.ask(MEDIA, "GetProfile", "<ProfileToken>…")."""

    def __init__(self, port, user=None, password=None, tls=False, host="127.0.0.1", source=None,
                 folder="onvif/"):
        context = ssl._create_unverified_context() if tls else None
        kind = http.client.HTTPSConnection if tls else http.client.HTTPConnection
        self.connection = kind(host, port, timeout=daemon.PATIENCE_S, source_address=source and (source, 0),
                               **({"context": context} if tls else {}))
        self.user, self.password, self.folder = user, password, folder

    def post(self, path, body, **headers):
        self.connection.request("POST", path, body, {"Content-Type": "application/soap+xml", **headers})
        return Reply(self.connection.getresponse())

    def question(self, service, operation, arguments="", path=None, header=None):
        """The path and the body."""
        if header is None:
            header = token(self.user, self.password) if self.user else ""
        return path or f"/{self.folder}{PATHS[service]}", (
            f'<s:Envelope xmlns:s="{SOAP}">{header}<s:Body><{operation} xmlns="{service}">'
            f'{arguments}</{operation}></s:Body></s:Envelope>')

    def ask(self, service, operation, arguments="", path=None, header=None, **headers):
        return self.post(*self.question(service, operation, arguments, path, header), **headers)

    def create(self, arguments=""):
        """A pull point: its path."""
        reply = self.ask(EVENTS, "CreatePullPointSubscription", arguments)
        assert reply.status == 200, reply.text
        return re.sub("^https?://[^/]*", "", reply.one("Address"))

    def pull(self, path, timeout="PT20S", limit=100):
        """The messages of a pull: topic, source, whether something moves, which operation."""
        reply = self.ask(EVENTS, "PullMessages", f"<Timeout>{timeout}</Timeout><MessageLimit>{limit}"
                         "</MessageLimit>", path=path)
        assert reply.status == 200, reply.text
        return messages(reply)

    def begin_pull(self, path):
        """One that lasts a minute, which edged has read; finish() gives what it answers."""
        self.connection.request("POST", *self.question(EVENTS, "PullMessages", "<Timeout>PT60S</Timeout>", path))
        here, there = (name()[1] for name in (self.connection.sock.getsockname, self.connection.sock.getpeername))
        daemon.wait_for(lambda: unread_bytes("t", f"sport = :{there} and dport = :{here}") == 0)

    def finish(self):
        return Reply(self.connection.getresponse())

    def close(self):
        self.connection.close()


def unread_bytes(kind, sockets):
    """What such sockets of this machine ("t": TCP, "u": UDP) have received and their programs have not read."""
    shown = subprocess.run(["ss", f"-{kind}anH", sockets], check=True, capture_output=True, text=True,
                           timeout=daemon.PATIENCE_S).stdout
    return sum(int(line.split()[1]) for line in shown.splitlines())


def messages(reply):
    found = []
    for message in reply.body.iter(f"{{{NOTIFICATION}}}NotificationMessage"):
        items = [item for item in message.iter() if item.tag.endswith("}SimpleItem")]
        found.append((message.find(f"{{{NOTIFICATION}}}Topic").text.split("/")[-1],
                      items[0].get("Value"), items[-1].get("Value") == "true",
                      next(x for x in message.iter() if x.tag.endswith("}Message") and
                           x.get("UtcTime")).get("PropertyOperation")))
    return found


def add_user(users, name="hass"):
    """`edgectl passwd --onvif`: the password."""
    out = subprocess.run([daemon.EDGECTL, "passwd", "--onvif", "--file", users, name], check=True,
                         capture_output=True, text=True, timeout=daemon.PATIENCE_S).stdout
    return re.search("^password: ([a-z2-9]{16})$", out, re.MULTILINE)[1]


def settings(users=None, **onvif):
    """Of an edged with ONVIF, at the port settings["http"]["port"]."""
    return {"http": {"port": free_port()}, "onvif": {"enabled": True, "discovery": False, **onvif},
            **({"rtsp": {"users": str(users)}} if users else {})}
