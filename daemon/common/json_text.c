#include "daemon/common/json_text.h"

#include <math.h>
#include <string.h>

// Appends a number of `length` characters at `at`. From 1000 on it is a time, and gets three digits
// after the point.
static void append_number(GString *text, const char *at, size_t length)
{
    char number[G_ASCII_DTOSTR_BUF_SIZE];
    double value;

    if (!memchr(at, '.', length) && !memchr(at, 'e', length)) {
        g_string_append_len(text, at, (gssize)length);
        return;
    }
    value = g_ascii_strtod(at, NULL);
    g_ascii_formatd(number, sizeof number, fabs(value) < 1000 ? "%.6g" : "%.3f", value);
    g_string_append(text, number);
    if (!strpbrk(number, ".e")) {
        g_string_append(text, ".0"); // so that readers still see a number with a point
    }
}

// The end of a string that begins at `at`, both quotes included.
static const char *skip_string(const char *at)
{
    for (at++; *at != '"'; at++) {
        at += *at == '\\';
    }
    return at + 1;
}

char *json_text(JsonNode *root, bool pretty)
{
    g_autofree char *json = json_to_string(root, pretty);
    GString *text = g_string_sized_new(strlen(json));

    for (const char *at = json, *end; *at; at = end) {
        size_t digits = strspn(at, "+-.0123456789eE");

        if (*at == '-' || g_ascii_isdigit(*at)) {
            end = at + digits;
            append_number(text, at, digits);
        } else {
            end = *at == '"' ? skip_string(at) : at + 1;
            g_string_append_len(text, at, end - at);
        }
    }
    return g_string_free(text, FALSE);
}

char *json_built_text(JsonBuilder *builder, bool pretty)
{
    g_autoptr(JsonNode) root = json_builder_get_root(builder);

    return json_text(root, pretty);
}
