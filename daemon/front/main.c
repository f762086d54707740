// edged: reads the configuration, then serves it until it is told to stop.

#include "config/diff.h"
#include "daemon/common/descriptors.h"
#include "daemon/common/log.h"
#include "daemon/common/service_files.h"
#include "daemon/common/standard_output.h"
#include "daemon/front/front.h"
#include "daemon/front/front_config.h"
#include "daemon/front/front_network.h"
#include "daemon/front/listener.h"
#include "daemon/front/options.h"

#include <signal.h>
#include <stdio.h>

// The file to read: the one that was named, else the default one if it exists, else NULL.
static const char *choose_config(const struct front_options *options)
{
    if (options->config_path) {
        return options->config_path;
    }
    return access(CONFIG_DEFAULT_PATH, F_OK) == 0 ? CONFIG_DEFAULT_PATH : NULL;
}

static int read_config(const char *path, struct config **ret_config)
{
    int r = path ? config_load(path, stderr, ret_config)
                 : config_parse("", "built-in defaults", stderr, ret_config);

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

static int check(const struct config *config, const char *path, const char *old_path)
{
    _cleanup_(cleanup_config) struct config *old = NULL;

    if (old_path && config_load(old_path, stderr, &old) < 0) {
        return FRONT_EXIT_CONFIGURATION;
    }
    if (front_network_check_certificate(config, path, stderr) < 0) {
        return FRONT_EXIT_CONFIGURATION;
    }
    front_config_warn(config, path, stderr);
    service_files_tell(config, warn_of_file, (void *)path);
    printf("%s: ok\n", path ? path : "built-in defaults");
    if (old) {
        config_diff_print(stdout, old, config);
    }
    return FRONT_EXIT_OK;
}

static int serve(struct config **config, const char *path)
{
    struct front *front = NULL;
    struct error error = {0};

    signal(SIGPIPE, SIG_IGN);
    descriptors_raise();
    if (front_config_check_descriptors(*config, &error) < 0) {
        log_error("%s, ending", error.text);
        return FRONT_EXIT_CAMERA;
    }
    int status = front_new(*config, path, &error, &front);
    if (status) {
        log_error("%s, ending", error.text);
        return status;
    }
    *config = NULL; // the front's now
    listener_close_rest();
    bool ended = front_run(front);
    front_free(front);
    if (!ended) {
        log_notice("a camera process goes on, ending without it");
        _exit(FRONT_EXIT_OK);
    }
    return FRONT_EXIT_OK;
}

int main(int argc, char **argv)
{
    _cleanup_(cleanup_config) struct config *config = NULL;
    struct front_options options;
    int status;

    if (options_parse(argc, argv, &options, &status)) {
        return standard_output_finish("edged", status);
    }
    const char *path = choose_config(&options);
    if (read_config(path, &config) < 0) {
        return FRONT_EXIT_CONFIGURATION;
    }
    if (options.check) {
        return standard_output_finish("edged", check(config, path, options.diff_path));
    }
    return serve(&config, path);
}
