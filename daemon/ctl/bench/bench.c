// `edgectl bench`: how fast stages, kernels and views are beside a memcpy. On the CPU these are
// every stage and the whole view, on a GPU the view's kernels and the whole view.
#include "daemon/ctl/commands.h"

#include "board/board.h"
#include "daemon/common/json.h"
#include "daemon/common/mask_file.h"
#include "daemon/common/standard_output.h"
#include "daemon/ctl/bench/bench_target.h"
#include "daemon/ctl/gpu_session.h"
#include "daemon/ctl/progress.h"
#include "daemon/ctl/table.h"
#include "kernels/gpu/gpu_kernel.h"
#include "kernels/tune/rig.h"
#include "kernels/tune/timing.h"

#include <errno.h>
#include <string.h>

#define SIZES_MAX 16
#define WORKS_MAX (PLAN_STEPS_MAX + 1) // of one view on one processor

static const char usage[] =
    "Usage: edgectl bench [OPTION]...\n"
    "How long stages, kernels and views take, beside a memcpy of as many bytes in the same run.\n"
    "\n"
    "  --config FILE      views, format and size of this configuration; without it all\n"
    "                     views at the built-in format and size\n"
    "  --camera NAME      the camera; the first without it\n"
    "  --size WxH         pictures of this size; repeatable\n"
    "  --format FOURCC    pictures of this format: YUYV, UYVY, NV12, NV21, YU12, 422P, 444P,\n"
    "                     GREY, RGB3, BGR3 or XR24\n"
    "  --runs N           times each is measured, 1 to 1000; 101 without it\n"
    "  --threads N        threads that the CPU computes with, 1 to 16; cpu_threads of the\n"
    "                     configuration without it\n"
    "  --backend BACKEND  cpu, cuda, or auto (the default): both, if a GPU works\n"
    "  --json             the result as JSON; edgectl(1) explains the keys\n";

struct bench_options {
    struct bench_target_request request;
    struct picture_size sizes[SIZES_MAX];
    size_t size_count;
    enum config_backend backend;
    int runs;
    int threads; // 0: the configuration's
    bool json;
};

struct bench {
    const struct bench_options *options;
    struct gpu_session session;
    JsonBuilder *json; // owned reference; NULL: tables
    // Of one size.
    struct bench_target target;
    // Of one view.
    const struct config_view *view;
    struct table *table; // owned; NULL: JSON
};

// A row of the result.
struct work {
    const char *what;   // "stage", "kernel" or "view"
    char name[64];      // of the stage, the kernels in the configuration, the view
    const char *memory; // "host", "device", "registered", …
    struct rig rig;
    struct rig *copied; // whose copy is beside it; NULL: its own
};

static int add_size(const char *text, void *result)
{
    struct bench_options *options = result;

    return options->size_count == SIZES_MAX
               ? -E2BIG
               : size_parse(text, &options->sizes[options->size_count++]);
}

static void add_row(struct bench *bench, const struct work *work, const char *backend,
                    struct timing time, struct timing copy)
{
    const struct bench_target *target = &bench->target;
    double share = time.median > 0 ? copy.median / time.median : 0;
    JsonBuilder *json = bench->json;

    if (!json) {
        table_add(bench->table, "%s %s", work->what, work->name);
        table_add(bench->table, "%s", backend);
        table_add(bench->table, "%s", work->memory);
        table_add(bench->table, "%.2f", (double)work->rig.bytes / 1e6);
        table_add(bench->table, "%.1f", time.median);
        table_add(bench->table, "%.1f", time.spread);
        table_add(bench->table, "%.1f", copy.median);
        table_add(bench->table, "%.0f", 100 * share);
        return;
    }
    json_builder_begin_object(json);
    json_add_string(json, "view", bench->view->name);
    json_add_string(json, "format", target->input.format->name);
    json_add_integer(json, "width", target->input.width);
    json_add_integer(json, "height", target->input.height);
    json_add_string(json, "origin", target->origin);
    json_add_string(json, "what", work->what);
    json_add_string(json, "name", work->name);
    json_add_string(json, "backend", backend);
    json_add_string(json, "memory", work->memory);
    json_add_integer(json, "bytes", (int64_t)work->rig.bytes);
    json_add_number(json, "us", time.median);
    json_add_number(json, "spread_us", time.spread);
    json_add_number(json, "memcpy_us", copy.median);
    json_add_number(json, "memcpy_share", share);
    json_builder_end_object(json);
}

// Times all of them and their copies in turns.
static int measure(struct bench *bench, struct work *works, size_t count, const char *backend,
                   struct error *error)
{
    g_autofree struct timed *timed = g_new0(struct timed, 2 * count);
    struct timing_rounds rounds = {timed, 2 * count, (unsigned)bench->options->runs, 0};
    int r;

    for (size_t i = 0; i < count; i++) {
        struct rig *copied = works[i].copied ? works[i].copied : &works[i].rig;

        timed[2 * i] = (struct timed){.run = rig_time, .context = &works[i].rig};
        timed[2 * i + 1] = (struct timed){.run = rig_time_copy, .context = copied};
    }
    r = progress_run(bench->view->name, timing_turns(&rounds), timing_turn, &rounds, error);
    timing_sum_up(&rounds);
    for (size_t i = 0; i < count && r == 0; i++) {
        if (timed[2 * i].count > 0)
            add_row(bench, &works[i], backend, timed[2 * i].result, timed[2 * i + 1].result);
    }
    return r;
}

// How many stages are measured by themselves. None of motion, because its stages need one frame
// after the other; not a last stage that writes colour, because it needs the view's own pictures.
static size_t count_stages(const struct plan *plan)
{
    if (plan_find(plan, STAGE_DIFFERENCE) >= 0)
        return 0;
    return plan->count -
           (plan_find(plan, STAGE_OVERLAY) >= 0 || plan_find(plan, STAGE_DIRECTION) >= 0);
}

static int bench_on_cpu(struct bench *bench, struct work *works, struct error *error)
{
    const struct view_setup setup = {.settings = bench->view,
                                     .input = &bench->target.input,
                                     .allocator = frame_allocator_host(),
                                     .pool = bench->session.pool,
                                     .read_mask = mask_file_read};
    struct plan plan = plan_make(bench->view, setup.input->format, VIEW_OUTPUT_STREAM);
    struct mask_plane *mask = NULL;
    unsigned threads = pool_threads(bench->session.pool);
    size_t stages = count_stages(&plan);
    char backend[16];
    int r = rig_init_view(&works[stages].rig, &setup, error);

    if (r == 0)
        r = plan_load_mask(&plan, &setup, error, &mask);
    for (size_t i = 0; i <= stages && r == 0; i++) {
        bool view = i == stages;

        works[i].what = view ? "view" : "stage";
        works[i].memory = "host";
        snprintf(works[i].name, sizeof works[i].name, "%s",
                 view ? bench->view->name : stage_kind_name(plan.steps[i].kind));
        if (!view) {
            r = rig_init_stage(&works[i].rig, &plan.steps[i], setup.input, bench->session.pool,
                               error);
        }
    }
    if (r == 0) {
        snprintf(backend, sizeof backend, threads > 1 ? "CPU x%u" : "CPU", threads);
        r = measure(bench, works, stages + 1, backend, error);
    }
    mask_plane_unref(mask);
    return r;
}

// Names the kernels of a view by their groups in the configuration: "gradient+morphology".
static void name_kernels(struct work *work)
{
    enum config_kernel groups[CONFIG_KERNEL_COUNT];
    size_t count = runner_groups(&work->rig.runner, groups), length = 0;

    for (size_t i = 0; i < count && length < sizeof work->name; i++) {
        length += (size_t)snprintf(work->name + length, sizeof work->name - length, "%s%s",
                                   i > 0 ? "+" : "", config_kernel_name(groups[i]));
    }
}

// The kernels in the GPU's own memory and in that of frames, and the whole view.
static int bench_on_gpu(struct bench *bench, struct work *works, struct error *error)
{
    struct gpu_session *session = &bench->session;
    struct view_setup setup = {.settings = bench->view,
                               .input = &bench->target.input,
                               .gpu = session->gpu,
                               .read_mask = mask_file_read};
    int r = 0;

    for (int i = 0; i < 3 && r == 0; i++) {
        setup.allocator =
            i == 0 ? gpu_memory_device_allocator(session->memory) : gpu_session_allocator(session);
        works[i].what = i == 2 ? "view" : "kernel";
        works[i].memory = setup.allocator->kind;
        if (i < 2) {
            r = rig_init_kernels(&works[i].rig, &setup, error);
            r = r < 0 ? r : rig_fill(&works[i].rig, error);
            name_kernels(&works[i]);
        } else {
            r = rig_init_view(&works[i].rig, &setup, error);
            works[i].copied = &works[1].rig;
            snprintf(works[i].name, sizeof works[i].name, "%s", bench->view->name);
        }
    }
    if (r == 0) {
        r = measure(bench, works, 3, view_backend(works[2].rig.view), error);
        if (r < 0)
            gpu_session_lose(session);
    }
    return r;
}

// On the GPU or on the CPU.
static int bench_on(struct bench *bench, bool gpu, struct error *error)
{
    g_autofree struct work *works = g_new0(struct work, WORKS_MAX);
    int r = gpu ? bench_on_gpu(bench, works, error) : bench_on_cpu(bench, works, error);
    for (size_t i = 0; i < WORKS_MAX; i++)
        rig_finish(&works[i].rig);
    return r == -EAGAIN ? 0 : r;
}

static void print_table(const struct bench *bench)
{
    const struct frame_layout *input = &bench->target.input;

    printf("View %s of %s %ux%u (%s)\n", bench->view->name, input->format->name, input->width,
           input->height, bench->target.origin);
    if (table_has_rows(bench->table)) {
        table_print(bench->table, stdout);
    } else {
        // On the CPU a split is measured, so this is --backend cuda.
        puts(bench->view->view == CONFIG_VIEW_SPLIT
                 ? "a split is not measured on a GPU: --backend cpu measures it"
                 : "passed on as they are: there is nothing to measure");
    }
    putchar('\n');
    standard_output_flush();
}

static int bench_view(struct bench *bench, const struct config_view *view, struct error *error)
{
    static const char *const titles[] = {"WHAT", "BACKEND", "MEMORY",    "MB",
                                         "US",   "+-",      "MEMCPY US", "MEMCPY%"};
    struct error complaint;
    int r = 0;

    bench->view = view;
    bench->table = bench->json ? NULL : table_new(titles, ARRAY_LENGTH(titles));
    if (bench->options->backend != CONFIG_BACKEND_CUDA)
        r = bench_on(bench, false, error);
    if (r == 0 && bench->session.gpu) {
        r = bench_on(bench, true, error);
        while (gpu_take_complaint(bench->session.gpu, &complaint))
            fprintf(stderr, "edgectl: %s\n", complaint.text);
    }
    if (r == 0 && !bench->json)
        print_table(bench);
    table_free(TAKE(bench->table));
    return r < 0 ? error_prefix(error, r, "view %s", view->name) : 0;
}

// Measures all views at one size.
static int bench_size(struct bench *bench, struct picture_size size, struct error *error)
{
    struct bench_target_request request = bench->options->request;
    struct bench_target *target = &bench->target;
    struct board board;
    int r;

    request.size = size;
    r = bench_target_init(target, &request, error);
    if (r == 0 && !bench->session.pool) {
        int threads = bench->options->threads;

        threads = threads ? threads : target->config->cpu_threads;
        r = gpu_session_start_threads(&bench->session, (unsigned)threads, error);
    }
    if (r == 0 && bench->session.gpu) {
        board_read("", &board);
        board_fill_blocks(board.profile, target->config->blocks);
        gpu_set_blocks(bench->session.gpu, target->config->blocks);
    }
    for (size_t i = 0; i < target->view_count && r == 0 && !interrupt_seen(); i++)
        r = bench_view(bench, target->views[i], error);
    bench_target_finish(target);
    return r;
}

static void print_json(JsonBuilder *json)
{
    g_autofree char *text = NULL;

    json_builder_end_array(json);
    text = json_built_text(json, true);
    puts(text);
}

static int run(struct bench *bench, struct error *error)
{
    const struct bench_options *options = bench->options;
    struct error why = {0};
    int r = gpu_session_open(&bench->session, options->backend, CONFIG_MEMORY_AUTO, &why);

    if (r < 0)
        return error_set(error, r, "--backend cuda: %s", why.text);
    if (!bench->session.gpu && why.text[0])
        fprintf(stderr, "edgectl: the CPU alone: %s\n", why.text);
    interrupt_watch();
    for (size_t i = 0; (i == 0 || i < options->size_count) && r == 0 && !interrupt_seen(); i++)
        r = bench_size(bench, options->sizes[i], error);
    if (r == 0 && bench->json)
        print_json(bench->json);
    gpu_session_close(&bench->session);
    return r;
}

int ctl_bench(int argc, char **argv)
{
    struct bench_options options = {.runs = 101, .request = {.all_kinds = true}};
    const struct command_option table[] = {
        {"config", .text = &options.request.config_path},
        {"camera", .text = &options.request.camera},
        {"size", .parse = add_size, .result = &options, .allowed = SIZES_ALLOWED ", 16 of them"},
        {"format", .parse = bench_target_format_parse, .result = &options.request.format,
         .allowed = BENCH_TARGET_FORMATS},
        {"runs", .number = &options.runs, .minimum = 1, .maximum = TIMING_RUNS_MAX},
        {"threads", .number = &options.threads, .minimum = 1, .maximum = POOL_THREADS_MAX},
        {"backend", .parse = backend_parse, .result = &options.backend,
         .allowed = BACKENDS_ALLOWED},
        {"json", .flag = &options.json},
        {0},
    };
    const struct command_line line = {.command = "bench", .usage = usage, .options = table};
    struct bench bench = {.options = &options};
    struct error error = {0};
    int r, status;

    if (!command_line_parse(&line, argc, argv, &status))
        return status;
    if (options.json) {
        bench.json = json_builder_new();
        json_builder_begin_array(bench.json);
    }
    r = run(&bench, &error);
    g_clear_object(&bench.json);
    if (r < 0) {
        if (error.text[0])
            fprintf(stderr, "edgectl: %s\n", error.text);
        return 1;
    }
    return interrupt_seen() ? INTERRUPT_STATUS : 0;
}
