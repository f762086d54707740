// The service: what systemd says of edged.service and edged.socket, over D-Bus, as `systemctl
// status` asks it; what the running edged says of itself; and whether its port is free.
#include "daemon/client/client.h"
#include "daemon/ctl/doctor/doctor_checks.h"
#include "daemon/ctl/setup/setup_service.h"
#include "daemon/front/socket/listener.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>

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

    if (r >= 0) {
        say_state(doctor, &unit);
    } else if (!unit.bus && sd_booted() > 0) {
        doctor_say(doctor, DOCTOR_INFO, SUBJECT,
                   "systemd runs, but D-Bus does not (%s), by which it is asked: install the "
                   "package dbus",
                   strerror(-r));
    } else {
        doctor_say(doctor, DOCTOR_INFO, SUBJECT, "no systemd answers (%s)", strerror(-r));
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

// Where edged.socket listens with that port, "127.0.0.1:8554" or "[::]:8554", to be freed; NULL:
// nowhere.
static char *find_socket_unit(int port)
{
    _cleanup_(unit_finish) struct service_unit unit = {0};

    if (unit_find(&unit, "edged.socket") < 0)
        return NULL;
    _cleanup_(cleanup_free) char *active = unit_ask(&unit, SYSTEMD ".Unit", "ActiveState");
    return strcmp(active, "active") == 0 ? unit_find_address(&unit, port) : NULL;
}

// Each camera as the running edged has it, which is what counts: it may have another configuration,
// and see other files.
static void say_running_cameras(struct doctor *doctor, JsonObject *status)
{
    GList *cameras = get_list(status, "cameras");

    for (GList *link = cameras; link; link = link->next) {
        JsonObject *camera = json_node_get_object(link->data);
        const char *state = get_string(camera, "state"), *error = get_string(camera, "error");
        bool live = strcmp(state, "live") == 0;
        g_autofree char *subject = g_strdup_printf("running camera %s", get_string(camera, "name"));

        bool begins = strcmp(state, "starting") == 0 && !*error;
        enum doctor_verdict verdict = live ? DOCTOR_OK : begins ? DOCTOR_INFO : DOCTOR_FAILED;

        doctor_say(doctor, verdict, subject, "%s%s%s", state, live || *error ? ", " : "",
                   live ? get_string(camera, "path") : error);
    }
    g_list_free(cameras);
}

void doctor_check_control(struct doctor *doctor)
{
    struct error error = {0};
    int code = client_get_status(doctor->config->control.socket, &error, &doctor->status);
    const char *version = doctor->status ? get_string(doctor->status, "version") : "";

    doctor->running = code != -ENOENT && code != -ECONNREFUSED;
    if (!doctor->running) {
        doctor_say(doctor, DOCTOR_INFO, "control socket", "%s", error.text);
    } else if (code < 0) {
        doctor_say(doctor, code == -EACCES ? DOCTOR_WARNING : DOCTOR_FAILED, "control socket", "%s",
                   error.text);
    } else if (strcmp(version, EDGED_VERSION) != 0) {
        doctor_say(doctor, DOCTOR_WARNING, "control socket",
                   "edged %s runs, edgectl is " EDGED_VERSION ": `systemctl restart edged`",
                   *version ? version : "of another version");
    } else {
        doctor_say(doctor, DOCTOR_OK, "control socket", "edged %s answers", version);
    }
    if (doctor->status)
        say_running_cameras(doctor, doctor->status);
}

// Whether the running edged listens on the port.
static bool is_edged_listening(const struct doctor *doctor, int port)
{
    const char *rtsp = doctor->status ? get_string(doctor->status, "rtsp") : "";
    const char *colon = strrchr(rtsp, ':');

    return colon && atoi(colon + 1) == port;
}

// The port is another program's, or that of edged.socket, which edged is handed only if the address
// is its own.
static void say_taken(struct doctor *doctor, const struct listener_place *place,
                      const struct error *error)
{
    g_autofree char *own = setup_service_socket_text(place->address, place->port);
    _cleanup_(cleanup_free) char *unit = find_socket_unit(place->port);

    if (unit && strcmp(unit, own) == 0) {
        doctor_say(doctor, DOCTOR_OK, "RTSP port", "%s is held by edged.socket for edged", own);
    } else if (unit) {
        doctor_say(doctor, DOCTOR_FAILED, "RTSP port",
                   "%s; edged.socket listens on %s: run `edgectl setup`, or `systemctl disable "
                   "--now edged.socket`",
                   error->text, unit);
    } else {
        doctor_say(doctor, DOCTOR_FAILED, "RTSP port",
                   "%s; end the program that has it (`ss -tlnp` names it) or set %s", error->text,
                   place->port_key);
    }
}

void doctor_check_rtsp(struct doctor *doctor)
{
    const char *address = doctor->config->rtsp.address;
    bool plain = doctor->config->rtsp.plain;
    int port = plain ? doctor->config->rtsp.port : doctor->config->rtsp.tls_port;
    const struct listener_place place = {"rtsp.address", address,
                                         plain ? "rtsp.port" : "rtsp.tls_port", port};
    _cleanup_(cleanup_close) int listener = -1;
    struct error error = {0};
    int r = listener_open(&place, &error, &listener);

    if (r == 0) {
        doctor_say(doctor, DOCTOR_OK, "RTSP port", "%s, port %d is free", address, port);
    } else if (r == -EADDRINUSE && is_edged_listening(doctor, port)) {
        doctor_say(doctor, DOCTOR_OK, "RTSP port", "%s, port %d is the running edged's", address,
                   port);
    } else if (r == -EADDRINUSE) {
        say_taken(doctor, &place, &error);
    } else {
        doctor_say(doctor, DOCTOR_FAILED, "RTSP port", "%s; set rtsp.address and %s", error.text,
                   place.port_key);
    }
}
