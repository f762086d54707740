#include "daemon/ctl/bench/bench_report.h"

#include "daemon/common/json_members.h"
#include "daemon/common/json_text.h"
#include "daemon/common/standard_output.h"
#include "daemon/ctl/table.h"

struct bench_report {
    JsonBuilder *json; // owned reference; NULL: tables
};

struct bench_report *bench_report_new(bool json)
{
    struct bench_report *report = g_new0(struct bench_report, 1);

    if (json) {
        report->json = json_builder_new();
        json_builder_begin_array(report->json);
    }
    return report;
}

static double percent_of_copy(const struct bench_row *row)
{
    return row->time.median > 0 ? 100 * row->copy.median / row->time.median : 0;
}

static void print_table(const struct bench_target *target, const struct config_view *view,
                        const struct bench_rows *rows)
{
    static const char *const titles[] = {"WHAT", "BACKEND", "MEMORY",    "MB",
                                         "US",   "+-",      "MEMCPY US", "MEMCPY%"};
    struct table *table = table_new(ARRAY_LENGTH(titles));
    const struct frame_layout *input = &target->input;

    printf("View %s of %s %ux%u (%s)\n", view->name, input->format->name, input->width,
           input->height, target->origin);
    for (size_t i = 0; i < ARRAY_LENGTH(titles); i++) {
        table_add(table, "%s", titles[i]);
    }
    for (size_t i = 0; i < rows->count; i++) {
        const struct bench_row *row = &rows->rows[i];

        table_add(table, "%s %s", row->what, row->name);
        table_add(table, "%s", row->backend);
        table_add(table, "%s", row->memory);
        table_add(table, "%.2f", (double)row->bytes / 1e6);
        table_add(table, "%.1f", row->time.median);
        table_add(table, "%.1f", row->time.spread);
        table_add(table, "%.1f", row->copy.median);
        table_add(table, "%.0f", percent_of_copy(row));
    }
    if (rows->count > 0) {
        table_print(table, stdout);
    } else {
        // On the CPU a split is measured, so this is --backend cuda.
        puts(view->view == CONFIG_VIEW_SPLIT
                 ? "a split is not measured on a GPU: --backend cpu measures it"
                 : "passed on as they are: there is nothing to measure");
    }
    putchar('\n');
    standard_output_flush();
    table_free(table);
}

static void add_row(JsonBuilder *builder, const struct bench_target *target,
                    const struct config_view *view, const struct bench_row *row)
{
    json_builder_begin_object(builder);
    json_add_string(builder, "view", view->name);
    json_add_string(builder, "format", target->input.format->name);
    json_add_integer(builder, "width", target->input.width);
    json_add_integer(builder, "height", target->input.height);
    json_add_string(builder, "origin", target->origin);
    json_add_string(builder, "what", row->what);
    json_add_string(builder, "name", row->name);
    json_add_string(builder, "backend", row->backend);
    json_add_string(builder, "memory", row->memory);
    json_add_integer(builder, "bytes", (int64_t)row->bytes);
    json_add_number(builder, "us", row->time.median);
    json_add_number(builder, "spread_us", row->time.spread);
    json_add_number(builder, "memcpy_us", row->copy.median);
    json_add_number(builder, "memcpy_share", percent_of_copy(row) / 100);
    json_builder_end_object(builder);
}

void bench_report_add(struct bench_report *report, const struct bench_target *target,
                      const struct config_view *view, const struct bench_rows *rows)
{
    if (!report->json) {
        print_table(target, view, rows);
        return;
    }
    for (size_t i = 0; i < rows->count; i++) {
        add_row(report->json, target, view, &rows->rows[i]);
    }
}

void bench_report_end(struct bench_report *report, bool print)
{
    if (report->json) {
        g_autoptr(JsonNode) root = NULL;
        g_autofree char *text = NULL;

        json_builder_end_array(report->json);
        root = json_builder_get_root(report->json);
        text = json_text(root, true);
        if (print) {
            puts(text);
        }
        g_object_unref(report->json);
    }
    g_free(report);
}
