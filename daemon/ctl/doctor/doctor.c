// `edgectl doctor`: whether this machine has what edged needs, one line a check. The check of the
// configuration is here, because the others look at what it has loaded.
#include "config/problems.h"
#include "config/redact.h"
#include "daemon/common/gst_start.h"
#include "daemon/common/json.h"
#include "daemon/common/service_files.h"
#include "daemon/common/standard_output.h"
#include "daemon/ctl/arguments.h"
#include "daemon/ctl/commands.h"
#include "daemon/ctl/doctor/doctor_checks.h"

#include <glib.h>
#include <gst/gst.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

// How doctor reports: a line a check, JSON, or a page of Markdown. The page is for machines that
// nobody here has: it has what machine it is, and then a table of the checks.
enum doctor_style {
    DOCTOR_LINES, // one a check, as they come
    DOCTOR_JSON,  // at the end
    DOCTOR_PAGE,  // of Markdown, which begins with what machine it is
};

struct doctor_report {
    enum doctor_style style;
    FILE *out;         // not owned
    JsonBuilder *json; // owned reference; only with DOCTOR_JSON
    unsigned checks, failed;
};

// The first line of a file, NULL where there is none. The caller frees it.
static char *read_line(const char *path)
{
    char *text = NULL;

    if (!g_file_get_contents(path, &text, NULL, NULL))
        return NULL;
    text[strcspn(text, "\n")] = '\0';
    return text;
}

// A cell, in which a '|' would begin the next one and a line end the row.
static void print_cell(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '|')
            fputc('\\', out);
        fputc(*text == '\n' ? ' ' : *text, out);
    }
}

// The title, the table of the machine, and the head of the table of the checks.
static void begin_page(FILE *out)
{
    g_autofree char *l4t = read_line("/etc/nv_tegra_release");
    g_autofree char *driver = read_line("/proc/driver/nvidia/version");
    g_autofree char *system = g_get_os_info(G_OS_INFO_KEY_PRETTY_NAME);
    struct utsname kernel;
    struct board board;

    board_read("", &board);
    fprintf(out, "# edged " EDGED_VERSION " on %s\n\n| machine | |\n|---|---|\n",
            board.model[0] ? board.model : "an unnamed machine");
    const char *const rows[][2] = {{"system", system}, {"L4T", l4t}, {"driver", driver}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        if (rows[i][1]) {
            fprintf(out, "| %s | ", rows[i][0]);
            print_cell(out, rows[i][1]);
            fputs(" |\n", out);
        }
    }
    if (uname(&kernel) == 0)
        fprintf(out, "| kernel | %s %s %s |\n", kernel.sysname, kernel.release, kernel.machine);
    fprintf(out, "| processors | %u |\n\n| verdict | check | |\n|---|---|---|\n",
            g_get_num_processors());
}

// A row of the checks.
static void add_row(FILE *out, const char *verdict, const char *subject, const char *text)
{
    fprintf(out, "| %s | ", verdict);
    print_cell(out, subject);
    fputs(" | ", out);
    print_cell(out, text);
    fputs(" |\n", out);
}

static struct doctor_report *doctor_report_new(enum doctor_style style)
{
    struct doctor_report *report = g_new0(struct doctor_report, 1);

    report->style = style;
    report->out = standard_output_keep();
    if (style == DOCTOR_PAGE) {
        begin_page(report->out);
    } else if (style == DOCTOR_JSON) {
        report->json = json_builder_new();
        json_builder_begin_object(report->json);
        json_begin_list(report->json, "checks");
    }
    return report;
}

void doctor_say(struct doctor *doctor, enum doctor_verdict verdict, const char *subject,
                const char *format, ...)
{
    static const char *const words[] = {[DOCTOR_OK] = "ok",
                                        [DOCTOR_INFO] = "info",
                                        [DOCTOR_WARNING] = "warning",
                                        [DOCTOR_FAILED] = "FAILED"};
    static const char *const names[] = {[DOCTOR_OK] = "ok",
                                        [DOCTOR_INFO] = "info",
                                        [DOCTOR_WARNING] = "warning",
                                        [DOCTOR_FAILED] = "failed"};
    struct doctor_report *report = doctor->report;
    _cleanup_(cleanup_free) char *text = NULL;
    va_list arguments;

    va_start(arguments, format);
    text = redact_format(format, arguments);
    va_end(arguments);
    if (!text)
        return;
    report->checks++;
    report->failed += verdict == DOCTOR_FAILED;
    if (report->json) {
        json_builder_begin_object(report->json);
        json_add_string(report->json, "check", subject);
        json_add_string(report->json, "verdict", names[verdict]);
        json_add_string(report->json, "text", text);
        json_builder_end_object(report->json);
    } else if (report->style == DOCTOR_PAGE) {
        add_row(report->out, names[verdict], subject, text);
    } else {
        fprintf(report->out, "%-8s %-21s %s\n", words[verdict], subject, text);
    }
    standard_output_flush();
}

static void print_json(struct doctor_report *report)
{
    g_autofree char *text = NULL;

    json_builder_end_array(report->json);
    json_add_flag(report->json, "ok", report->failed == 0);
    json_builder_end_object(report->json);
    text = json_built_text(report->json, true);
    fprintf(report->out, "%s\n", text);
    g_object_unref(report->json);
}

// Prints what is left to print. Returns whether no check failed. Frees it.
static bool doctor_report_end(struct doctor_report *report)
{
    bool well = report->failed == 0;

    if (report->json)
        print_json(report);
    else if (well)
        fprintf(report->out, "\n%u checks, none failed\n", report->checks);
    else
        fprintf(report->out, "\n%u of %u checks failed\n", report->failed, report->checks);
    g_free(report);
    return well;
}

static const char usage[] =
    "Usage: edgectl doctor [--config FILE] [--json | --report | --hardware]\n"
    "Whether this machine has what edged needs: configuration, service, certificate, users, GPU\n"
    "with self-tests, memory, encoders, cameras; and which board it is, and what is chosen for "
    "it.\n"
    "One line a check; what failed says what to do.\n"
    "\n"
    "  --config FILE  the configuration; without it " CONFIG_DEFAULT_PATH ", if it is there,\n"
    "                 else the built-in defaults\n"
    "  --json         the result as JSON; edgectl(1) explains the keys\n"
    "  --report       a page of Markdown to send in, with what machine it is\n"
    "  --hardware     such a page of the hardware alone: device nodes, GPU, memory, encoders,\n"
    "                 and how many frames a second four views make; takes half a minute\n";

static void use_defaults(struct doctor *doctor)
{
    if (config_parse("", "built-in defaults", NULL, &doctor->config) < 0) {
        abort(); // built-in defaults have no mistakes
    }
}

// The first of the problems, and how many more there are.
static void say_problems(struct doctor *doctor, const struct config_problems *problems)
{
    g_autofree char *first = config_problem_line(&problems->list[0]);

    if (problems->count > 1) {
        doctor_say(doctor, DOCTOR_FAILED, "configuration",
                   "%s, and %zu more: `edged --config %s --check` lists them", first,
                   problems->count - 1, doctor->config_path);
    } else {
        doctor_say(doctor, DOCTOR_FAILED, "configuration", "%s", first);
    }
}

static void say_file(void *doctor, const char *key, const char *path, const char *reason)
{
    doctor_say(doctor, DOCTOR_WARNING, key, "%s: %s", path, reason);
}

static void check_configuration(struct doctor *doctor)
{
    _cleanup_(config_problems_finish) struct config_problems problems = {0};
    size_t views = 0;

    if (!doctor->config_path) {
        use_defaults(doctor);
        doctor_say(doctor, DOCTOR_INFO, "configuration",
                   "no " EDGED_SYSCONFDIR "/edged/edged.conf: the built-in defaults");
        return;
    }
    if (config_check_file(doctor->config_path, &problems, &doctor->config) < 0) {
        say_problems(doctor, &problems);
        doctor_say(doctor, DOCTOR_INFO, "left out",
                   "cameras, users, certificate and ports, until the file is correct; what is "
                   "chosen below is told of the built-in defaults");
        use_defaults(doctor);
        doctor->unusable = true;
        return;
    }
    for (size_t i = 0; i < doctor->config->camera_count; i++)
        views += doctor->config->cameras[i].view_count;
    doctor_say(doctor, DOCTOR_OK, "configuration", "%s: %zu camera%s, %zu view%s",
               doctor->config_path, doctor->config->camera_count,
               doctor->config->camera_count == 1 ? "" : "s", views, views == 1 ? "" : "s");
    service_files_tell(doctor->config, say_file, doctor);
}

// Which checks are run: all of the machine and the configuration, or those of the hardware.
enum doctor_scope { DOCTOR_ALL = 1, DOCTOR_HARDWARE = 2 };

static bool examine(const char *config_path, enum doctor_scope scope, enum doctor_style style)
{
    static const unsigned both = DOCTOR_ALL | DOCTOR_HARDWARE;
    const struct {
        void (*check)(struct doctor *doctor);
        bool configured; // looks at what the configuration says
        unsigned scopes; // of enum doctor_scope
    } checks[] = {
        {check_configuration, false, both},
        {doctor_check_control, false, both},
        {doctor_check_service, false, DOCTOR_ALL},
        {doctor_check_rtsp, true, DOCTOR_ALL},
        {doctor_check_certificate, true, DOCTOR_ALL},
        {doctor_check_users, true, DOCTOR_ALL},
        {doctor_check_clips, true, DOCTOR_ALL},
        {doctor_check_board, false, both},
        {doctor_check_devices, false, DOCTOR_HARDWARE},
        {doctor_check_gpu, false, both},
        {doctor_check_confinement, false, DOCTOR_ALL},
        {doctor_check_memory, false, both},
        {doctor_check_encoders, false, both},
        {doctor_check_cameras, true, DOCTOR_ALL},
        {doctor_check_speed, false, DOCTOR_HARDWARE},
    };
    struct doctor doctor = {.config_path = config_path, .report = doctor_report_new(style)};

    for (size_t i = 0; i < ARRAY_LENGTH(checks); i++) {
        if (checks[i].scopes & scope && !(checks[i].configured && doctor.unusable))
            checks[i].check(&doctor);
    }
    config_free(doctor.config);
    if (doctor.status)
        json_object_unref(doctor.status);
    return doctor_report_end(doctor.report);
}

int ctl_doctor(int argc, char **argv)
{
    const char *config_path = access(CONFIG_DEFAULT_PATH, F_OK) == 0 ? CONFIG_DEFAULT_PATH : NULL;
    bool json = false, page = false, hardware = false;
    const struct command_option options[] = {{"config", .text = &config_path},
                                             {"json", .flag = &json},
                                             {"report", .flag = &page},
                                             {"hardware", .flag = &hardware},
                                             {0}};
    const struct command_line line = {.command = "doctor", .usage = usage, .options = options};
    struct board board;
    int status;

    if (!command_line_parse(&line, argc, argv, &status))
        return status;
    if (json + page + hardware > 1) {
        fputs("edgectl: --json, --report and --hardware exclude each other\n", stderr);
        return 2;
    }
    board_read("", &board);
    gst_start(board.profile);
    return examine(config_path, hardware ? DOCTOR_HARDWARE : DOCTOR_ALL,
                   json               ? DOCTOR_JSON
                   : page || hardware ? DOCTOR_PAGE
                                      : DOCTOR_LINES)
               ? 0
               : 1;
}
