"""Firefox, headless, driven by selenium over WebDriver BiDi, as Debian has no geckodriver.

Each command that selenium has for a driver becomes a method of BiDi's (https://w3c.github.io/webdriver-bidi/). Scripts run where
those of the page do, so that an import gives them the page's own modules."""

import contextlib
import json
import socket
import subprocess
import tempfile
import time

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, CloseConnection, Request, TextMessage

from ports import free_port

PROGRAM = "firefox-esr"
START_S = 60
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"   # what WebDriver calls an element's number


def connect(port):
    end_s = time.monotonic() + START_S
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port))
        except ConnectionRefusedError:
            assert time.monotonic() < end_s, "Firefox does not listen"
            time.sleep(0.1)


class WebSocket:
    def __init__(self, port):
        self.socket, self.protocol = connect(port), WSConnection(ConnectionType.CLIENT)
        self.events = self._read()
        self.socket.sendall(self.protocol.send(Request(host=f"127.0.0.1:{port}", target="/session")))
        assert isinstance(next(self.events), AcceptConnection)

    def _read(self):
        while True:
            self.protocol.receive_data(self.socket.recv(65536) or None)
            yield from self.protocol.events()

    def send(self, message):
        self.socket.sendall(self.protocol.send(TextMessage(json.dumps(message))))

    def receive(self):
        text = ""
        for event in self.events:
            assert not isinstance(event, CloseConnection), "Firefox has ended"
            text += event.data
            if event.message_finished:
                return json.loads(text)


class Executor:
    """Does selenium's commands, by their names, in the one tab there is."""

    def __init__(self, port):
        self.socket, self.sent = WebSocket(port), 0

    def execute(self, command, parameters):
        return {"value": getattr(self, command)(**{name: value for name, value in parameters.items() if name != "sessionId"})}

    def close(self):
        self.socket.socket.close()

    def ask(self, method, **parameters):
        self.sent += 1
        self.socket.send({"id": self.sent, "method": method, "params": parameters})
        while (answer := self.socket.receive()).get("id") != self.sent:
            pass
        if answer["type"] == "error":
            raise WebDriverException(f"{answer['error']}: {answer['message']}")
        return answer["result"]

    def here(self, method, **parameters):
        return self.ask(method, context=self.tab, **parameters)

    def evaluate(self, expression):
        answer = self.ask("script.evaluate", expression=expression, target={"context": self.tab}, awaitPromise=True)
        if answer["type"] == "exception":
            raise WebDriverException(answer["exceptionDetails"]["text"])
        return json.loads(answer["result"].get("value", "null"))

    def newSession(self, **_):
        session = self.ask("session.new", capabilities={"alwaysMatch": {"acceptInsecureCerts": True}})
        self.tab = self.ask("browsingContext.getTree")["contexts"][0]["context"]
        return session

    def quit(self):
        self.ask("browser.close")

    def setTimeouts(self, **_):
        """The tests' own scripts and pytest end a wait."""

    def get(self, url):
        self.here("browsingContext.navigate", url=url, wait="complete")

    def refresh(self):
        self.here("browsingContext.reload", wait="complete")

    def goBack(self):
        self.here("browsingContext.traverseHistory", delta=-1)

    def w3cExecuteScriptAsync(self, script, args):
        return self.evaluate(f"new Promise(done => (function() {{ {script} }})(...{json.dumps(args)}, done)).then(JSON.stringify)")

    def findElement(self, using, value):
        found = self.here("browsingContext.locateNodes", locator={"type": "css", "value": value})["nodes"]
        return {ELEMENT: found[0]["sharedId"]}

    def actions(self, actions):
        for step in (step for each in actions for step in each["actions"]):
            if isinstance(step.get("origin"), dict):
                step["origin"] = {"type": "element", "element": {"sharedId": step["origin"][ELEMENT]}}
        self.here("input.performActions", actions=actions)

    def screenshot(self):
        return self.here("browsingContext.captureScreenshot")["data"]

    def setWindowRect(self, width, height, **_):
        """Of the page alone."""
        self.here("browsingContext.setViewport", viewport={"width": width, "height": height})


@contextlib.contextmanager
def firefox(size):
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="edged-firefox-") as profile:
        process = subprocess.Popen([PROGRAM, "--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", str(port)],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            driver = webdriver.Remote(Executor(port), options=webdriver.FirefoxOptions())
            driver.set_window_size(*size)
            yield driver
            driver.quit()
            process.wait(START_S)
        finally:
            process.kill()
            process.wait()
