// The service: what systemd says of edged's units, over D-Bus, as `systemctl status` asks it; what
// the running edged says of itself; and whether its port is free.
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

// A unit as systemd tells of it. All strings are owned, and empty where it says nothing.
struct unit_state {
    char *load, *active, *file, *result;
};

static void state_read(const struct service_unit *unit, const char *interface,
                       struct unit_state *ret_state)
{
    ret_state->load = unit_ask(unit, SYSTEMD ".Unit", "LoadState");
    ret_state->active = unit_ask(unit, SYSTEMD ".Unit", "ActiveState");
    ret_state->file = unit_ask(unit, SYSTEMD ".Unit", "UnitFileState");
    ret_state->result = unit_ask(unit, interface, "Result");
}

static void state_finish(struct unit_state *state)
{
    free(state->load);
    free(state->active);
    free(state->file);
    free(state->result);
}

static bool is_installed(const struct unit_state *state)
{
    return strcmp(state->load, "not-found") != 0;
}

static bool is_active(const struct unit_state *state)
{
    return strcmp(state->active, "active") == 0 || strcmp(state->active, "reloading") == 0;
}

// Says what is the same for both services. Whether that was all: the service is neither absent nor
// inactive.
static bool say_service(struct doctor *doctor, const char *subject, const char *name,
                        const struct unit_state *state)
{
    if (is_installed(state) && strcmp(state->load, "loaded") != 0) {
        doctor_say(doctor, DOCTOR_FAILED, subject, "%s.service is %s: see `systemctl status %s`",
                   name, state->load, name);
    } else if (strcmp(state->active, "failed") == 0) {
        doctor_say(doctor, DOCTOR_FAILED, subject,
                   "%s.service failed (%s): `journalctl -eu %s` says why", name, state->result,
                   name);
    } else if (is_active(state)) {
        doctor_say(doctor, DOCTOR_OK, subject, "%s.service is %s, %s", name, state->active,
                   state->file);
    } else {
        return false;
    }
    return true;
}

static void say_edged(struct doctor *doctor, const struct unit_state *state)
{
    if (say_service(doctor, SUBJECT, "edged", state))
        return;
    if (!is_installed(state)) {
        doctor_say(doctor, DOCTOR_INFO, SUBJECT,
                   "edged.service is not installed: `make install` does it");
    } else {
        doctor_say(doctor, DOCTOR_INFO, SUBJECT,
                   "edged.service is %s, %s: `systemctl enable --now edged` starts it",
                   state->active, state->file);
    }
}

// Without edged-camera.socket edged.service can start no camera process.
static void say_camera_socket(struct doctor *doctor, const struct unit_state *edged)
{
    static const char subject[] = "camera socket", unit_name[] = "edged-camera.socket";
    _cleanup_(unit_finish) struct service_unit unit = {0};
    _cleanup_(state_finish) struct unit_state state = {0};

    if (!is_installed(edged) || unit_find(&unit, unit_name) < 0)
        return;
    state_read(&unit, SYSTEMD ".Socket", &state);
    if (strcmp(state.load, "loaded") != 0) {
        doctor_say(doctor, DOCTOR_FAILED, subject,
                   "%s is %s, and edged.service starts no camera without it: install edged again",
                   unit_name, state.load);
    } else if (is_active(&state)) {
        doctor_say(doctor, DOCTOR_OK, subject, "%s is active", unit_name);
    } else if (strcmp(state.active, "failed") == 0) {
        doctor_say(doctor, DOCTOR_FAILED, subject,
                   "%s failed (%s), and no camera starts without it: `systemctl restart %s`",
                   unit_name, state.result, unit_name);
    } else if (is_active(edged)) {
        doctor_say(doctor, DOCTOR_FAILED, subject,
                   "%s is %s, and no camera starts without it: `systemctl start %s`", unit_name,
                   state.active, unit_name);
    } else {
        doctor_say(doctor, DOCTOR_INFO, subject, "%s is %s: edged.service starts it", unit_name,
                   state.active);
    }
}

static void say_mqtt(struct doctor *doctor)
{
    static const char subject[] = "MQTT service";
    _cleanup_(unit_finish) struct service_unit unit = {0};
    _cleanup_(state_finish) struct unit_state state = {0};
    bool is_wanted = *doctor->config->mqtt.broker;

    if (unit_find(&unit, "edged-mqtt.service") < 0)
        return;
    state_read(&unit, SYSTEMD ".Service", &state);
    if (say_service(doctor, subject, "edged-mqtt", &state))
        return;
    if (!is_wanted) {
        doctor_say(doctor, DOCTOR_INFO, subject, "edged-mqtt.service is %s, and mqtt.broker unset",
                   is_installed(&state) ? state.active : "not installed");
    } else if (!is_installed(&state)) {
        doctor_say(doctor, DOCTOR_WARNING, subject,
                   "mqtt.broker is set, and edged-mqtt.service not installed: install the package "
                   "edged-mqtt");
    } else {
        doctor_say(doctor, DOCTOR_WARNING, subject,
                   "mqtt.broker is set, and edged-mqtt.service is %s, %s: `systemctl enable --now "
                   "edged-mqtt` starts it",
                   state.active, state.file);
    }
}

static void say_units(struct doctor *doctor, const struct service_unit *unit)
{
    _cleanup_(state_finish) struct unit_state edged = {0};

    state_read(unit, SYSTEMD ".Service", &edged);
    say_edged(doctor, &edged);
    say_camera_socket(doctor, &edged);
    say_mqtt(doctor);
}

void doctor_check_service(struct doctor *doctor)
{
    _cleanup_(unit_finish) struct service_unit unit = {0};
    int r = unit_find(&unit, "edged.service");

    if (r >= 0) {
        say_units(doctor, &unit);
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
        doctor_say(doctor, DOCTOR_FAILED, "RTSP port", "%s; end that, or set %s", error->text,
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
