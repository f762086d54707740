// `edgectl bench`: how fast stages, kernels and views are beside a memcpy.
#include "daemon/ctl/commands.h"

#include "board/board.h"
#include "daemon/ctl/bench/bench_report.h"
#include "daemon/ctl/bench/bench_rows.h"
#include "daemon/ctl/bench/bench_target.h"
#include "daemon/ctl/threads.h"
#include "kernels/gpu/gpu_kernel.h"

#include <errno.h>
#include <string.h>

#define SIZES_MAX 16

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

static int add_size(const char *text, void *result)
{
    struct bench_options *options = result;

    return options->size_count == SIZES_MAX
               ? -E2BIG
               : size_parse(text, &options->sizes[options->size_count++]);
}

static void tell_complaints(struct gpu *gpu)
{
    struct error text;

    while (gpu && gpu_take_complaint(gpu, &text)) {
        fprintf(stderr, "edgectl: %s\n", text.text);
    }
}

static int bench_view(const struct bench_options *options, const struct bench_target *target,
                      const struct config_view *view, struct gpu_session *session,
                      struct pool *pool, struct error *error, struct bench_rows *rows)
{
    const struct bench_request request = {
        .view = view,
        .input = &target->input,
        .pool = pool,
        .runs = (unsigned)options->runs,
    };
    int r = options->backend == CONFIG_BACKEND_CUDA ? 0 : bench_cpu(&request, error, rows);

    if (r == 0 && session->gpu) {
        r = bench_cuda(&request, session, error, rows);
        tell_complaints(session->gpu);
    }
    return r < 0 ? error_prefix(error, r, "view %s", view->name) : 0;
}

// Measures all views at one size.
static int bench_size(const struct bench_options *options, struct picture_size size,
                      struct gpu_session *session, struct bench_report *report, struct error *error)
{
    struct bench_target_request request = options->request;
    struct bench_target target;
    struct pool *pool = NULL;
    struct board board;
    int r;

    request.size = size;
    r = bench_target_init(&target, &request, error);
    if (r == 0) {
        int threads = options->threads ? options->threads : target.config->cpu_threads;

        r = threads_start((unsigned)threads, error, &pool);
    }
    if (r == 0 && session->gpu) {
        board_read("", &board);
        board_fill_blocks(board.profile, target.config->blocks);
        gpu_set_blocks(session->gpu, target.config->blocks);
    }
    for (size_t i = 0; i < target.view_count && r == 0 && !interrupt_seen(); i++) {
        struct bench_rows rows = {0};

        r = bench_view(options, &target, target.views[i], session, pool, error, &rows);
        if (r == 0) {
            bench_report_add(report, &target, target.views[i], &rows);
        }
    }
    pool_free(pool);
    bench_target_finish(&target);
    return r;
}

static int run(const struct bench_options *options, struct error *error)
{
    struct gpu_session session;
    struct error why = {0};
    struct bench_report *report;
    int r = gpu_session_open(&session, options->backend, CONFIG_MEMORY_AUTO, &why);

    if (r < 0) {
        return error_set(error, r, "--backend cuda: %s", why.text);
    }
    if (!session.gpu && why.text[0]) {
        fprintf(stderr, "edgectl: the CPU alone: %s\n", why.text);
    }
    report = bench_report_new(options->json);
    interrupt_watch();
    for (size_t i = 0; i == 0 || i < options->size_count; i++) {
        r = r < 0 || interrupt_seen()
                ? r
                : bench_size(options, options->sizes[i], &session, report, error);
    }
    bench_report_end(report, r == 0);
    gpu_session_close(&session);
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
        {"runs", .number = &options.runs, .minimum = 1, .maximum = SAMPLES_MAX},
        {"threads", .number = &options.threads, .minimum = 1, .maximum = POOL_THREADS_MAX},
        {"backend", .parse = backend_parse, .result = &options.backend,
         .allowed = BACKENDS_ALLOWED},
        {"json", .flag = &options.json},
        {0},
    };
    const struct command_line line = {.command = "bench", .usage = usage, .options = table};
    struct error error = {0};
    int status;

    if (!command_line_parse(&line, argc, argv, &status)) {
        return status;
    }
    if (run(&options, &error) < 0) {
        if (error.text[0]) {
            fprintf(stderr, "edgectl: %s\n", error.text);
        }
        return 1;
    }
    return interrupt_seen() ? INTERRUPT_STATUS : 0;
}
