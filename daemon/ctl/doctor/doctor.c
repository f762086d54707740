// `edgectl doctor`: whether this machine has what edged needs, one line a check. The check of the
// configuration is here, because the others look at what it has loaded.
#include "daemon/ctl/commands.h"

#include "daemon/common/service_files.h"
#include "daemon/ctl/arguments.h"
#include "daemon/ctl/doctor/doctor_checks.h"

#include <gst/gst.h>
#include <stdio.h>
#include <string.h>

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

static void say_file(void *doctor, const char *key, const char *path, const char *reason)
{
    doctor_say(doctor, DOCTOR_WARNING, key, "%s: %s", path, reason);
}

static void check_configuration(struct doctor *doctor)
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
    service_files_tell(doctor->config, say_file, doctor);
}

static bool examine(const char *config_path, enum doctor_style style)
{
    static const struct {
        void (*check)(struct doctor *doctor);
        bool configured; // looks at what the configuration says
    } checks[] = {
        {check_configuration, false},      {doctor_check_control, false},
        {doctor_check_service, false},     {doctor_check_rtsp, true},
        {doctor_check_certificate, true},  {doctor_check_users, true},
        {doctor_check_board, false},       {doctor_check_gpu, false},
        {doctor_check_confinement, false}, {doctor_check_memory, false},
        {doctor_check_encoders, false},    {doctor_check_cameras, true},
    };
    struct doctor doctor = {.config_path = config_path, .report = doctor_report_new(style)};

    for (size_t i = 0; i < ARRAY_LENGTH(checks); i++) {
        if (!(checks[i].configured && doctor.unusable)) {
            checks[i].check(&doctor);
        }
    }
    config_free(doctor.config);
    if (doctor.status) {
        json_object_unref(doctor.status);
    }
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
