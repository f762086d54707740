// `edgectl tune`: which block sizes, rows a thread and memory are fastest on this GPU.
#include "daemon/ctl/bench/tune.h"
#include "board/board.h"
#include "daemon/client/client.h"
#include "daemon/common/json.h"
#include "daemon/ctl/commands.h"
#include "daemon/ctl/progress.h"
#include "daemon/ctl/table.h"
#include "daemon/front/model/live.h"
#include "daemon/front/model/settings_file.h"
#include "daemon/front/model/tuning.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

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
    if (block.rows == other.rows)
        snprintf(ret_text, size, "[%d, %d]", block.x, block.y);
    else
        snprintf(ret_text, size, "[%d, %d] with %d rows a thread", block.x, block.y, block.rows);
}

static void print_verdict(const struct sweep *sweep)
{
    const struct sweep_shape *best = &sweep->shapes[0];
    const struct sweep_shape *in_use = sweep_find(sweep, sweep->in_use);
    char best_text[64], used_text[64];

    if (!in_use)
        return;
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

static void tune_report_print(const struct tune *tune)
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
    if (tune->interrupted)
        puts("\nInterrupted: these are the runs until then.");
}

static void add_block(JsonBuilder *builder, const char *name, struct config_block block)
{
    json_begin_list(builder, name);
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
    json_add_flag(builder, "within_noise", sweep->within_noise);
    json_begin_list(builder, "blocks");
    for (size_t i = 0; i < sweep->count; i++)
        add_shape(builder, sweep, &sweep->shapes[i]);
    json_builder_end_array(builder);
    json_builder_end_object(builder);
}

// The keys are in edgectl(1). Prints one JSON object.
static void tune_report_print_json(const struct tune *tune)
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
    json_add_flag(builder, "interrupted", tune->interrupted);
    json_begin_list(builder, "sweeps");
    for (size_t i = 0; i < tune->sweep_count; i++)
        add_sweep(builder, &tune->sweeps[i]);
    json_builder_end_array(builder);
    json_builder_end_object(builder);
    text = json_built_text(builder, true);
    puts(text);
}

static const char usage[] =
    "Usage: edgectl tune [OPTION]...\n"
    "Which block sizes of the CUDA kernels, and rows a thread, are fastest on this GPU for a\n"
    "camera's views.\n"
    "\n"
    "  --config FILE      the configuration; " CONFIG_DEFAULT_PATH " if it is there,\n"
    "                     else the built-in defaults\n"
    "  --camera NAME      the camera; the first without it\n"
    "  --view NAME        one of its views; all without it\n"
    "  --size WxH         pictures of this size, not of the camera's\n"
    "  --format FOURCC    pictures of this format: YUYV, UYVY, NV12, NV21, YU12, 422P, 444P,\n"
    "                     GREY, RGB3, BGR3 or XR24\n"
    "  --memory KIND,...  registered, pinned, managed: tried beside the kind in use; all without "
    "it\n"
    "  --quick            a dozen shapes, a quarter of the runs, the memory in use alone\n"
    "  --write            keep what is faster, as `edgectl set --keep` does\n"
    "  --json             the result as JSON; edgectl(1) explains the keys\n"
    "\n"
    "It measures on this machine. An edged elsewhere tunes while it streams, from its page\n"
    "(`edgectl page --host HOST`) or by POST /v1/tune.\n";

static int take_memories(const char *text, void *result)
{
    struct tune *tune = result;

    tune->wanted_count = 0;
    for (;;) {
        size_t length = strcspn(text, ",");

        if (tune->wanted_count == ARRAY_LENGTH(tune->wanted) ||
            memory_parse(text, length, &tune->wanted[tune->wanted_count]) < 0) {
            return -EINVAL;
        }
        tune->wanted_count++;
        if (!text[length])
            return 0;
        text += length + 1;
    }
}

// Fills in what the command line left open.
static void complete_options(struct tune *tune)
{
    static const enum config_memory all[] = {CONFIG_MEMORY_REGISTERED, CONFIG_MEMORY_PINNED,
                                             CONFIG_MEMORY_MANAGED};

    if (!tune->request.config_path && access(CONFIG_DEFAULT_PATH, F_OK) == 0)
        tune->request.config_path = CONFIG_DEFAULT_PATH;
    if (tune->wanted_count == 0 && !tune->quick) {
        memcpy(tune->wanted, all, sizeof all);
        tune->wanted_count = ARRAY_LENGTH(all);
    }
}

static int open_gpu(struct tune *tune, struct error *error)
{
    enum config_memory memory = tune->target.config->memory;
    int r = gpu_session_open(&tune->session, CONFIG_BACKEND_CUDA,
                             memory == CONFIG_MEMORY_HOST ? CONFIG_MEMORY_AUTO : memory, error);

    if (r < 0)
        return error_prefix(error, r, "tune needs a GPU");
    tune->memories[tune->memory_count++] = tune->session.memory;
    return 0;
}

static bool has_kind(const struct tune *tune, enum config_memory kind)
{
    for (size_t i = 0; i < tune->memory_count; i++) {
        if (gpu_memory_kind(tune->memories[i]) == kind)
            return true;
    }
    return false;
}

// The kinds to try that pass their test.
static int open_memories(struct tune *tune, struct error *error)
{
    for (size_t i = 0; i < tune->wanted_count; i++) {
        enum config_memory kind = tune->wanted[i];
        struct error why = {0};
        int r;

        if (has_kind(tune, kind))
            continue;
        r = gpu_memory_new(tune->session.gpu, kind, &why, &tune->others[i]);
        if (r < 0)
            return error_set(error, r, "%s", why.text);
        if (gpu_memory_kind(tune->others[i]) == kind) {
            tune->memories[tune->memory_count++] = tune->others[i];
        } else {
            fprintf(stderr, "edgectl: %s memory is left out: %s\n", config_memory_name(kind),
                    why.text);
        }
    }
    return 0;
}

static int measure_view(struct tune *tune, const struct config_view *view, struct error *error)
{
    int r = sweep_view(tune, view, error);

    if (r == -EAGAIN) {
        fprintf(stderr,
                "edgectl: view %s passes the camera's %s on or has no CUDA kernel: there is "
                "nothing to tune\n",
                view->name, tune->target.input.format->name);
        return 0;
    }
    return r < 0 ? error_prefix(error, r, "view %s", view->name) : 0;
}

static int measure(struct tune *tune, struct error *error)
{
    size_t room =
        tune->target.view_count * ARRAY_LENGTH(tune->memories) * (size_t)CONFIG_KERNEL_COUNT;
    struct board board;
    int r = open_gpu(tune, error);

    board_read("", &board);
    board_fill_blocks(board.profile, tune->target.config->blocks);
    if (r == 0)
        r = open_memories(tune, error);
    tune->sweeps = g_new0(struct sweep, room);
    interrupt_watch();
    for (size_t i = 0; i < tune->target.view_count && r == 0 && !interrupt_seen(); i++)
        r = measure_view(tune, tune->target.views[i], error);
    tune->interrupted = interrupt_seen();
    if (r < 0 && tune->session.gpu && gpu_is_lost(tune->session.gpu))
        gpu_session_lose(&tune->session);
    return r;
}

// Into settings.conf, from which the next edged takes it.
static int keep_for_later(const char *path, const char *patch, struct error *error)
{
    struct live_request request = {
        .text = patch, .size = strlen(patch), .role = CONFIG_ROLE_ADMIN, .is_kept = true};
    _cleanup_(cleanup_config) struct config *config = NULL, *next = NULL;
    _cleanup_(live_finish) struct live live = {0};
    int r = live_load(path, false, stderr, &live, &config);

    if (r < 0)
        return r;
    live_change(&live, config, &request, &next);
    g_free(request.reply);
    return next ? settings_file_write(live.store, path, &live.kept, error)
                : error_set(error, -EINVAL, "%s: %s", request.fault.key, request.fault.error.text);
}

// Keeps the patch by way of the running edged, or without one for the next. That is said on stderr,
// so that standard output stays JSON.
static int keep(const struct tune *tune, const char *patch, struct error *error)
{
    const struct client_options where = {.socket = tune->target.config->control.socket};
    _cleanup_(client_cleanup) struct client *client = NULL;
    _cleanup_(cleanup_free) char *reply = NULL;
    int r = client_new(&where, error, &client);

    r = r < 0 ? r : client_patch(client, "/v1/config?keep=1", patch, error, &reply);
    bool runs = r != -ENOENT && r != -ECONNREFUSED;
    if (r == 0 && strstr(reply, "\"kept\":false"))
        return error_set(error, -EIO, "in force, but edged cannot keep it: %s", reply);
    if (!runs) {
        error->text[0] = 0;
        r = keep_for_later(tune->request.config_path, patch, error);
    }
    if (r == 0) {
        fprintf(stderr,
                "edgectl: kept, %s: %s; `edgectl diff` shows it, `edgectl unset` forgets it\n",
                runs ? "and in force" : "for when edged is started", patch);
    }
    return r;
}

static int write_choice(const struct tune *tune, const struct config_block *before,
                        struct error *error)
{
    struct config_block set[CONFIG_KERNEL_COUNT]; // 0: stays as it is
    g_autofree char *patch = NULL;

    memcpy(set, before, sizeof set);
    if (tune->interrupted) {
        fputs("edgectl: --write: interrupted, nothing is kept\n", stderr);
        return 0;
    }
    if (!tune_choose(tune->sweeps, tune->sweep_count, gpu_memory_kind(tune->session.memory), set)) {
        fputs("edgectl: --write: nothing is faster than what is in use by more than the noise, "
              "nothing is kept\n",
              stderr);
        return 0;
    }
    for (enum config_kernel i = 0; i < CONFIG_KERNEL_COUNT; i++) {
        if (set[i].x == before[i].x && set[i].y == before[i].y)
            set[i].x = set[i].y = 0;
        if (set[i].rows == before[i].rows)
            set[i].rows = 0;
    }
    patch = tuning_patch(set);
    return keep(tune, patch, error);
}

static int run(struct tune *tune, struct error *error)
{
    struct config_block before[CONFIG_KERNEL_COUNT]; // what the configuration says
    int r = bench_target_init(&tune->target, &tune->request, error);

    if (r < 0)
        return r;
    memcpy(before, tune->target.config->blocks, sizeof before);
    r = measure(tune, error);
    if (r < 0)
        return r;
    if (tune->json)
        tune_report_print_json(tune);
    else
        tune_report_print(tune);
    return tune->write ? write_choice(tune, before, error) : 0;
}

int ctl_tune(int argc, char **argv)
{
    struct tune tune = {.request = {.ask_daemon = true}};
    const struct command_option table[] = {
        {"config", .text = &tune.request.config_path},
        {"camera", .text = &tune.request.camera},
        {"view", .text = &tune.request.view},
        {"size", .parse = size_parse, .result = &tune.request.size, .allowed = SIZES_ALLOWED},
        {"format", .parse = bench_target_format_parse, .result = &tune.request.format,
         .allowed = BENCH_TARGET_FORMATS},
        {"memory", .parse = take_memories, .result = &tune,
         .allowed = "registered, pinned, managed, separated by commas"},
        {"quick", .flag = &tune.quick},
        {"write", .flag = &tune.write},
        {"json", .flag = &tune.json},
        {0},
    };
    const struct command_line line = {.command = "tune", .usage = usage, .options = table};
    struct error error = {0};
    int r, status;

    if (!command_line_parse(&line, argc, argv, &status))
        return status;
    complete_options(&tune);
    r = run(&tune, &error);
    if (r < 0 && error.text[0])
        fprintf(stderr, "edgectl: %s\n", error.text);
    for (size_t i = 0; i < ARRAY_LENGTH(tune.others); i++)
        gpu_memory_free(tune.others[i]);
    gpu_session_close(&tune.session);
    free(tune.sweeps);
    bench_target_finish(&tune.target);
    return r < 0 ? 1 : tune.interrupted ? INTERRUPT_STATUS : 0;
}
