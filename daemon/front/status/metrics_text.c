#include "daemon/front/status/metrics_text.h"

void metrics_begin(GString *text, const char *name, const char *type, const char *help)
{
    g_string_append_printf(text, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void metrics_label(GString *text, const char *name, const char *value)
{
    g_autofree char *valid = g_utf8_make_valid(value, -1);

    if (text->str[text->len - 1] != '{') {
        g_string_append_c(text, ',');
    }
    g_string_append_printf(text, "%s=\"", name);
    for (const char *c = valid; *c; c++) {
        if (*c == '\n') {
            g_string_append(text, "\\n");
            continue;
        }
        if (*c == '\\' || *c == '"') {
            g_string_append_c(text, '\\');
        }
        g_string_append_c(text, *c);
    }
    g_string_append_c(text, '"');
}

void metrics_double(GString *text, const char *format, double value)
{
    char number[G_ASCII_DTOSTR_BUF_SIZE];

    g_string_append(text, g_ascii_formatd(number, sizeof number, format, value));
}

void metrics_end_double(GString *text, const char *format, double value)
{
    g_string_append(text, "} ");
    metrics_double(text, format, value);
    g_string_append_c(text, '\n');
}

void metrics_end(GString *text, uint64_t value)
{
    g_string_append_printf(text, "} %" G_GUINT64_FORMAT "\n", value);
}
