// The results of `edgectl bench`, as tables while it runs, or as JSON at the end.
#pragma once

#include "daemon/ctl/bench/bench_rows.h"
#include "daemon/ctl/bench/bench_target.h"

struct bench_report;

struct bench_report *bench_report_new(bool json);
// Everything is copied. A table is printed at once.
void bench_report_add(struct bench_report *report, const struct bench_target *target,
                      const struct config_view *view, const struct bench_rows *rows);
// Frees it; prints the JSON, unless the measuring failed.
void bench_report_end(struct bench_report *report, bool print);
