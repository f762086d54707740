#include "daemon/ctl/doctor/doctor.h"

#include "daemon/ctl/doctor/doctor_checks.h"

#include <getopt.h>
#include <gst/gst.h>
#include <stdio.h>

#define DEFAULT_CONFIG EDGED_SYSCONFDIR "/edged/edged.conf"

static const char usage[] =
    "Usage: edgectl doctor [--config FILE] [--json]\n"
    "Whether this machine has what edged needs: configuration, service, GPU with self-tests,\n"
    "memory, encoders, cameras. One line a check; what failed says what to do.\n"
    "\n"
    "  --config FILE  the configuration; without it " DEFAULT_CONFIG ", if it is there,\n"
    "                 else the built-in defaults\n"
    "  --json         the result as JSON; edgectl(1) explains the keys\n";

static bool examine(const char *config_path, bool json)
{
    static void (*const checks[])(struct doctor * doctor) = {
        doctor_check_configuration, doctor_check_service, doctor_check_control,
        doctor_check_rtsp,          doctor_check_gpu,     doctor_check_memory,
        doctor_check_encoders,      doctor_check_cameras,
    };
    struct doctor doctor = {.config_path = config_path, .report = doctor_report_new(json)};

    for (size_t i = 0; i < ARRAY_LENGTH(checks); i++) {
        checks[i](&doctor);
    }
    config_free(doctor.config);
    return doctor_report_end(doctor.report);
}

int ctl_doctor(int argc, char **argv)
{
    static const struct option options[] = {
        {"config", required_argument, NULL, 'c'},
        {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    const char *config_path = access(DEFAULT_CONFIG, F_OK) == 0 ? DEFAULT_CONFIG : NULL;
    bool json = false;
    int option;

    optind = 0; // main's own options were parsed before
    while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0) {
        switch (option) {
        case 'c':
            config_path = optarg;
            break;
        case 'j':
            json = true;
            break;
        case 'h':
            fputs(usage, stdout);
            return 0;
        default:
            fputs(usage, stderr);
            return 2;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "edgectl: doctor takes no argument \"%s\"\n%s", argv[optind], usage);
        return 2;
    }
    gst_init(NULL, NULL);
    return examine(config_path, json) ? 0 : 1;
}
