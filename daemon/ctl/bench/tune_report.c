#include "daemon/ctl/bench/tune.h"

#include "daemon/common/json_members.h"
#include "daemon/common/json_text.h"
#include "daemon/ctl/table.h"

static double percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

static void print_shapes(const struct sweep *sweep)
{
    static const char *const titles[] = {"BLOCK", "THREADS", "ROWS",      "US",
                                         "+-",    "MEMCPY%", "OCCUPANCY", ""};
    struct table *table = table_new(titles, ARRAY_LENGTH(titles));

    for (size_t i = 0; i < sweep->count; i++) {
        const struct sweep_shape *shape = &sweep->shapes[i];
        bool in_use = sweep_shape_equal(shape->block, sweep->in_use);

        table_add(table, "%d x %d", shape->block.x, shape->block.y);
        table_add(table, "%d", shape->block.x * shape->block.y);
        table_add(table, "%d", shape->block.rows);
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

// Blocks as they stand in the configuration, with the rows where `other` has more or fewer.
static void format_block(struct config_block block, struct config_block other, char *ret_text,
                         size_t size)
{
    if (block.rows == other.rows) {
        snprintf(ret_text, size, "[%d, %d]", block.x, block.y);
    } else {
        snprintf(ret_text, size, "[%d, %d] with %d rows a thread", block.x, block.y, block.rows);
    }
}

static void print_verdict(const struct sweep *sweep)
{
    const struct sweep_shape *best = &sweep->shapes[0];
    const struct sweep_shape *in_use = sweep_find(sweep, sweep->in_use);
    char best_text[64], used_text[64];

    if (!in_use) {
        return;
    }
    format_block(best->block, in_use->block, best_text, sizeof best_text);
    format_block(in_use->block, best->block, used_text, sizeof used_text);
    if (best == in_use) {
        printf("The block in use is the best.\n");
    } else if (sweep->within_noise) {
        printf("Within noise: %s is not faster than %s, in use, by more than the times spread.\n",
               best_text, used_text);
    } else {
        printf("%s takes %.0f %% less time than %s, in use.\n", best_text,
               100 - percent(best->time.median, in_use->time.median), used_text);
    }
}

static void print_paths(const struct tune *tune)
{
    static const char *const titles[] = {"VIEW", "MEMORY", "US", "+-"};
    struct table *table = table_new(titles, ARRAY_LENGTH(titles));
    enum config_memory in_use = gpu_memory_kind(tune->session.memory);
    enum config_memory faster = tune_choose_memory(tune->sweeps, tune->sweep_count, in_use);

    for (size_t i = 0; i < tune->sweep_count; i++) {
        const struct sweep *sweep = &tune->sweeps[i];

        if (sweep->path.median > 0 && !sweep->further) {
            table_add(table, "%s", sweep->view->name);
            table_add(table, "%s%s", config_memory_name(sweep->memory),
                      sweep->memory == in_use ? " (in use)" : "");
            table_add(table, "%.1f", sweep->path.median);
            table_add(table, "%.1f", sweep->path.spread);
        }
    }
    if (table_has_rows(table)) {
        puts("\nWhole frames in the best blocks, handed to the GPU and back:");
        table_print(table, stdout);
    }
    table_free(table);
    if (faster != in_use) {
        printf("Whole frames are clearly faster in %s memory: set memory = \"%s\" in the "
               "configuration, and tune again.\n",
               config_memory_name(faster), config_memory_name(faster));
    }
}

void tune_report_print(const struct tune *tune)
{
    const struct frame_layout *input = &tune->target.input;

    printf("%s, sm_%d; camera %s: %s %ux%u (%s)\n", gpu_info(tune->session.gpu)->name,
           gpu_info(tune->session.gpu)->sm, tune->target.camera->name, input->format->name,
           input->width, input->height, tune->target.origin);
    for (size_t i = 0; i < tune->sweep_count; i++) {
        const struct sweep *sweep = &tune->sweeps[i];

        printf("\nView %s, kernel %s, %s memory: %.2f MB a picture, memcpy of as much %.2f us\n",
               sweep->view->name, config_kernel_name(sweep->kernel),
               config_memory_name(sweep->memory), (double)sweep->bytes / 1e6, sweep->copy.median);
        print_shapes(sweep);
        print_verdict(sweep);
    }
    print_paths(tune);
    if (tune->interrupted) {
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

static void add_shape(JsonBuilder *builder, const struct sweep *sweep,
                      const struct sweep_shape *shape)
{
    json_builder_begin_object(builder);
    add_block(builder, "block", shape->block);
    json_add_integer(builder, "rows", shape->block.rows);
    json_add_number(builder, "us", shape->time.median);
    json_add_number(builder, "spread_us", shape->time.spread);
    json_add_number(builder, "memcpy_share", percent(sweep->copy.median, shape->time.median) / 100);
    json_add_integer(builder, "occupancy_percent", shape->occupancy_percent);
    json_builder_end_object(builder);
}

static void add_sweep(JsonBuilder *builder, const struct sweep *sweep)
{
    json_builder_begin_object(builder);
    json_add_string(builder, "view", sweep->view->name);
    json_add_string(builder, "kernel", config_kernel_name(sweep->kernel));
    json_add_string(builder, "memory", config_memory_name(sweep->memory));
    json_add_integer(builder, "bytes", (int64_t)sweep->bytes);
    json_add_number(builder, "memcpy_us", sweep->copy.median);
    json_add_number(builder, "frame_us", sweep->path.median);
    json_add_number(builder, "frame_spread_us", sweep->path.spread);
    add_block(builder, "in_use", sweep->in_use);
    json_add_integer(builder, "rows_in_use", sweep->in_use.rows);
    add_block(builder, "best", sweep->shapes[0].block);
    json_add_integer(builder, "best_rows", sweep->shapes[0].block.rows);
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

void tune_report_print_json(const struct tune *tune)
{
    g_autoptr(JsonBuilder) builder = json_builder_new();
    g_autofree char *text = NULL;
    const struct frame_layout *input = &tune->target.input;

    json_builder_begin_object(builder);
    json_add_string(builder, "gpu", gpu_info(tune->session.gpu)->name);
    json_add_integer(builder, "sm", gpu_info(tune->session.gpu)->sm);
    json_add_string(builder, "camera", tune->target.camera->name);
    json_add_string(builder, "format", input->format->name);
    json_add_integer(builder, "width", input->width);
    json_add_integer(builder, "height", input->height);
    json_add_string(builder, "origin", tune->target.origin);
    json_builder_set_member_name(builder, "interrupted");
    json_builder_add_boolean_value(builder, tune->interrupted);
    json_builder_set_member_name(builder, "sweeps");
    json_builder_begin_array(builder);
    for (size_t i = 0; i < tune->sweep_count; i++) {
        add_sweep(builder, &tune->sweeps[i]);
    }
    json_builder_end_array(builder);
    json_builder_end_object(builder);
    text = json_built_text(builder, true);
    puts(text);
}
