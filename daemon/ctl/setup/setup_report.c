#include "daemon/ctl/setup/setup_report.h"

#include "daemon/client/client.h"
#include "daemon/common/host_address.h"
#include "daemon/common/log.h"
#include "daemon/common/standard_output.h"
#include "daemon/ctl/status.h"
#include "daemon/ctl/users/onvif_user.h"

#include <arpa/inet.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// Beside /CAMERA/VIEW, the first view of the first camera has this path.
#define ALIAS "edges"

// The service
// ---------------------------------------------------------------------

// How long a camera may take to deliver its first picture, and the recorder to look at its folder.
#define CAMERA_WAIT_US (15 * G_USEC_PER_SEC)
#define RECORDER_WAIT_US (5 * G_USEC_PER_SEC)

// The first camera in the status of the running edged; NULL: there is none, or no edged that
// answers. *ret_status is for the caller to json_object_unref().
static JsonObject *read_camera(const struct config *config, JsonObject **ret_status)
{
    struct error ignored;
    JsonArray *cameras;

    if (client_get_status(config->control.socket, &ignored, ret_status) < 0)
        return NULL;
    cameras = json_object_get_array_member(*ret_status, "cameras");
    return cameras && json_array_get_length(cameras) > 0 ? json_array_get_object_element(cameras, 0)
                                                         : NULL;
}

// Says what the camera delivers, or why it delivers nothing, as soon as the service that was
// started tells.
static void print_camera(const struct config *config)
{
    gint64 end = g_get_monotonic_time() + CAMERA_WAIT_US;
    bool live = false;

    printf("\nWaiting for a picture of the camera %s ...\n", config->cameras[0].name);
    standard_output_flush();
    while (!live && g_get_monotonic_time() < end) {
        g_autoptr(JsonObject) status = NULL;
        JsonObject *camera = read_camera(config, &status);

        live = camera && strcmp(get_string(camera, "state"), "live") == 0 &&
               get_number(camera, "fps") > 0;
        if (live && strstr(get_string(camera, "path"), "pattern (no camera found)")) {
            puts("No camera was found: viewers see a moving pattern until you plug one in.");
        } else if (live) {
            printf("The camera delivers %.0fx%.0f at %.3g frames a second.\n",
                   get_number(camera, "width"), get_number(camera, "height"),
                   get_number(camera, "fps"));
        } else {
            g_usleep(G_USEC_PER_SEC / 5);
        }
    }
    if (!live) {
        g_autoptr(JsonObject) status = NULL;
        JsonObject *camera = read_camera(config, &status);
        const char *error = camera ? get_string(camera, "error") : "edged does not answer";

        printf("The camera delivers no picture yet: %s. Viewers see NO SIGNAL until it does; "
               "`edgectl doctor` looks for the cause.\n",
               *error ? error : "it has not answered");
    }
}

// Says why nothing is recorded, as soon as the recorder tells.
static void print_recorder(const struct config *config)
{
    gint64 end = g_get_monotonic_time() + RECORDER_WAIT_US;
    bool waits = config_records(config);

    while (waits) {
        g_autoptr(JsonObject) status = NULL;
        JsonObject *recorder = client_get_status(config->control.socket, NULL, &status) == 0
                                   ? get_object(status, "recorder")
                                   : NULL;
        const char *state = recorder ? get_string(recorder, "state") : "";
        bool is_ready = strcmp(state, "ready") == 0, has_stopped = strcmp(state, "stopped") == 0;

        waits = !is_ready && !has_stopped && g_get_monotonic_time() < end;
        if (waits) {
            g_usleep(G_USEC_PER_SEC / 5);
        } else if (recorder && !is_ready && strcmp(state, "off") != 0) { // off: by a kept setting
            printf("Nothing is recorded yet: %s. edged tries again by itself.\n",
                   *get_string(recorder, "error") ? get_string(recorder, "error") : state);
        }
    }
}

// Names the settings for which the file does not count, because they were kept while edged ran.
static void print_kept(const struct config *config)
{
    const struct client_options where = {.socket = config->control.socket};
    _cleanup_(client_cleanup) struct client *client = NULL;

    if (client_new(&where, NULL, &client) == 0) {
        status_print_settings(client,
                              "\nThese count over the file, until `edgectl unset KEY`:\n\n");
    }
}

void setup_report_running(const struct config *config)
{
    print_camera(config);
    print_recorder(config);
    print_kept(config);
}

// The addresses
// ---------------------------------------------------------------------

static bool is_any(const char *address)
{
    return strcmp(address, "0.0.0.0") == 0 || strcmp(address, "::") == 0;
}

// By which address the machine can be reached. The caller frees it.
static char *choose_host(const char *address)
{
    char found[INET6_ADDRSTRLEN];

    if (strcmp(address, "localhost") == 0)
        return g_strdup("127.0.0.1");
    if (!is_any(address))
        return g_strdup(address);
    return g_strdup(host_address_find(strchr(address, ':') ? AF_UNSPEC : AF_INET, found) < 0
                        ? "THIS-MACHINE"
                        : found);
}

// `login` is "" or "user:password@".
static char *make_url(const struct config *config, const char *host, const char *login,
                      bool encrypted)
{
    const struct config_camera *camera = &config->cameras[0];
    const char *view = camera->views[0].name;
    g_autofree char *path =
        strcmp(view, ALIAS) == 0 ? g_strdup(ALIAS) : g_strdup_printf("%s/%s", camera->name, view);

    return g_strdup_printf(strchr(host, ':') ? "%s://%s[%s]:%d/%s" : "%s://%s%s:%d/%s",
                           encrypted ? "rtsps" : "rtsp", login, host,
                           encrypted ? config->rtsp.tls_port : config->rtsp.port, path);
}

static void print_qr_code(const char *url)
{
    g_autofree char *program = g_find_program_in_path("qrencode");
    const char *const arguments[] = {program, "-t", "ANSIUTF8", url, NULL};

    if (program && isatty(STDOUT_FILENO)) {
        putchar('\n');
        standard_output_flush();
        g_spawn_sync(NULL, (char **)(void *)arguments, NULL, G_SPAWN_CHILD_INHERITS_STDIN, NULL,
                     NULL, NULL, NULL, NULL, NULL);
    }
}

static void print_encrypted(const struct config *config, const char *host)
{
    g_autofree char *url = make_url(config, host, "", true);
    g_autoptr(JsonObject) status = NULL;
    JsonObject *certificate = client_get_status(config->control.socket, NULL, &status) == 0
                                  ? get_object(status, "certificate")
                                  : NULL;

    if (config->rtsp.plain)
        printf("\nEncrypted:\n\n  %s\n", url);
    if (certificate) {
        printf("\nFingerprint of edged's certificate, if a player asks:\n\n  %s\n",
               get_string(certificate, "fingerprint"));
    } else {
        puts("\n`edgectl status` shows the certificate's fingerprint.");
    }
}

// Players that take a URL of RTSP, of which ffplay is named if this machine has none.
static void print_player(const char *url)
{
    g_autofree char *ffplay = g_find_program_in_path("ffplay");
    g_autofree char *mpv = g_find_program_in_path("mpv");

    if (!ffplay && mpv) {
        printf("  mpv --rtsp-transport=tcp %s\n", url);
        return;
    }
    printf("  ffplay -rtsp_transport tcp %s\n", url);
    if (!ffplay)
        puts("\nffplay is not installed here: `sudo apt install ffmpeg`.");
}

static void print_streams(const struct config *config, const char *user)
{
    g_autofree char *host = choose_host(config->rtsp.address);
    g_autofree char *url = make_url(config, host, "", !config->rtsp.plain);

    if (config_is_loopback(config->rtsp.address)) {
        printf("\nOn this machine alone:\n\n  %s\n", url);
        return;
    }
    printf("\nOn any machine that reaches this one:\n\n  %s\n", url);
    print_qr_code(url);
    if (config->rtsp.tls_port)
        print_encrypted(config, host);
    if (user) {
        g_autofree char *login = g_strdup_printf("%s:PASSWORD@", user);
        g_autofree char *whole = make_url(config, host, login, !config->rtsp.plain);

        printf("\nVLC asks for user %s and the password; other players take both in the URL:\n\n",
               user);
        print_player(whole);
    }
}

static void print_page(const struct config *config)
{
    g_autofree char *host = choose_host(config->http.address);

    if (config->http.port == 0 || config_is_loopback(config->http.address))
        return;
    printf(strchr(host, ':') ? "\nIn a browser:\n\n  %s://[%s]:%d\n"
                             : "\nIn a browser:\n\n  %s://%s:%d\n",
           config->http.tls ? "https" : "http", host, config->http.port);
    if (config->http.tls && !config->rtsp.certificate[0])
        puts("\nIt warns of edged's own certificate once.");
}

// The journal gets no password, because others may read it.
static void print_onvif(const struct setup_config *config, const struct password *password)
{
    g_autofree char *host = choose_host(config->wanted->http.address);
    g_autofree char *path = onvif_user_path(config->file.path);

    printf("\nFor recorders and Home Assistant (ONVIF): address %s, port %d", host,
           config->wanted->http.port);
    if (password->text[0] && log_is_journal(STDOUT_FILENO))
        printf(", user %s, whose password is in %s", ONVIF_USER, path);
    else if (password->text[0])
        printf(", user %s, password %s", ONVIF_USER, password->text);
    putchar('\n');
}

void setup_report_addresses(const struct setup_config *config, const struct setup_answers *answers)
{
    print_streams(config->wanted, answers->user);
    print_page(config->wanted);
    if (answers->onvif)
        print_onvif(config, &answers->onvif_password);
}
