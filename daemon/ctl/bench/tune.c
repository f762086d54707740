// `edgectl tune`: which block sizes, rows a thread and memory are fastest on this GPU.
#include "daemon/ctl/commands.h"

#include "board/board.h"
#include "daemon/ctl/bench/tune_options.h"
#include "daemon/ctl/bench/tune_report.h"
#include "daemon/ctl/progress.h"

#include <errno.h>
#include <string.h>

struct tune {
    const struct tune_options *options;
    struct bench_target target;
    struct gpu_session session;
    struct gpu_memory *others[3];         // owned: kinds beside the session's
    const struct gpu_memory *memories[4]; // the session's first
    size_t memory_count;
    struct tune_report report;
};

static int open_gpu(struct tune *tune, struct error *error)
{
    enum config_memory memory = tune->target.config->memory;
    int r = gpu_session_open(&tune->session, CONFIG_BACKEND_CUDA,
                             memory == CONFIG_MEMORY_HOST ? CONFIG_MEMORY_AUTO : memory, error);

    if (r < 0) {
        return error_prefix(error, r, "tune needs a GPU");
    }
    tune->memories[tune->memory_count++] = tune->session.memory;
    tune->report.gpu = *gpu_info(tune->session.gpu);
    tune->report.memory_in_use = gpu_memory_kind(tune->session.memory);
    return 0;
}

static bool has_kind(const struct tune *tune, enum config_memory kind)
{
    for (size_t i = 0; i < tune->memory_count; i++) {
        if (gpu_memory_kind(tune->memories[i]) == kind) {
            return true;
        }
    }
    return false;
}

// The kinds to try that pass their test.
static int open_memories(struct tune *tune, struct error *error)
{
    for (size_t i = 0; i < tune->options->memory_count; i++) {
        enum config_memory kind = tune->options->memories[i];
        struct error why = {0};
        int r;

        if (has_kind(tune, kind)) {
            continue;
        }
        r = gpu_memory_new(tune->session.gpu, kind, &why, &tune->others[i]);
        if (r < 0) {
            return error_set(error, r, "%s", why.text);
        }
        if (gpu_memory_kind(tune->others[i]) == kind) {
            tune->memories[tune->memory_count++] = tune->others[i];
        } else {
            fprintf(stderr, "edgectl: %s memory is left out: %s\n", config_memory_name(kind),
                    why.text);
        }
    }
    return 0;
}

static int tune_view(struct tune *tune, const struct config_view *view, struct error *error)
{
    struct tune_report *report = &tune->report;
    struct sweep *sweeps = &report->sweeps[report->count];
    size_t done = 0, count;
    struct sweep_request request = {
        .gpu = tune->session.gpu,
        .view = view,
        .input = &tune->target.input,
        .blocks = tune->target.config->blocks,
        .quick = tune->options->quick,
    };
    int r = 0;

    for (size_t i = 0; i < tune->memory_count && r == 0 && !interrupt_seen(); i++) {
        request.memory = tune->memories[i];
        r = sweep_run(&request, error, sweeps + done, &count);
        done += count;
    }
    if (r == -EAGAIN) {
        fprintf(stderr,
                "edgectl: view %s passes the camera's %s on or has no CUDA kernel: there is "
                "nothing to tune\n",
                view->name, tune->target.input.format->name);
        return 0;
    }
    if (r < 0) {
        return error_prefix(error, r, "view %s", view->name);
    }
    report->count += done;
    return interrupt_seen() ? 0
                            : sweep_time_paths(sweeps, done, tune->memories, tune->memory_count,
                                               &request, error);
}

static int measure(struct tune *tune, struct error *error)
{
    size_t room =
        tune->target.view_count * ARRAY_LENGTH(tune->memories) * (size_t)CONFIG_KERNEL_COUNT;
    struct board board;
    int r = open_gpu(tune, error);

    board_read("", &board);
    board_fill_blocks(board.profile, tune->target.config->blocks);
    if (r == 0) {
        r = open_memories(tune, error);
    }
    tune->report.sweeps = calloc(room, sizeof *tune->report.sweeps);
    if (r == 0 && !tune->report.sweeps) {
        r = error_set(error, -ENOMEM, "out of memory");
    }
    interrupt_watch();
    for (size_t i = 0; i < tune->target.view_count && r == 0 && !interrupt_seen(); i++) {
        r = tune_view(tune, tune->target.views[i], error);
    }
    tune->report.interrupted = interrupt_seen();
    if (r < 0 && tune->session.gpu && gpu_is_lost(tune->session.gpu)) {
        gpu_session_lose(&tune->session);
    }
    return r;
}

// What to do next is said on stderr, so that standard output stays JSON.
static int write_choice(const struct tune *tune, struct kernels_conf *content, struct error *error)
{
    const char *path = tune->options->request.config_path;
    int r;

    if (tune->report.interrupted) {
        fputs("edgectl: --write: interrupted, nothing is written\n", stderr);
        return 0;
    }
    if (!tune_report_choose(&tune->report, content)) {
        fputs("edgectl: --write: nothing is faster than what is in use by more than the noise, "
              "nothing is written\n",
              stderr);
        return 0;
    }
    r = kernels_conf_write(path, content, error);
    if (r == 0) {
        fprintf(stderr,
                "edgectl: written to " KERNELS_CONF " beside %s; `systemctl reload edged` "
                "makes it live\n",
                path);
    }
    return r;
}

static int run(struct tune *tune, struct error *error)
{
    const struct tune_options *options = tune->options;
    struct kernels_conf content = {0};
    int r = bench_target_init(&tune->target, &options->request, error);

    if (r == 0 && options->write) {
        r = kernels_conf_read(options->request.config_path, tune->target.config, error, &content);
    }
    if (r == 0) {
        tune->report.target = &tune->target;
        r = measure(tune, error);
    }
    if (r < 0) {
        return r;
    }
    if (options->json) {
        tune_report_print_json(&tune->report);
    } else {
        tune_report_print(&tune->report);
    }
    return options->write ? write_choice(tune, &content, error) : 0;
}

static void finish(struct tune *tune)
{
    for (size_t i = 0; i < ARRAY_LENGTH(tune->others); i++) {
        gpu_memory_free(tune->others[i]);
    }
    gpu_session_close(&tune->session);
    free(tune->report.sweeps);
    bench_target_finish(&tune->target);
}

int ctl_tune(int argc, char **argv)
{
    struct tune_options options;
    struct tune tune = {.options = &options};
    struct error error = {0};
    int r, status;

    if (!tune_options_parse(argc, argv, &options, &status)) {
        return status;
    }
    r = run(&tune, &error);
    if (r < 0 && error.text[0]) {
        fprintf(stderr, "edgectl: %s\n", error.text);
    }
    status = tune.report.interrupted ? INTERRUPT_STATUS : 0;
    finish(&tune);
    return r < 0 ? 1 : status;
}
