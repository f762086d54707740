#include "daemon/common/json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
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
    for (at++; *at != '"'; at++)
        at += *at == '\\';
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

char *json_end_line(JsonBuilder *builder)
{
    json_builder_end_object(builder);
    g_autofree char *text = json_built_text(builder, false);

    return g_strconcat(text, "\n", NULL);
}

// Reading
// ---------------------------------------------------------------------

// Characters that may stand outside of strings. json-glib takes comments and single quotes as well,
// which would hide brackets from whoever counts them.
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
            if (++depth > JSON_DEPTH_MAX)
                return false;
        } else if (!quoted && (text[i] == '}' || text[i] == ']') && depth > 0) {
            depth--;
        }
    }
    return true;
}

int json_parse(const char *text, size_t size, struct error *error, JsonNode **ret_root)
{
    g_autoptr(JsonParser) parser = json_parser_new();
    g_autoptr(GError) fault = NULL;

    if (!g_utf8_validate(text, (gssize)size, NULL) || !json_is_shallow(text, size)) {
        return error_refuse(error, -EINVAL, "the body is no JSON in UTF-8, or is nested too deep;",
                            "an object, up to %d in each other", JSON_DEPTH_MAX);
    }
    if (!json_parser_load_from_data(parser, text, (gssize)size, &fault) ||
        !json_parser_get_root(parser)) {
        return error_refuse(error, -EINVAL, "the body is no JSON (%s),", "an object",
                            fault ? fault->message : "");
    }
    *ret_root = json_node_ref(json_parser_get_root(parser));
    return 0;
}

int json_parse_object(const char *text, size_t size, struct error *error, JsonObject **ret_object)
{
    g_autoptr(JsonNode) root = NULL;
    int r = json_parse(text, size, error, &root);

    if (r < 0)
        return r;
    if (!JSON_NODE_HOLDS_OBJECT(root))
        return error_refuse(error, -EINVAL, "the body is no JSON object,", "an object");
    *ret_object = json_node_dup_object(root);
    return 0;
}

const char *json_find_string(JsonObject *object, const char *name)
{
    JsonNode *node = json_object_get_member(object, name);

    return node && json_node_get_value_type(node) == G_TYPE_STRING ? json_node_get_string(node)
                                                                   : NULL;
}

// How many bytes the escape at `at` has. json-glib knows "\033" too, so only those that are known
// to be harmless are.
static size_t take_escape(const char *at, bool *ret_harmless)
{
    unsigned value = 0, digits = 0;

    while (at[1] == 'u' && digits < 4 && g_ascii_isxdigit(at[2 + digits]))
        value = value * 16 + (unsigned)g_ascii_xdigit_value(at[2 + digits++]);
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

    if (*at == '\\')
        return take_escape(at, ret_harmless);
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

// Writing members
// ---------------------------------------------------------------------

char *json_valid(const char *text)
{
    return g_strdelimit(g_utf8_make_valid(text, -1), "\x1f", '?');
}

void json_add_string(JsonBuilder *builder, const char *name, const char *value)
{
    g_autofree char *valid = json_valid(value);

    json_builder_set_member_name(builder, name);
    json_builder_add_string_value(builder, valid);
}

void json_add_null(JsonBuilder *builder, const char *name)
{
    json_builder_set_member_name(builder, name);
    json_builder_add_null_value(builder);
}

void json_add_optional(JsonBuilder *builder, const char *name, const char *value)
{
    if (value)
        json_add_string(builder, name, value);
    else
        json_add_null(builder, name);
}

void json_add_integer(JsonBuilder *builder, const char *name, int64_t value)
{
    json_builder_set_member_name(builder, name);
    json_builder_add_int_value(builder, value);
}

void json_add_number(JsonBuilder *builder, const char *name, double value)
{
    json_builder_set_member_name(builder, name);
    if (isnan(value))
        json_builder_add_null_value(builder);
    else
        json_builder_add_double_value(builder, value);
}

void json_add_flag(JsonBuilder *builder, const char *name, bool value)
{
    json_builder_set_member_name(builder, name);
    json_builder_add_boolean_value(builder, value);
}

void json_add_time(JsonBuilder *builder, const char *name, int64_t wall_ns)
{
    time_t seconds = (time_t)(wall_ns / NS_PER_S);
    int microseconds = (int)(wall_ns % NS_PER_S / NS_PER_US);
    char day[32], text[64];
    struct tm parts;

    gmtime_r(&seconds, &parts);
    strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(text, sizeof text, "%s.%06dZ", day, microseconds);
    json_add_string(builder, name, text);
}

void json_begin_object(JsonBuilder *builder, const char *name)
{
    json_builder_set_member_name(builder, name);
    json_builder_begin_object(builder);
}

void json_begin_list(JsonBuilder *builder, const char *name)
{
    json_builder_set_member_name(builder, name);
    json_builder_begin_array(builder);
}
