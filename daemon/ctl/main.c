// edgectl: the commands around a running edged and on files. `argv` of a command starts with its
// name; its result is the exit status.
#include "config/base.h"
#include "daemon/ctl/status.h"

#include <stdio.h>
#include <string.h>

static const struct command {
    const char *name, *help;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"status", "what the running edged does", ctl_status},
};

static void print_usage(FILE *file)
{
    fputs("Usage: edgectl COMMAND [ARGUMENT]...\n\n", file);
    for (size_t i = 0; i < ARRAY_LENGTH(commands); i++) {
        fprintf(file, "  %-10s %s\n", commands[i].name, commands[i].help);
    }
    fputs("\n`edgectl COMMAND --help` explains a command, edgectl(1) all of them.\n", file);
}

// Insertions, deletions and replacements from one word to the other.
static size_t edit_distance(const char *a, const char *b)
{
    size_t row[33] = {0}, length = strnlen(b, ARRAY_LENGTH(row) - 1);

    for (size_t j = 0; j <= length; j++) {
        row[j] = j;
    }
    for (size_t i = 1; *a; i++, a++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= length; j++) {
            size_t best = diagonal + (*a != b[j - 1]);

            diagonal = row[j];
            best = best < diagonal + 1 ? best : diagonal + 1;
            row[j] = best < row[j - 1] + 1 ? best : row[j - 1] + 1;
        }
    }
    return row[length];
}

static int refuse(const char *name)
{
    const char *nearest = NULL;
    size_t distance = 3; // two slips

    for (size_t i = 0; i < ARRAY_LENGTH(commands); i++) {
        if (edit_distance(name, commands[i].name) < distance) {
            nearest = commands[i].name;
            distance = edit_distance(name, nearest);
        }
    }
    if (nearest) {
        fprintf(stderr, "edgectl: there is no command \"%s\", did you mean \"%s\"?\n", name,
                nearest);
        return 2;
    }
    fprintf(stderr, "edgectl: there is no command \"%s\"\n", name);
    print_usage(stderr);
    return 2;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";

    if (strcmp(name, "--help") == 0 || strcmp(name, "help") == 0) {
        print_usage(stdout);
        return 0;
    }
    if (strcmp(name, "--version") == 0) {
        puts("edgectl " EDGED_VERSION);
        return 0;
    }
    for (size_t i = 0; i < ARRAY_LENGTH(commands); i++) {
        if (strcmp(name, commands[i].name) == 0) {
            return commands[i].run(argc - 1, argv + 1);
        }
    }
    if (!name[0]) {
        print_usage(stderr);
        return 2;
    }
    return refuse(name);
}
