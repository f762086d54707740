// The configuration, the running edged, its address, and memory.
#include "daemon/common/hidden_paths.h"
#include "daemon/ctl/client.h"
#include "daemon/ctl/doctor/doctor_checks.h"
#include "daemon/ctl/json_get.h"
#include "daemon/ctl/setup/setup_service.h"
#include "daemon/front/listener.h"

#include <errno.h>
#include <json-glib/json-glib.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

// Frames a camera and each of its views keep at most.
#define FRAMES_KEPT 14
#define MIB (1024.0 * 1024.0)

static void use_defaults(struct doctor *doctor)
{
    if (config_parse("", "built-in defaults", NULL, &doctor->config) < 0) {
        abort(); // built-in defaults have no mistakes
    }
}

// The first of the problems, each a line of `text`, and how many more there are.
static void say_problems(struct doctor *doctor, const char *text)
{
    unsigned more = 0;
    size_t length = strcspn(text, "\n");

    for (const char *at = text + length; *at && at[1]; at += strcspn(at, "\n")) {
        at++;
        more++;
    }
    if (more > 0) {
        doctor_say(doctor, DOCTOR_FAILED, "configuration",
                   "%.*s, and %u more: `edged --config %s --check` lists them", (int)length, text,
                   more, doctor->config_path);
    } else {
        doctor_say(doctor, DOCTOR_FAILED, "configuration", "%.*s", (int)length, text);
    }
}

static void say_hidden(void *doctor, const char *key, const char *path)
{
    doctor_say(doctor, DOCTOR_WARNING, key, "%s: " HIDDEN_PATHS_HINT, path);
}

void doctor_check_configuration(struct doctor *doctor)
{
    _cleanup_(cleanup_free) char *text = NULL;
    size_t size, views = 0;
    FILE *problems;
    int r;

    if (!doctor->config_path) {
        use_defaults(doctor);
        doctor_say(doctor, DOCTOR_INFO, "configuration",
                   "no " EDGED_SYSCONFDIR "/edged/edged.conf: the built-in defaults");
        return;
    }
    problems = open_memstream(&text, &size);
    r = config_load(doctor->config_path, problems, &doctor->config);
    fclose(problems);
    if (r < 0) {
        say_problems(doctor, text);
        doctor_say(doctor, DOCTOR_INFO, "left out",
                   "cameras, users, certificate and ports, until the file is correct; what is "
                   "chosen below is told of the built-in defaults");
        use_defaults(doctor);
        doctor->unusable = true;
        return;
    }
    for (size_t i = 0; i < doctor->config->camera_count; i++) {
        views += doctor->config->cameras[i].view_count;
    }
    doctor_say(doctor, DOCTOR_OK, "configuration", "%s: %zu camera%s, %zu view%s",
               doctor->config_path, doctor->config->camera_count,
               doctor->config->camera_count == 1 ? "" : "s", views, views == 1 ? "" : "s");
    hidden_paths_tell(doctor->config, say_hidden, doctor);
}

JsonObject *doctor_ask_status(const struct doctor *doctor, struct error *error, int *ret_code)
{
    _cleanup_(cleanup_free) char *path = NULL, *body = NULL;
    g_autoptr(JsonParser) parser = json_parser_new();
    JsonNode *root;

    *ret_code = client_find_socket(doctor->config->control.socket, error, &path);
    if (*ret_code == 0) {
        *ret_code = client_get(path, "/v1/status", error, &body);
    }
    if (*ret_code < 0 || !json_parser_load_from_data(parser, body, -1, NULL) ||
        !(root = json_parser_get_root(parser)) || !JSON_NODE_HOLDS_OBJECT(root)) {
        return NULL;
    }
    return json_object_ref(json_node_get_object(root));
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
    int code;
    g_autoptr(JsonObject) status = doctor_ask_status(doctor, &error, &code);
    const char *version = status ? get_string(status, "version") : "";

    if (code == -ENOENT || code == -ECONNREFUSED) {
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
    if (status) {
        say_running_cameras(doctor, status);
    }
}

// Whether the running edged listens on the port.
static bool is_edged_listening(const struct doctor *doctor, int port)
{
    int code;
    g_autoptr(JsonObject) status = doctor_ask_status(doctor, NULL, &code);
    const char *colon = status ? strrchr(get_string(status, "rtsp"), ':') : NULL;

    return colon && atoi(colon + 1) == port;
}

// The port is another program's, or that of edged.socket, which edged is handed only if the address
// is its own.
static void say_taken(struct doctor *doctor, const struct listener_place *place,
                      const struct error *error)
{
    g_autofree char *own = setup_service_socket_text(place->address, place->port);
    _cleanup_(cleanup_free) char *unit = doctor_find_socket_unit(place->port);

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

// How much memory the frames of all cameras and views take at most, if all are watched.
static double frames_mib(const struct config *config)
{
    double bytes = 0;

    for (size_t i = 0; i < config->camera_count; i++) {
        const struct config_camera *camera = &config->cameras[i];
        double pixels = (double)camera->width * camera->height;

        bytes += FRAMES_KEPT * pixels * (2 + 1.5 * (double)camera->view_count);
    }
    return bytes / MIB;
}

static bool read_available(double *ret_mib)
{
    FILE *file = fopen("/proc/meminfo", "re");
    char line[128];
    unsigned long kib;
    bool found = false;

    while (file && !found && fgets(line, sizeof line, file)) {
        found = sscanf(line, "MemAvailable: %lu kB", &kib) == 1;
    }
    if (file) {
        fclose(file);
    }
    if (found) {
        *ret_mib = (double)kib / 1024;
    }
    return found;
}

// The limit is that of this program; the service has one of its own.
static void check_lockable(struct doctor *doctor, double needed)
{
    struct rlimit limit = {0};

    if (getrlimit(RLIMIT_MEMLOCK, &limit) < 0) {
        return;
    }
    if (limit.rlim_cur == RLIM_INFINITY) {
        doctor_say(doctor, DOCTOR_OK, "lockable memory", "not limited");
        return;
    }
    doctor_say(
        doctor, DOCTOR_INFO, "lockable memory", "%.0f MiB here, frames take %.0f MiB%s",
        (double)limit.rlim_cur / MIB, needed,
        doctor->has_gpu && (double)limit.rlim_cur / MIB < needed
            ? ": should the driver refuse to register them, raise LimitMEMLOCK= of the service"
            : "");
}

void doctor_check_memory(struct doctor *doctor)
{
    double needed = frames_mib(doctor->config), available = 0;

    if (!read_available(&available)) {
        doctor_say(doctor, DOCTOR_INFO, "free memory", "/proc/meminfo does not say");
    } else if (available < needed) {
        doctor_say(
            doctor, DOCTOR_WARNING, "free memory",
            "%.0f MiB, frames take %.0f MiB when all views are watched: end programs, or make "
            "pictures smaller",
            available, needed);
    } else {
        doctor_say(doctor, DOCTOR_OK, "free memory",
                   "%.0f MiB, frames take %.0f MiB when all views are watched", available, needed);
    }
    check_lockable(doctor, needed);
}
