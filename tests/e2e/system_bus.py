"""A system bus of its own, on which something answers as systemd does for edged's units."""

import subprocess
import threading

from gi.repository import Gio, GLib

from daemon import PATIENCE_S

NAME = "org.freedesktop.systemd1"
UNITS = {name: f"/org/freedesktop/systemd1/unit/{name.replace('.', '_2e').replace('-', '_2d')}"
         for name in ("edged.service", "edged.socket", "edged-camera.socket", "edged-mqtt.service")}
STATES = ("LoadState", "ActiveState", "UnitFileState", "Result")
ACTIVE = ("loaded", "active", "enabled", "success")
INACTIVE = ("loaded", "inactive", "disabled", "success")
ABSENT = ("not-found", "inactive", "", "success")
INTERFACES = Gio.DBusNodeInfo.new_for_xml("""
<node>
  <interface name="org.freedesktop.systemd1.Manager">
    <method name="LoadUnit"><arg type="s" direction="in"/><arg type="o" direction="out"/></method>
  </interface>
  <interface name="org.freedesktop.systemd1.Unit">
    <property name="LoadState" type="s" access="read"/>
    <property name="ActiveState" type="s" access="read"/>
    <property name="UnitFileState" type="s" access="read"/>
  </interface>
  <interface name="org.freedesktop.systemd1.Service">
    <property name="Result" type="s" access="read"/>
  </interface>
  <interface name="org.freedesktop.systemd1.Socket">
    <property name="Listen" type="a(ss)" access="read"/>
    <property name="Result" type="s" access="read"/>
  </interface>
</node>""").interfaces


class SystemBus:
    """`states`: of each unit what STATES names, `listen`: where edged.socket listens, changed at any time.
    `address`: of the bus."""

    def __init__(self):
        self.states = dict.fromkeys(UNITS, INACTIVE)
        self.listen = []
        self.process = subprocess.Popen(
            ["dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address"],
            stdout=subprocess.PIPE, text=True,
        )
        self.address = self.process.stdout.readline().strip()
        self.context = GLib.MainContext.new()
        self.loop = GLib.MainLoop.new(self.context, False)
        ready = threading.Event()
        self.thread = threading.Thread(target=self._serve, args=(ready,))
        self.thread.start()
        assert ready.wait(PATIENCE_S)

    def _serve(self, ready):
        self.context.push_thread_default()
        connection = Gio.DBusConnection.new_for_address_sync(
            self.address,
            Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT
            | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION, None, None,
        )
        for interface in INTERFACES:
            paths = ["/org/freedesktop/systemd1"] if "Manager" in interface.name else UNITS.values()
            for path in paths:
                connection.register_object(path, interface, self._call, self._get, None)
        connection.call_sync(
            "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "RequestName",
            GLib.Variant("(su)", (NAME, 0)), None, Gio.DBusCallFlags.NONE, -1, None,
        )
        ready.set()
        self.loop.run()
        connection.close_sync(None)
        self.context.pop_thread_default()

    def _call(self, _connection, _sender, _path, _interface, _method, parameters, invocation):
        invocation.return_value(GLib.Variant("(o)", (UNITS[parameters.unpack()[0]],)))

    def _get(self, _connection, _sender, path, _interface, name):
        if name == "Listen":
            return GLib.Variant("a(ss)", self.listen)
        unit, = (unit for unit in UNITS if UNITS[unit] == path)
        return GLib.Variant("s", self.states[unit][STATES.index(name)])

    def close(self):
        self.loop.quit()
        self.thread.join()
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()
