// `edgectl doctor`: whether this machine has what edged needs, one line a check.
#include "daemon/ctl/commands.h"

#include "daemon/ctl/arguments.h"
#include "daemon/ctl/doctor/doctor_checks.h"

#include <gst/gst.h>
#include <stdio.h>

static const char usage[] =
    "Usage: edgectl doctor [--config FILE] [--json | --report]\n"
    "Whether this machine has what edged needs: configuration, service, certificate, users, GPU\n"
    "with self-tests, memory, encoders, cameras; and which board it is, and what is chosen for "
    "it.\n"
    "One line a check; what failed says what to do.\n"
    "\n"
    "  --config FILE  the configuration; without it " CONFIG_DEFAULT_PATH ", if it is there,\n"
    "                 else the built-in defaults\n"
    "  --json         the result as JSON; edgectl(1) explains the keys\n"
    "  --report       a page of Markdown to send in, with what machine it is\n";

static bool examine(const char *config_path, enum doctor_style style)
{
    static const struct {
        void (*check)(struct doctor *doctor);
        bool configured; // looks at what the configuration says
    } checks[] = {
        {doctor_check_configuration, false}, {doctor_check_control, false},
        {doctor_check_service, false},       {doctor_check_rtsp, true},
        {doctor_check_certificate, true},    {doctor_check_users, true},
        {doctor_check_board, false},         {doctor_check_gpu, false},
        {doctor_check_confinement, false},   {doctor_check_memory, false},
        {doctor_check_encoders, false},      {doctor_check_cameras, true},
    };
    struct doctor doctor = {.config_path = config_path, .report = doctor_report_new(style)};

    for (size_t i = 0; i < ARRAY_LENGTH(checks); i++) {
        if (!(checks[i].configured && doctor.unusable)) {
            checks[i].check(&doctor);
        }
    }
    config_free(doctor.config);
    return doctor_report_end(doctor.report);
}

int ctl_doctor(int argc, char **argv)
{
    const char *config_path = access(CONFIG_DEFAULT_PATH, F_OK) == 0 ? CONFIG_DEFAULT_PATH : NULL;
    bool json = false, page = false;
    const struct command_option options[] = {
        {"config", .text = &config_path}, {"json", .flag = &json}, {"report", .flag = &page}, {0}};
    const struct command_line line = {.command = "doctor", .usage = usage, .options = options};
    int status;

    if (!command_line_parse(&line, argc, argv, &status)) {
        return status;
    }
    if (json && page) {
        fputs("edgectl: --json and --report exclude each other\n", stderr);
        return 2;
    }
    gst_init(NULL, NULL);
    return examine(config_path, json ? DOCTOR_JSON : page ? DOCTOR_PAGE : DOCTOR_LINES) ? 0 : 1;
}
