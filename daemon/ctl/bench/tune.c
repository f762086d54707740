// `edgectl tune`: which block sizes, rows a thread and memory are fastest on this GPU.
#include "daemon/ctl/bench/tune.h"

#include "board/board.h"
#include "daemon/ctl/commands.h"
#include "daemon/ctl/progress.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

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
    "  --write            put what is faster into kernels.conf beside the configuration\n"
    "  --json             the result as JSON; edgectl(1) explains the keys\n";

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
        if (!text[length]) {
            return 0;
        }
        text += length + 1;
    }
}

// Fills in what the command line left open. Returns 0, or the exit status to end with.
static int complete_options(struct tune *tune)
{
    static const enum config_memory all[] = {CONFIG_MEMORY_REGISTERED, CONFIG_MEMORY_PINNED,
                                             CONFIG_MEMORY_MANAGED};

    if (!tune->request.config_path && access(CONFIG_DEFAULT_PATH, F_OK) == 0) {
        tune->request.config_path = CONFIG_DEFAULT_PATH;
    }
    if (tune->write && !tune->request.config_path) {
        fputs("edgectl: --write: there is no " CONFIG_DEFAULT_PATH ", name a configuration with "
              "--config\n",
              stderr);
        return 2;
    }
    if (tune->wanted_count == 0 && !tune->quick) {
        memcpy(tune->wanted, all, sizeof all);
        tune->wanted_count = ARRAY_LENGTH(all);
    }
    return 0;
}

static int open_gpu(struct tune *tune, struct error *error)
{
    enum config_memory memory = tune->target.config->memory;
    int r = gpu_session_open(&tune->session, CONFIG_BACKEND_CUDA,
                             memory == CONFIG_MEMORY_HOST ? CONFIG_MEMORY_AUTO : memory, error);

    if (r < 0) {
        return error_prefix(error, r, "tune needs a GPU");
    }
    tune->memories[tune->memory_count++] = tune->session.memory;
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
    for (size_t i = 0; i < tune->wanted_count; i++) {
        enum config_memory kind = tune->wanted[i];
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
    if (r == 0) {
        r = open_memories(tune, error);
    }
    tune->sweeps = g_new0(struct sweep, room);
    interrupt_watch();
    for (size_t i = 0; i < tune->target.view_count && r == 0 && !interrupt_seen(); i++) {
        r = measure_view(tune, tune->target.views[i], error);
    }
    tune->interrupted = interrupt_seen();
    if (r < 0 && tune->session.gpu && gpu_is_lost(tune->session.gpu)) {
        gpu_session_lose(&tune->session);
    }
    return r;
}

// What to do next is said on stderr, so that standard output stays JSON.
static int write_choice(const struct tune *tune, struct kernels_conf *content, struct error *error)
{
    const char *path = tune->request.config_path;
    int r;

    if (tune->interrupted) {
        fputs("edgectl: --write: interrupted, nothing is written\n", stderr);
        return 0;
    }
    if (!tune_choose(tune->sweeps, tune->sweep_count, gpu_memory_kind(tune->session.memory),
                     content)) {
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
    struct kernels_conf content = {0};
    int r = bench_target_init(&tune->target, &tune->request, error);

    if (r == 0 && tune->write) {
        r = kernels_conf_read(tune->request.config_path, tune->target.config, error, &content);
    }
    if (r == 0) {
        r = measure(tune, error);
    }
    if (r < 0) {
        return r;
    }
    if (tune->json) {
        tune_report_print_json(tune);
    } else {
        tune_report_print(tune);
    }
    return tune->write ? write_choice(tune, &content, error) : 0;
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

    if (!command_line_parse(&line, argc, argv, &status) ||
        (status = complete_options(&tune)) != 0) {
        return status;
    }
    r = run(&tune, &error);
    if (r < 0 && error.text[0]) {
        fprintf(stderr, "edgectl: %s\n", error.text);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(tune.others); i++) {
        gpu_memory_free(tune.others[i]);
    }
    gpu_session_close(&tune.session);
    free(tune.sweeps);
    bench_target_finish(&tune.target);
    return r < 0 ? 1 : tune.interrupted ? INTERRUPT_STATUS : 0;
}
