#include "daemon/front/options.h"

#include "daemon/front/front.h"

#include <getopt.h>
#include <stdio.h>

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

// What follows an error.
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

int options_parse(int argc, char **argv, struct front_options *ret_options, int *ret_status)
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
