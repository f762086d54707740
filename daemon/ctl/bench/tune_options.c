#include "daemon/ctl/bench/tune_options.h"

#include <errno.h>
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
    struct tune_options *options = result;

    options->memory_count = 0;
    for (;;) {
        size_t length = strcspn(text, ",");

        if (options->memory_count == ARRAY_LENGTH(options->memories) ||
            memory_parse(text, length, &options->memories[options->memory_count]) < 0) {
            return -EINVAL;
        }
        options->memory_count++;
        if (!text[length]) {
            return 0;
        }
        text += length + 1;
    }
}

// Fills in what the command line left open. Returns 0, or the exit status to end with.
static int complete(struct tune_options *options, bool memories_chosen)
{
    if (!options->request.config_path && access(CONFIG_DEFAULT_PATH, F_OK) == 0) {
        options->request.config_path = CONFIG_DEFAULT_PATH;
    }
    if (options->write && !options->request.config_path) {
        fputs("edgectl: --write: there is no " CONFIG_DEFAULT_PATH ", name a configuration with "
              "--config\n",
              stderr);
        return 2;
    }
    if (!memories_chosen && !options->quick) {
        options->memories[0] = CONFIG_MEMORY_REGISTERED;
        options->memories[1] = CONFIG_MEMORY_PINNED;
        options->memories[2] = CONFIG_MEMORY_MANAGED;
        options->memory_count = 3;
    }
    return 0;
}

bool tune_options_parse(int argc, char **argv, struct tune_options *ret_options, int *ret_status)
{
    struct tune_options *options = ret_options;
    const struct command_option table[] = {
        {"config", .text = &options->request.config_path},
        {"camera", .text = &options->request.camera},
        {"view", .text = &options->request.view},
        {"size", .parse = size_parse, .result = &options->request.size, .allowed = SIZES_ALLOWED},
        {"format", .parse = bench_target_format_parse, .result = &options->request.format,
         .allowed = BENCH_TARGET_FORMATS},
        {"memory", .parse = take_memories, .result = options,
         .allowed = "registered, pinned, managed, separated by commas"},
        {"quick", .flag = &options->quick},
        {"write", .flag = &options->write},
        {"json", .flag = &options->json},
        {0},
    };
    const struct command_line line = {.command = "tune", .usage = usage, .options = table};

    *options = (struct tune_options){.request = {.ask_daemon = true}};
    if (!command_line_parse(&line, argc, argv, ret_status)) {
        return false;
    }
    *ret_status = complete(options, options->memory_count > 0);
    return *ret_status == 0;
}
