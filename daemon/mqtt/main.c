// edged-mqtt: takes what the running edged tells to a broker of MQTT, and what the broker's clients
// ask for to edged. A process of its own, because looking up a broker's name blocks, and what a
// broker sends shall not be read where edged's users and viewers are.

#include "daemon/common/crash.h"
#include "daemon/common/log.h"
#include "daemon/mqtt/bridge.h"

#include <getopt.h>
#include <glib-unix.h>
#include <signal.h>
#include <systemd/sd-daemon.h>

static const char usage[] =
    "Usage: edged-mqtt [--config FILE | --socket PATH]\n"
    "Takes edged's events, states and settings to a broker of MQTT, and settings back.\n"
    "The group mqtt of the running edged's configuration names the broker.\n"
    "\n"
    "  -c, --config FILE  the running edged's configuration, which names its control socket\n"
    "      --socket PATH  the control socket, as `control.socket` in edged.conf\n"
    "  -v, --version      print the version and exit\n"
    "  -h, --help         print this and exit\n"
    "\n"
    "See edged-mqtt(8).\n";

static const struct option long_options[] = {
    {"config", required_argument, NULL, 'c'},
    {"socket", required_argument, NULL, 's'},
    {"version", no_argument, NULL, 'v'},
    {"help", no_argument, NULL, 'h'},
    {0},
};

// -1: go on with `ret_where`; else the exit status.
static int parse_options(int argc, char **argv, struct client_options *ret_where)
{
    int option;

    while ((option = getopt_long(argc, argv, "c:hv", long_options, NULL)) >= 0) {
        switch (option) {
        case 'c':
            ret_where->config_path = optarg;
            break;
        case 's':
            ret_where->socket = optarg;
            break;
        case 'v':
            puts("edged-mqtt " EDGED_VERSION);
            return 0;
        case 'h':
            fputs(usage, stdout);
            return 0;
        default:
            fputs(usage, stderr);
            return 2;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "edged-mqtt: unexpected argument \"%s\"\n%s", argv[optind], usage);
        return 2;
    }
    return -1;
}

#define ID_LETTERS G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "_-"

// The ID of this machine among those that share a broker: the host's name and four hexadecimal
// digits of /etc/machine-id, "jetson-3f2a", because boards come with the same name;
// $EDGED_MQTT_ID instead, if it is set. Of letters that a topic of discovery may have.
static char *make_id(void)
{
    const char *given = g_getenv("EDGED_MQTT_ID");
    g_autofree char *machine = NULL;
    char *id;

    if (given && *given)
        id = g_strdup(given);
    else if (g_file_get_contents("/etc/machine-id", &machine, NULL, NULL))
        id = g_strdup_printf("%s-%.4s", g_get_host_name(), machine);
    else
        id = g_strdup(g_get_host_name());
    return g_strcanon(id, ID_LETTERS, '_');
}

static gboolean on_signal(gpointer loop)
{
    g_main_loop_quit(loop);
    return G_SOURCE_CONTINUE;
}

int main(int argc, char **argv)
{
    g_autoptr(GMainLoop) loop = NULL;
    g_autofree char *id = NULL;
    _cleanup_(client_cleanup) struct client *client = NULL;
    struct client_options where = {0};
    struct bridge *bridge;
    struct error error = {0};
    int status = parse_options(argc, argv, &where);

    if (status >= 0)
        return status;
    log_set_program("edged-mqtt");
    crash_watch("edged-mqtt");
    signal(SIGPIPE, SIG_IGN);
    if (client_new(&where, &error, &client) < 0) {
        log_error("%s", error.text);
        return 1;
    }
    loop = g_main_loop_new(NULL, FALSE);
    g_unix_signal_add(SIGTERM, on_signal, loop);
    g_unix_signal_add(SIGINT, on_signal, loop);
    id = make_id();
    bridge = bridge_new(client, id);
    sd_notify(0, "READY=1");
    g_main_loop_run(loop);
    sd_notify(0, "STOPPING=1");
    bridge_free(bridge);
    return 0;
}
