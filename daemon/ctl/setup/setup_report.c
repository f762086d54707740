#include "daemon/ctl/setup/setup_report.h"

#include "daemon/common/host_address.h"
#include "daemon/common/standard_output.h"
#include "daemon/ctl/client.h"
#include "daemon/ctl/json_get.h"

#include <glib.h>
#include <string.h>

// Beside /CAMERA/VIEW, the first view of the first camera has this path.
#define ALIAS "edges"

static bool is_any(const char *address)
{
    return strcmp(address, "0.0.0.0") == 0 || strcmp(address, "::") == 0;
}

// By which address the machine can be reached. The caller frees it.
static char *choose_host(const char *address)
{
    char found[INET6_ADDRSTRLEN];

    if (strcmp(address, "localhost") == 0) {
        return g_strdup("127.0.0.1");
    }
    if (!is_any(address)) {
        return g_strdup(address);
    }
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

    if (config->rtsp.plain) {
        printf("Encrypted:\n\n  %s\n\n", url);
    }
    if (certificate) {
        printf("The certificate that players may show:\n\n  %s\n\n",
               get_string(certificate, "fingerprint"));
    } else {
        puts("`edgectl status` shows the certificate's fingerprint.\n");
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
    if (!ffplay) {
        puts("\nffplay is not installed here: `sudo apt install ffmpeg`.");
    }
}

void setup_report_print(const struct config *config, const char *user)
{
    g_autofree char *host = choose_host(config->rtsp.address);
    g_autofree char *url = make_url(config, host, "", !config->rtsp.plain);

    if (config_is_loopback(config->rtsp.address)) {
        printf("\nOn this machine alone:\n\n  %s\n", url);
        return;
    }
    printf("\nOn any machine that reaches this one:\n\n  %s\n\n", url);
    print_qr_code(url);
    if (config->rtsp.tls_port) {
        print_encrypted(config, host);
    }
    if (user) {
        g_autofree char *login = g_strdup_printf("%s:PASSWORD@", user);
        g_autofree char *whole = make_url(config, host, login, !config->rtsp.plain);

        printf("VLC asks for user %s and the password; other players take both in the URL:\n\n",
               user);
        print_player(whole);
    }
}
