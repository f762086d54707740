// The results of `edgectl tune`: tables for people, JSON for programs, and the choice of what is
// worth writing.
#pragma once

#include "daemon/ctl/bench/bench_target.h"
#include "daemon/ctl/bench/kernels_conf.h"
#include "daemon/ctl/bench/sweep.h"

struct tune_report {
    const struct bench_target *target;
    struct gpu_info gpu;
    enum config_memory memory_in_use;
    struct sweep *sweeps; // by view, then by kind of memory, then by kernel
    size_t count;
    bool interrupted;
};

void tune_report_print(const struct tune_report *report);
// The keys are in edgectl(1). Prints one JSON object.
void tune_report_print_json(const struct tune_report *report);

// Changes in `content` what is better by more than the noise. For each kernel that is the block and
// the rows a thread with the smallest sum over the views that it computes, in the kind of memory
// that will be in use; only one of the two is changed if the other gains no more than the noise.
// The kind of memory is changed only if whole frames are also at least 5 % faster in it. True if
// anything changed.
bool tune_report_choose(const struct tune_report *report, struct kernels_conf *content);
