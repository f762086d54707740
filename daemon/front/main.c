// edged: reads the configuration, then serves it until it is told to stop.

#include "config/diff.h"
#include "daemon/common/confine.h"
#include "daemon/common/crash.h"
#include "daemon/common/descriptors.h"
#include "daemon/common/log.h"
#include "daemon/common/service_files.h"
#include "daemon/common/standard_output.h"
#include "daemon/front/front.h"
#include "daemon/front/front_network.h"
#include "daemon/front/model/live.h"
#include "daemon/front/socket/listener.h"
#include "daemon/front/supervise/process.h"

#include <getopt.h>
#include <gio/gio.h>
#include <signal.h>
#include <stdio.h>

struct front_options {
    const char *config_path; // NULL: not given
    bool check;
    const char *diff_path; // an older configuration to compare with; only with `check`
};

#define SYNOPSIS "Usage: edged [--config FILE] [--check [--diff OLD]]\n"

static const char usage[] = SYNOPSIS
    "Streams edge-filtered cameras over RTSP.\n"
    "\n"
    "  -c, --config FILE  configuration (" EDGED_SYSCONFDIR "/edged/edged.conf if it is there,\n"
    "                     else built-in defaults: the first camera, else a moving pattern)\n"
    "      --check        print every problem of the configuration and exit\n"
    "      --diff OLD     with --check: also print each key that differs from the configuration\n"
    "                     OLD, and what a reload of the change costs\n"
    "  -v, --version      print the version and exit\n"
    "  -h, --help         print this and exit\n"
    "\n"
    "SIGHUP reloads the configuration. See edged(8) and edged.conf(5).\n";

// Printed behind an error.
static const char short_usage[] = SYNOPSIS "`edged --help` explains the options.\n";

enum { OPTION_CHECK = 256, OPTION_DIFF };

static const struct option long_options[] = {
    {"config", required_argument, NULL, 'c'},
    {"check", no_argument, NULL, OPTION_CHECK},
    {"diff", required_argument, NULL, OPTION_DIFF},
    {"version", no_argument, NULL, 'v'},
    {"help", no_argument, NULL, 'h'},
    {0},
};

// Parses the command line. 0: go on with `ret_options`. 1: end with `ret_status` (an enum
// front_exit), because --help or --version was answered or the line is wrong, which was explained.
static int parse_options(int argc, char **argv, struct front_options *ret_options, int *ret_status)
{
    struct front_options options = {0};
    int option;

    optind = 1;
    *ret_status = FRONT_EXIT_OK;
    while ((option = getopt_long(argc, argv, "c:hv", long_options, NULL)) >= 0) {
        switch (option) {
        case 'c':
            options.config_path = optarg;
            break;
        case OPTION_CHECK:
            options.check = true;
            break;
        case OPTION_DIFF:
            options.diff_path = optarg;
            break;
        case 'v':
            puts("edged " EDGED_VERSION);
            return 1;
        case 'h':
            fputs(usage, stdout);
            return 1;
        default:
            fputs(short_usage, stderr);
            *ret_status = FRONT_EXIT_USAGE;
            return 1;
        }
    }
    if (optind < argc || (options.diff_path && !options.check)) {
        const char *wrong = optind < argc ? argv[optind] : "--diff";

        fprintf(stderr, "edged: unexpected argument \"%s\"%s\n%s", wrong,
                optind < argc ? "" : " without --check", short_usage);
        *ret_status = FRONT_EXIT_USAGE;
        return 1;
    }
    *ret_options = options;
    return 0;
}

// The file to read: the one that was named, else the default one if it exists, else NULL.
static const char *choose_config(const struct front_options *options)
{
    if (options->config_path)
        return options->config_path;
    return access(CONFIG_DEFAULT_PATH, F_OK) == 0 ? CONFIG_DEFAULT_PATH : NULL;
}

static int read_config(const char *path, bool is_look, struct live *ret_live,
                       struct config **ret_config)
{
    int r = live_load(path, is_look, stderr, ret_live, ret_config);

    if (r == 0 && path && (*ret_config)->is_empty) {
        fprintf(stderr, "%s: warning: not one setting in it, using the default of each key\n",
                path);
    }
    return r;
}

static void warn_of_file(void *config_path, const char *key, const char *path, const char *reason)
{
    fprintf(stderr, "%s: warning: %s: %s: %s\n", (const char *)config_path, key, path, reason);
}

// Asks the camera program what is wrong with a pipeline. Returns "" if nothing is, or if there is
// no such program. The caller g_free()s the text.
static char *check_pipeline(const char *pipeline)
{
    _cleanup_(cleanup_free) char *program = NULL;
    char *told = NULL;

    if (process_find_program("edged-camera", "EDGED_CAMERA_PROGRAM", NULL, &program) == 0) {
        g_autoptr(GSubprocess) process =
            g_subprocess_new(G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDOUT_PIPE, NULL,
                             program, "--check-pipeline", NULL);

        if (process)
            g_subprocess_communicate_utf8(process, pipeline, NULL, &told, NULL, NULL);
    }
    return told ? told : g_strdup("");
}

// Of views that name an encoder which is not there: they would show nothing.
static void warn_of_encoder(const struct config *config, enum config_encoder encoder,
                            const char *path, FILE *problems)
{
    g_autofree char *fault = NULL; // asked for once, where a view names the encoder

    for (size_t i = 0; i < config->camera_count; i++) {
        const struct config_camera *camera = &config->cameras[i];

        for (size_t k = 0; k < camera->view_count; k++) {
            if (camera->views[k].encoder != encoder)
                continue;
            fault = fault ? fault : check_pipeline(config_encoder_name(encoder));
            if (*fault) {
                fprintf(problems,
                        "%s: warning: cameras[%zu].views[%zu].encoder: %s; install what is "
                        "missing, or take \"auto\"\n",
                        path, i, k, fault);
            }
        }
    }
}

// A warning for each pipeline and encoder that GStreamer does not have: the parser cannot see that.
static void warn_of_elements(const struct config *config, const char *path, FILE *problems)
{
    for (size_t i = 0; i < config->camera_count; i++) {
        const struct config_camera *camera = &config->cameras[i];
        bool has = camera->source == CONFIG_SOURCE_GSTREAMER;
        g_autofree char *fault = has ? check_pipeline(camera->pipeline) : NULL;

        if (has && *fault) {
            fprintf(problems,
                    "%s: warning: cameras[%zu].pipeline: %s; install what is missing, or correct "
                    "it\n",
                    path, i, fault);
        }
    }
    for (enum config_encoder encoder = 0; encoder < CONFIG_ENCODER_COUNT; encoder++) {
        if (encoder != CONFIG_ENCODER_AUTO)
            warn_of_encoder(config, encoder, path, problems);
    }
}

static void tell_recorded(const struct config *config)
{
    for (size_t i = 0; i < config->camera_count; i++) {
        const struct config_camera *camera = &config->cameras[i];

        if (camera->record.mode != CONFIG_RECORD_OFF) {
            printf("%s: the view %s is recorded (%s), so it is computed all the time\n",
                   camera->name, config_record_view(camera)->name,
                   config_record_mode_name(camera->record.mode));
        }
    }
}

static int check(const struct config *config, const struct live *live, const char *path,
                 const char *old_path)
{
    _cleanup_(cleanup_config) struct config *old = NULL;

    if (old_path && config_load(old_path, stderr, &old) < 0)
        return FRONT_EXIT_CONFIGURATION;
    if (front_network_check_certificate(config, path, stderr) < 0)
        return FRONT_EXIT_CONFIGURATION;
    warn_of_elements(config, path, stderr);
    service_files_tell(config, warn_of_file, (void *)path);
    live_tell(live);
    printf("%s: ok\n", path ? path : "built-in defaults");
    tell_recorded(config);
    if (old)
        config_diff_print(stdout, old, config);
    return FRONT_EXIT_OK;
}

static int serve(struct config **config, struct live *live)
{
    struct front *front = NULL;
    struct error error = {0};

    signal(SIGPIPE, SIG_IGN);
    crash_watch("edged");
    descriptors_raise();
    if (descriptors_check((*config)->camera_count, &error) < 0) {
        log_error("%s, ending", error.text);
        return FRONT_EXIT_CAMERA;
    }
    int status = front_new(*config, live, &error, &front);
    if (status) {
        log_error("%s, ending", error.text);
        return status;
    }
    *config = NULL; // the front's now
    listener_close_rest();
    bool ended = front_run(front);
    front_free(front);
    if (!ended) {
        log_notice("a process or a write goes on, ending without it");
        _exit(FRONT_EXIT_OK);
    }
    return FRONT_EXIT_OK;
}

int main(int argc, char **argv)
{
    _cleanup_(cleanup_config) struct config *config = NULL;
    _cleanup_(live_finish) struct live live = {0};
    struct front_options options;
    int status;

    if (parse_options(argc, argv, &options, &status))
        return standard_output_finish("edged", status);
    // Which will have hashes of passwords, and keys.
    if (!options.check)
        confine_memory();
    const char *path = choose_config(&options);
    if (read_config(path, options.check, &live, &config) < 0)
        return FRONT_EXIT_CONFIGURATION;
    if (options.check)
        return standard_output_finish("edged", check(config, &live, path, options.diff_path));
    return serve(&config, &live);
}
