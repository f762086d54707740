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

// What may stand outside of strings. json-glib takes comments and single quotes as well, which
// would hide brackets from whoever counts them.
#define OUTSIDE " \t\r\n{}[]:,0123456789+-.eEtrufalsn"

bool json_is_shallow(const char *text, size_t size)
{
    unsigned depth = 0;
    bool quoted = false;

    for (size_t i = 0; i < size; i++) {
        if (quoted && text[i] == '\\') {
            i++;
        } else if (text[i] == '"') {
            quoted = !quoted;
        } else if (!quoted && !strchr(OUTSIDE, text[i])) {
            return false;
        } else if (!quoted && (text[i] == '{' || text[i] == '[')) {
            if (++depth > JSON_DEPTH_MAX) {
                return false;
            }
        } else if (!quoted && (text[i] == '}' || text[i] == ']') && depth > 0) {
            depth--;
        }
    }
    return true;
}

// How many bytes the escape at `at` has. json-glib knows "\033" too, so only those that are known
// to be harmless are.
static size_t take_escape(const char *at, bool *ret_harmless)
{
    unsigned value = 0, digits = 0;

    while (at[1] == 'u' && digits < 4 && g_ascii_isxdigit(at[2 + digits])) {
        value = value * 16 + (unsigned)g_ascii_xdigit_value(at[2 + digits++]);
    }
    if (digits == 4) {
        *ret_harmless = !g_unichar_iscntrl(value);
        return 6;
    }
    *ret_harmless = at[1] && strchr("\"\\/nt", at[1]);
    return *ret_harmless || g_ascii_isalnum(at[1]) ? 2 : 1;
}

// How many bytes the character or escape at `at` has.
static size_t take_character(const char *at, bool *ret_harmless)
{
    gunichar character = g_utf8_get_char_validated(at, -1);

    if (*at == '\\') {
        return take_escape(at, ret_harmless);
    }
    if (character >= (gunichar)-2) { // no UTF-8
        *ret_harmless = false;
        return 1;
    }
    *ret_harmless = *at == '\n' || *at == '\t' || !g_unichar_iscntrl(character);
    return (size_t)(g_utf8_next_char(at) - at);
}

void json_replace_controls(char *text)
{
    char *to = text;

    for (const char *at = text; *at;) {
        bool is_harmless;
        size_t length = take_character(at, &is_harmless);

        if (is_harmless) {
            memmove(to, at, length);
            to += length;
        } else {
            *to++ = '?';
        }
        at += length;
    }
    *to = 0;
}
