#include "daemon/ctl/bench/tune_options.h"

#include <getopt.h>
#include <string.h>

#define DEFAULT_CONFIG EDGED_SYSCONFDIR "/edged/edged.conf"

static const char usage[] =
    "Usage: edgectl tune [OPTION]...\n"
    "Which block sizes of the CUDA kernels, and rows a thread, are fastest on this GPU for a\n"
    "camera's views.\n"
    "\n"
    "  --config FILE      the configuration; " DEFAULT_CONFIG " if it is there,\n"
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

static int take_memories(struct tune_options *options, const char *text)
{
    options->memory_count = 0;
    for (;;) {
        size_t length = strcspn(text, ",");

        if (options->memory_count == ARRAY_LENGTH(options->memories) ||
            memory_parse(text, length, &options->memories[options->memory_count]) < 0) {
            fprintf(stderr,
                    "edgectl: --memory %s: allowed are registered, pinned, managed, separated by "
                    "commas\n",
                    text);
            return 2;
        }
        options->memory_count++;
        if (!text[length]) {
            return 0;
        }
        text += length + 1;
    }
}

static int take_size(struct tune_options *options, const char *text)
{
    if (size_parse(text, &options->request.size) < 0) {
        fprintf(stderr, "edgectl: --size %s: allowed are 1x1 to 16384x16384\n", text);
        return 2;
    }
    return 0;
}

static int take_format(struct tune_options *options, const char *text)
{
    options->request.format = text;
    if (!pixel_format_by_name(text)) {
        fprintf(stderr, "edgectl: --format %s: allowed are " SUBJECT_FORMATS "\n", text);
        return 2;
    }
    return 0;
}

// 0, or the exit status to leave with.
static int take_option(struct tune_options *options, int option)
{
    switch (option) {
    case 'c':
        options->request.config_path = optarg;
        return 0;
    case 'n':
        options->request.camera = optarg;
        return 0;
    case 'v':
        options->request.view = optarg;
        return 0;
    case 's':
        return take_size(options, optarg);
    case 'f':
        return take_format(options, optarg);
    case 'm':
        return take_memories(options, optarg);
    case 'q':
        options->quick = true;
        return 0;
    case 'w':
        options->write = true;
        return 0;
    case 'j':
        options->json = true;
        return 0;
    default:
        fputs(usage, stderr);
        return 2;
    }
}

// What was left open. 0, or the exit status to leave with.
static int complete(struct tune_options *options, bool memories_chosen)
{
    if (!options->request.config_path && access(DEFAULT_CONFIG, F_OK) == 0) {
        options->request.config_path = DEFAULT_CONFIG;
    }
    if (options->write && !options->request.config_path) {
        fputs("edgectl: --write: there is no " DEFAULT_CONFIG ", name a configuration with "
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
    static const struct option long_options[] = {
        {"config", required_argument, NULL, 'c'},
        {"camera", required_argument, NULL, 'n'},
        {"view", required_argument, NULL, 'v'},
        {"size", required_argument, NULL, 's'},
        {"format", required_argument, NULL, 'f'},
        {"memory", required_argument, NULL, 'm'},
        {"quick", no_argument, NULL, 'q'},
        {"write", no_argument, NULL, 'w'},
        {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct tune_options options = {.request = {.ask_daemon = true}};
    int option, status = 0;

    optind = 0; // main's own options were parsed before
    while (status == 0 && (option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        if (option == 'h') {
            fputs(usage, stdout);
            *ret_status = 0;
            return false;
        }
        status = take_option(&options, option);
    }
    if (status == 0 && optind < argc) {
        fprintf(stderr, "edgectl: tune takes no argument \"%s\"\n%s", argv[optind], usage);
        status = 2;
    }
    status = status ? status : complete(&options, options.memory_count > 0);
    *ret_status = status;
    *ret_options = options;
    return status == 0;
}
