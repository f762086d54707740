// What systemd says of edged.service and edged.socket, over D-Bus, as `systemctl status` asks it.
#include "daemon/ctl/doctor/doctor_checks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>

#define SYSTEMD "org.freedesktop.systemd1"
#define SUBJECT "service"
#define TIMEOUT_US (3 * NS_PER_S / NS_PER_US)

struct service_unit {
    sd_bus *bus;           // reference
    sd_bus_message *reply; // reference; `path` lies in it
    const char *path;
};

static void unit_finish(struct service_unit *unit)
{
    sd_bus_message_unref(unit->reply);
    sd_bus_flush_close_unref(unit->bus);
}

static int unit_find(struct service_unit *unit, const char *name)
{
    int r = sd_bus_open_system(&unit->bus);

    if (r >= 0) {
        sd_bus_set_method_call_timeout(unit->bus, TIMEOUT_US);
        r = sd_bus_call_method(unit->bus, SYSTEMD, "/org/freedesktop/systemd1", SYSTEMD ".Manager",
                               "LoadUnit", NULL, &unit->reply, "s", name);
    }
    return r < 0 ? r : sd_bus_message_read(unit->reply, "o", &unit->path);
}

// A property, to be freed; empty if systemd does not say.
static char *unit_ask(const struct service_unit *unit, const char *interface, const char *property)
{
    char *text = NULL;
    int r = sd_bus_get_property_string(unit->bus, SYSTEMD, unit->path, interface, property, NULL,
                                       &text);

    return r < 0 ? strdup("") : text;
}

static void say_state(struct doctor *doctor, const struct service_unit *unit)
{
    _cleanup_(cleanup_free) char *load = unit_ask(unit, SYSTEMD ".Unit", "LoadState");
    _cleanup_(cleanup_free) char *active = unit_ask(unit, SYSTEMD ".Unit", "ActiveState");
    _cleanup_(cleanup_free) char *file = unit_ask(unit, SYSTEMD ".Unit", "UnitFileState");
    _cleanup_(cleanup_free) char *result = unit_ask(unit, SYSTEMD ".Service", "Result");

    if (strcmp(load, "not-found") == 0) {
        doctor_say(doctor, DOCTOR_INFO, SUBJECT,
                   "edged.service is not installed: `make install` does it");
    } else if (strcmp(load, "loaded") != 0) {
        doctor_say(doctor, DOCTOR_FAILED, SUBJECT,
                   "edged.service is %s: see `systemctl status edged`", load);
    } else if (strcmp(active, "failed") == 0) {
        doctor_say(doctor, DOCTOR_FAILED, SUBJECT,
                   "edged.service failed (%s): `journalctl -eu edged` says why", result);
    } else if (strcmp(active, "active") == 0 || strcmp(active, "reloading") == 0) {
        doctor_say(doctor, DOCTOR_OK, SUBJECT, "edged.service is %s, %s", active, file);
    } else {
        doctor_say(doctor, DOCTOR_INFO, SUBJECT,
                   "edged.service is %s, %s: `systemctl enable --now edged` starts it", active,
                   file);
    }
}

void doctor_check_service(struct doctor *doctor)
{
    _cleanup_(unit_finish) struct service_unit unit = {0};
    int r = unit_find(&unit, "edged.service");

    if (r < 0) {
        doctor_say(doctor, DOCTOR_INFO, SUBJECT, "no systemd answers (%s)", strerror(-r));
    } else {
        say_state(doctor, &unit);
    }
}

// The address among those that the socket unit listens on ("127.0.0.1:8554") that has the port, to
// be freed; NULL: none.
static char *unit_find_address(const struct service_unit *unit, int port)
{
    sd_bus_message *reply = NULL;
    const char *type, *address;
    char *found = NULL;
    int r = sd_bus_get_property(unit->bus, SYSTEMD, unit->path, SYSTEMD ".Socket", "Listen", NULL,
                                &reply, "a(ss)");

    r = r < 0 ? r : sd_bus_message_enter_container(reply, 'a', "(ss)");
    while (r >= 0 && !found && sd_bus_message_read(reply, "(ss)", &type, &address) > 0) {
        const char *colon = strrchr(address, ':');

        found = colon && atoi(colon + 1) == port ? strdup(address) : NULL;
    }
    sd_bus_message_unref(reply);
    return found;
}

char *doctor_find_socket_unit(int port)
{
    _cleanup_(unit_finish) struct service_unit unit = {0};

    if (unit_find(&unit, "edged.socket") < 0) {
        return NULL;
    }
    _cleanup_(cleanup_free) char *active = unit_ask(&unit, SYSTEMD ".Unit", "ActiveState");
    return strcmp(active, "active") == 0 ? unit_find_address(&unit, port) : NULL;
}
