// The command line of `edgectl tune`.
#pragma once

#include "daemon/ctl/bench/bench_target.h"

struct tune_options {
    struct bench_target_request request;
    enum config_memory memories[3]; // to try beside the one in use
    size_t memory_count;
    bool quick, write, json;
};

// True when the command is to run; otherwise help or what is wrong has been printed, and
// *ret_status is the exit status. Without --config the system's file, if it is there.
bool tune_options_parse(int argc, char **argv, struct tune_options *ret_options, int *ret_status);
