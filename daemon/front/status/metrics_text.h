// Prometheus' text format 0.0.4, piece by piece: a metric's HELP and TYPE, then its samples, each a
// name, `{`, labels and the end with a value.
#pragma once

#include <glib.h>
#include <stdint.h>

void metrics_begin(GString *text, const char *name, const char *type, const char *help);
// Appends name="value", with a backslash before what would end the value.
void metrics_label(GString *text, const char *name, const char *value);
// Decimal point whatever the locale says; `format` for g_ascii_formatd().
void metrics_double(GString *text, const char *format, double value);
// The rest of a sample, from the brace after its labels on.
void metrics_end(GString *text, uint64_t value);
void metrics_end_double(GString *text, const char *format, double value);
