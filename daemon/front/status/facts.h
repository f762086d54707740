// Facts about edged, written as JSON or as metrics for Prometheus (text format 0.0.4).
//
// status.h says which facts there are. It says each once, with its name in JSON, its value and its
// metric, and these functions write it in one of the two forms. In JSON facts stand where they are
// said. Among metrics all samples of one name stand together, so they are collected until the end.
//
// `json` is the name of a member; NULL: the fact is a metric alone. `metric` is the name of a
// metric, with `help` about it; NULL: the fact is in JSON alone. A metric whose name ends in
// "_total" is a counter, any other one a gauge. Names and helps are literals. Base units, seconds
// and bytes, stand in the names of metrics.
#pragma once

#include "daemon/front/status/histogram.h"

#include <stdbool.h>
#include <stdint.h>

enum facts_format { FACTS_JSON, FACTS_METRICS };

struct facts;

// Never fails (GLib's allocator ends the process).
struct facts *facts_new(enum facts_format format);
// Frees `facts` and returns what it wrote, which the caller g_free()s.
char *facts_finish(struct facts *facts);
bool facts_are_json(const struct facts *facts);

// Begins an object or a list, up to facts_end(). `json` NULL: the root, or an element of a list.
void facts_begin(struct facts *facts, const char *json);
void facts_begin_list(struct facts *facts, const char *json);
void facts_end(struct facts *facts);
// All metrics in the rest of this object, and in what is in it, carry this label.
void facts_add_label(struct facts *facts, const char *label, const char *value);
// The rest of this object carries none of the labels before.
void facts_drop_labels(struct facts *facts);

// Text need not be UTF-8: what is not valid is replaced.
void facts_add_text(struct facts *facts, const char *json, const char *value);
// A text in a list.
void facts_add_element(struct facts *facts, const char *value);
// RFC 3339; `wall_ns` since 1970.
void facts_add_time(struct facts *facts, const char *json, int64_t wall_ns);
void facts_add_null(struct facts *facts, const char *json);
// 0 and 1 as a metric.
void facts_add_flag(struct facts *facts, const char *json, bool value, const char *metric,
                    const char *help);
void facts_add_count(struct facts *facts, const char *json, uint64_t value, const char *metric,
                     const char *help);
// `format` ("%.3f") is for the metric. NAN is a value that is not known: null in JSON, no sample.
void facts_add_number(struct facts *facts, const char *json, double value, const char *metric,
                      const char *format, const char *help);
// A sample with one more label.
void facts_add_labelled(struct facts *facts, const char *label, const char *label_value,
                        uint64_t value, const char *metric, const char *help);
// A text whose metric is always 1 and carries it as a label; "": no sample.
void facts_add_info(struct facts *facts, const char *json, const char *value, const char *metric,
                    const char *label, const char *help);
// Percentiles, the mean and the count as members. The metric is a histogram with every second
// bucket from 1 ms to 2.5 s, or, without `buckets`, a summary of the sum and the count.
void facts_add_histogram(struct facts *facts, const struct histogram *histogram, bool buckets,
                         const char *metric, const char *help);
