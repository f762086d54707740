// edgectl: the commands around a running edged and on files. `argv` of a command starts with its
// name; its result is the exit status.
#include "config/base.h"
#include "config/parse/suggest.h"
#include "daemon/common/crash.h"
#include "daemon/common/descriptors.h"
#include "daemon/common/standard_output.h"
#include "daemon/ctl/commands.h"
#include "daemon/ctl/gpu_session.h"

#include <stdio.h>
#include <string.h>

#define DESCRIPTORS 32

static const struct {
    const char *name, *help;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"setup", "from nothing to a stream on the network", ctl_setup},
    {"status", "what the running edged does", ctl_status},
    {"top", "the same as it changes, with what it costs", ctl_top},
    {"reload", "have edged load its configuration again", ctl_reload},
    {"set", "change settings of the running edged", ctl_set},
    {"unset", "let the configuration file count again", ctl_unset},
    {"diff", "what was set over the configuration file", ctl_diff},
    {"snapshot", "a JPEG of a view", ctl_snapshot},
    {"clips", "what was recorded: list it, keep it, take it out", ctl_clips},
    {"passwd", "users and their passwords", ctl_passwd},
    {"token", "programs that ask over HTTP, and their tokens", ctl_token},
    {"page", "the address of edged's page for a browser", ctl_page},
    {"watch", "motion in regions, as it begins and ends", ctl_watch},
    {"process", "a view of a picture or a clip", ctl_process},
    {"events", "the motion events that a recording gives", ctl_events},
    {"bench", "how fast the views are, on the CPU and the GPU", ctl_bench},
    {"doctor", "whether this machine has what edged needs", ctl_doctor},
    {"support", "one archive of what helps to find a fault", ctl_support},
    {"tune", "the fastest block sizes for this GPU", ctl_tune},
};

static void print_usage(FILE *file)
{
    fputs("Usage: edgectl COMMAND [ARGUMENT]...\n\n", file);
    for (size_t i = 0; i < ARRAY_LENGTH(commands); i++)
        fprintf(file, "  %-10s %s\n", commands[i].name, commands[i].help);
    fputs("\n`edgectl COMMAND --help` explains a command, edgectl(1) all of them.\n", file);
}

static int refuse(const char *name)
{
    int nearest = name[0] == '-' ? -1
                                 : suggest_nearest(name, &commands[0].name, ARRAY_LENGTH(commands),
                                                   sizeof commands[0]);

    if (nearest >= 0) {
        fprintf(stderr, "edgectl: there is no command \"%s\", did you mean \"%s\"?\n", name,
                commands[nearest].name);
        return 2;
    }
    fprintf(stderr, "edgectl: there is no %s \"%s\"\n", name[0] == '-' ? "option" : "command",
            name);
    fputs("Usage: edgectl COMMAND [ARGUMENT]...\n`edgectl --help` lists the commands.\n", stderr);
    return 2;
}

static int run(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";

    if (strcmp(name, "help") == 0 && argc > 2)
        return run(3, (char *[]){argv[0], argv[2], "--help", NULL});
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        print_usage(stdout);
        return 0;
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-v") == 0) {
        puts("edgectl " EDGED_VERSION);
        return 0;
    }
    for (size_t i = 0; i < ARRAY_LENGTH(commands); i++) {
        if (strcmp(name, commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    }
    if (!name[0]) {
        fputs("edgectl: no command was given\n", stderr);
        print_usage(stderr);
        return 2;
    }
    return refuse(name);
}

int main(int argc, char **argv)
{
    crash_watch("edgectl");
    descriptors_raise();
    // GStreamer and GLib end the process when they find no descriptor.
    if (descriptors_limit() < DESCRIPTORS) {
        fprintf(stderr, "edgectl: at most %zu files may be open, needed: %d; raise `ulimit -n`\n",
                descriptors_limit(), DESCRIPTORS);
        return 1;
    }
    int status = standard_output_finish("edgectl", run(argc, argv));

    if (gpu_session_was_lost()) {
        _exit(status); // handlers of a library may wait for a lost GPU forever
    }
    return status;
}
