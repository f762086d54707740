// The command line of edged.
#pragma once

#include <stdbool.h>

struct front_options {
    const char *config_path; // NULL: not given
    bool check;
    const char *diff_path; // an older configuration to compare with; only with `check`
};

// Parses the command line. 0: go on with `ret_options`. 1: end with `ret_status` (an enum
// front_exit), because --help or --version was answered or the line is wrong, which was explained.
int options_parse(int argc, char **argv, struct front_options *ret_options, int *ret_status);
