// The command line of a command: its options as a table, and values that several commands take.
#pragma once

#include "config/config.h"

// An option and where its value goes: one of the pointers is set. Nothing is written if the option
// is not given.
struct command_option {
    const char *name;  // without its dashes; NULL ends a table
    char letter;       // for -b beside --batch; 0: none
    bool *flag;        // it takes no value and makes this true
    const char **text; // any value, borrowed from argv
    int *number;       // an integer from `minimum` to `maximum`
    int minimum, maximum;
    int (*parse)(const char *text, void *result); // negative: refused, as only `allowed` is allowed
    void *result;
    const char *allowed;
    char ***words; // this value and all that follows, options included, borrowed from argv
};

struct command_line {
    const char *command; // "status"
    const char *usage;
    const struct command_option *options;
    int argument_count; // of what is no option
    const bool *alone;  // the flag with which there is none of these; NULL: there is no such flag
    int optional_count; // of what may come before these
    bool takes_more;    // or any number more
    const char *takes;  // named when there are more or fewer, "one user"; NULL: their number is
};

// Parses by getopt_long(); the arguments begin at argv[optind]. Each command also takes -h, --help,
// -v and --version. True: the command is to run. False: help, the version or what is wrong, with
// the command's synopsis behind it, has been printed, and *ret_status is the exit status.
bool command_line_parse(const struct command_line *line, int argc, char **argv, int *ret_status);

#define BACKENDS_ALLOWED "auto, cpu, cuda"

#define FLIPS_ALLOWED "none, rotate-90, rotate-180, rotate-270, horizontal, vertical"

// For struct command_option; -EINVAL for what is not allowed. *result is an enum config_backend, an
// enum config_flip.
int backend_parse(const char *text, void *result);
int flip_parse(const char *text, void *result);

struct picture_size {
    int width, height; // pixels, 1 to 16384 each
};

#define SIZES_ALLOWED "1x1 to 16384x16384"

// "1280x720"; *result is a struct picture_size.
int size_parse(const char *text, void *result);

// A word of the configuration as the first `length` letters of `text`, without auto and host.
int memory_parse(const char *text, size_t length, enum config_memory *ret_memory);
