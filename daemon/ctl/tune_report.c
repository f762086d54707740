#include "daemon/ctl/tune_report.h"

#include "daemon/ctl/table.h"

#include <json-glib/json-glib.h>

static double percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

static void print_shapes(const struct sweep *sweep)
{
    static const char *const titles[] = {"BLOCK",   "THREADS",   "US", "+-",
                                         "MEMCPY%", "OCCUPANCY", ""};
    struct table *table = table_new(ARRAY_LENGTH(titles));

    for (size_t i = 0; i < ARRAY_LENGTH(titles); i++) {
        table_add(table, "%s", titles[i]);
    }
    for (size_t i = 0; i < sweep->count; i++) {
        const struct sweep_shape *shape = &sweep->shapes[i];
        bool in_use = shape_equal(shape->block, sweep->in_use);

        table_add(table, "%d x %d", shape->block.x, shape->block.y);
        table_add(table, "%d", shape->block.x * shape->block.y);
        table_add(table, "%.2f", shape->time.median);
        table_add(table, "%.2f", shape->time.spread);
        table_add(table, "%.0f", percent(sweep->copy.median, shape->time.median));
        table_add(table, shape->occupancy_percent ? "%u %%" : "-", shape->occupancy_percent);
        table_add(table, "%s%s%s", i == 0 ? "best" : "", i == 0 && in_use ? ", " : "",
                  in_use ? "in use" : "");
    }
    table_print(table, stdout);
    table_free(table);
}

static void print_verdict(const struct sweep *sweep)
{
    const struct sweep_shape *best = &sweep->shapes[0];
    const struct sweep_shape *in_use = sweep_find(sweep, sweep->in_use);

    if (!in_use) {
        return;
    }
    if (best == in_use) {
        printf("The block in use is the best.\n");
    } else if (sweep->within_noise) {
        printf("Within noise: [%d, %d] is not faster than [%d, %d], in use, by more than the times "
               "spread.\n",
               best->block.x, best->block.y, in_use->block.x, in_use->block.y);
    } else {
        printf("[%d, %d] takes %.0f %% less time than [%d, %d], in use.\n", best->block.x,
               best->block.y, 100 - percent(best->time.median, in_use->time.median),
               in_use->block.x, in_use->block.y);
    }
}

static void print_paths(const struct tune_report *report)
{
    static const char *const titles[] = {"VIEW", "MEMORY", "US", "+-"};
    struct table *table = table_new(ARRAY_LENGTH(titles));
    bool any = false;

    for (size_t i = 0; i < ARRAY_LENGTH(titles); i++) {
        table_add(table, "%s", titles[i]);
    }
    for (size_t i = 0; i < report->count; i++) {
        const struct sweep *sweep = &report->sweeps[i];

        if (sweep->path.median > 0) {
            table_add(table, "%s", sweep->view->name);
            table_add(table, "%s%s", config_memory_name(sweep->memory),
                      sweep->memory == report->memory_in_use ? " (in use)" : "");
            table_add(table, "%.1f", sweep->path.median);
            table_add(table, "%.1f", sweep->path.spread);
            any = true;
        }
    }
    if (any) {
        puts("\nWhole frames in the best blocks, handed to the GPU and back:");
        table_print(table, stdout);
    }
    table_free(table);
}

void tune_report_print(const struct tune_report *report)
{
    const struct frame_layout *input = &report->subject->input;

    printf("%s, sm_%d; camera %s: %s %ux%u (%s)\n", report->gpu.name, report->gpu.sm,
           report->subject->camera->name, input->format->name, input->width, input->height,
           report->subject->origin);
    for (size_t i = 0; i < report->count; i++) {
        const struct sweep *sweep = &report->sweeps[i];

        printf("\nView %s, kernel %s, %s memory: %.2f MB a picture, memcpy of as much %.2f us\n",
               sweep->view->name, config_kernel_name(sweep->kernel),
               config_memory_name(sweep->memory), (double)sweep->bytes / 1e6, sweep->copy.median);
        print_shapes(sweep);
        print_verdict(sweep);
    }
    print_paths(report);
    if (report->interrupted) {
        puts("\nInterrupted: these are the runs until then.");
    }
}

static void add_block(JsonBuilder *builder, const char *name, struct config_block block)
{
    json_builder_set_member_name(builder, name);
    json_builder_begin_array(builder);
    json_builder_add_int_value(builder, block.x);
    json_builder_add_int_value(builder, block.y);
    json_builder_end_array(builder);
}

static void add_string(JsonBuilder *builder, const char *name, const char *value)
{
    json_builder_set_member_name(builder, name);
    json_builder_add_string_value(builder, value);
}

static void add_integer(JsonBuilder *builder, const char *name, int64_t value)
{
    json_builder_set_member_name(builder, name);
    json_builder_add_int_value(builder, value);
}

static void add_number(JsonBuilder *builder, const char *name, double value)
{
    json_builder_set_member_name(builder, name);
    json_builder_add_double_value(builder, value);
}

static void add_shape(JsonBuilder *builder, const struct sweep *sweep,
                      const struct sweep_shape *shape)
{
    json_builder_begin_object(builder);
    add_block(builder, "block", shape->block);
    add_number(builder, "us", shape->time.median);
    add_number(builder, "spread_us", shape->time.spread);
    add_number(builder, "memcpy_share", percent(sweep->copy.median, shape->time.median) / 100);
    add_integer(builder, "occupancy_percent", shape->occupancy_percent);
    json_builder_end_object(builder);
}

static void add_sweep(JsonBuilder *builder, const struct sweep *sweep)
{
    json_builder_begin_object(builder);
    add_string(builder, "view", sweep->view->name);
    add_string(builder, "kernel", config_kernel_name(sweep->kernel));
    add_string(builder, "memory", config_memory_name(sweep->memory));
    add_integer(builder, "bytes", (int64_t)sweep->bytes);
    add_number(builder, "memcpy_us", sweep->copy.median);
    add_number(builder, "frame_us", sweep->path.median);
    add_number(builder, "frame_spread_us", sweep->path.spread);
    add_block(builder, "in_use", sweep->in_use);
    add_block(builder, "best", sweep->shapes[0].block);
    json_builder_set_member_name(builder, "within_noise");
    json_builder_add_boolean_value(builder, sweep->within_noise);
    json_builder_set_member_name(builder, "blocks");
    json_builder_begin_array(builder);
    for (size_t i = 0; i < sweep->count; i++) {
        add_shape(builder, sweep, &sweep->shapes[i]);
    }
    json_builder_end_array(builder);
    json_builder_end_object(builder);
}

void tune_report_print_json(const struct tune_report *report)
{
    g_autoptr(JsonBuilder) builder = json_builder_new();
    g_autoptr(JsonNode) root = NULL;
    g_autofree char *text = NULL;
    const struct frame_layout *input = &report->subject->input;

    json_builder_begin_object(builder);
    add_string(builder, "gpu", report->gpu.name);
    add_integer(builder, "sm", report->gpu.sm);
    add_string(builder, "camera", report->subject->camera->name);
    add_string(builder, "format", input->format->name);
    add_integer(builder, "width", input->width);
    add_integer(builder, "height", input->height);
    add_string(builder, "origin", report->subject->origin);
    json_builder_set_member_name(builder, "interrupted");
    json_builder_add_boolean_value(builder, report->interrupted);
    json_builder_set_member_name(builder, "sweeps");
    json_builder_begin_array(builder);
    for (size_t i = 0; i < report->count; i++) {
        add_sweep(builder, &report->sweeps[i]);
    }
    json_builder_end_array(builder);
    json_builder_end_object(builder);
    root = json_builder_get_root(builder);
    text = json_to_string(root, TRUE);
    puts(text);
}
