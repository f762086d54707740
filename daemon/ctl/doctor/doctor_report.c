// How doctor reports: a line a check, JSON, or a page of Markdown. The page is for machines that
// nobody here has: it has what machine it is, and then a table of the checks.
#include "config/redact.h"
#include "daemon/common/json_members.h"
#include "daemon/common/json_text.h"
#include "daemon/common/standard_output.h"
#include "daemon/ctl/doctor/doctor_checks.h"

#include <glib.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

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

    if (!g_file_get_contents(path, &text, NULL, NULL)) {
        return NULL;
    }
    text[strcspn(text, "\n")] = '\0';
    return text;
}

// A cell, in which a '|' would begin the next one and a line end the row.
static void print_cell(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '|') {
            fputc('\\', out);
        }
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
    if (uname(&kernel) == 0) {
        fprintf(out, "| kernel | %s %s %s |\n", kernel.sysname, kernel.release, kernel.machine);
    }
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

struct doctor_report *doctor_report_new(enum doctor_style style)
{
    struct doctor_report *report = g_new0(struct doctor_report, 1);

    report->style = style;
    report->out = standard_output_keep();
    if (style == DOCTOR_PAGE) {
        begin_page(report->out);
    } else if (style == DOCTOR_JSON) {
        report->json = json_builder_new();
        json_builder_begin_object(report->json);
        json_builder_set_member_name(report->json, "checks");
        json_builder_begin_array(report->json);
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
    if (!text) {
        return;
    }
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
    json_builder_set_member_name(report->json, "ok");
    json_builder_add_boolean_value(report->json, report->failed == 0);
    json_builder_end_object(report->json);
    text = json_built_text(report->json, true);
    fprintf(report->out, "%s\n", text);
    g_object_unref(report->json);
}

bool doctor_report_end(struct doctor_report *report)
{
    bool well = report->failed == 0;

    if (report->json) {
        print_json(report);
    } else if (well) {
        fprintf(report->out, "\n%u checks, none failed\n", report->checks);
    } else {
        fprintf(report->out, "\n%u of %u checks failed\n", report->failed, report->checks);
    }
    g_free(report);
    return well;
}
