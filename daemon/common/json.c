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

// A text held against the grammar of RFC 8259. json-glib takes more than that: comments, single
// quotes, 025 for 21, half a surrogate; and it calls itself for each level.
struct json_check {
    const char *at, *end;
    bool is_deep; // it is nested deeper than JSON_DEPTH_MAX
};

static bool check_character(struct json_check *check, char wanted)
{
    bool there = check->at < check->end && *check->at == wanted;

    check->at += there;
    return there;
}

static bool check_word(struct json_check *check, const char *word)
{
    while (*word && check_character(check, *word))
        word++;
    return !*word;
}

static void skip_space(struct json_check *check)
{
    while (check->at < check->end && *check->at && strchr(" \t\r\n", *check->at))
        check->at++;
}

// A mark between values.
static bool check_mark(struct json_check *check, char wanted)
{
    skip_space(check);
    return check_character(check, wanted);
}

static bool check_unit(struct json_check *check, unsigned *ret_unit)
{
    *ret_unit = 0;
    for (int i = 0; i < 4; i++, check->at++) {
        int digit = check->at < check->end ? g_ascii_xdigit_value(*check->at) : -1;

        if (digit < 0)
            return false;
        *ret_unit = *ret_unit * 16 + (unsigned)digit;
    }
    return true;
}

// The escape behind a backslash: a character of UTF-16, in one unit or in two, but U+0000.
static bool check_escape(struct json_check *check)
{
    unsigned unit, low;

    if (check->at < check->end && *check->at && strchr("\"\\/bfnrt", *check->at))
        return check_character(check, *check->at);
    if (!check_character(check, 'u') || !check_unit(check, &unit) || unit == 0)
        return false;
    if (unit < 0xd800 || unit > 0xdfff)
        return true;
    return unit < 0xdc00 && check_word(check, "\\u") && check_unit(check, &low) && low >= 0xdc00 &&
           low <= 0xdfff;
}

static bool check_string(struct json_check *check)
{
    if (!check_mark(check, '"'))
        return false;
    while (check->at < check->end && *check->at != '"') {
        bool is_good = (unsigned char)*check->at >= ' ';

        if (check_character(check, '\\'))
            is_good = check_escape(check);
        else
            check->at += is_good;
        if (!is_good)
            return false;
    }
    return check_character(check, '"');
}

// One digit or more. *ret_value becomes negative where an int64_t is too small for all of them.
static bool check_digits(struct json_check *check, int64_t *ret_value)
{
    const char *begin = check->at;
    int64_t value = 0;

    for (; check->at < check->end && g_ascii_isdigit(*check->at); check->at++) {
        if (value > (INT64_MAX - 9) / 10)
            value = -1;
        value = value < 0 ? value : value * 10 + (*check->at - '0');
    }
    *ret_value = value;
    return check->at > begin;
}

static bool check_number(struct json_check *check)
{
    int64_t value = 0, ignored;

    check_character(check, '-');
    if (!check_character(check, '0') && !check_digits(check, &value))
        return false;
    bool has_point = check_character(check, '.');
    if (has_point && !check_digits(check, &ignored))
        return false;
    bool has_exponent = check_character(check, 'e') || check_character(check, 'E');
    if (has_exponent && !check_character(check, '+'))
        check_character(check, '-');
    if (has_exponent && !check_digits(check, &ignored))
        return false;
    return has_point || has_exponent || value >= 0;
}

static bool check_value(struct json_check *check, unsigned depth);

// The members of an object, or the elements of an array, behind the bracket.
static bool check_list(struct json_check *check, char closing, unsigned depth)
{
    if (depth > JSON_DEPTH_MAX) {
        check->is_deep = true;
        return false;
    }
    if (check_mark(check, closing))
        return true;
    do {
        if (closing == '}' && (!check_string(check) || !check_mark(check, ':')))
            return false;
        if (!check_value(check, depth))
            return false;
    } while (check_mark(check, ','));
    return check_mark(check, closing);
}

static bool check_value(struct json_check *check, unsigned depth)
{
    if (check_mark(check, '{'))
        return check_list(check, '}', depth + 1);
    if (check_character(check, '['))
        return check_list(check, ']', depth + 1);
    switch (check->at < check->end ? *check->at : '\0') {
    case '"':
        return check_string(check);
    case 't':
        return check_word(check, "true");
    case 'f':
        return check_word(check, "false");
    case 'n':
        return check_word(check, "null");
    default:
        return check_number(check);
    }
}

static bool check_text(struct json_check *check)
{
    const char *text = check->at, *valid_end;

    if (!check_value(check, 0))
        return false;
    skip_space(check);
    if (check->at < check->end)
        return false;
    if (g_utf8_validate(text, check->end - text, &valid_end))
        return true;
    check->at = valid_end;
    return false;
}

bool json_is_strict(const char *text, size_t size, size_t *ret_stop)
{
    struct json_check check = {text, text + size, false};
    bool strict = check_text(&check);

    *ret_stop = (size_t)(check.at - text);
    return strict;
}

// The names in the objects of a text.
struct names {
    GHashTable *counts; // by the object: how many came so far
    char *twice;        // one that its object has already; NULL: none has come
};

static void on_member(JsonParser *parser, JsonObject *object, const char *name, gpointer data)
{
    struct names *names = data;
    guint count = GPOINTER_TO_UINT(g_hash_table_lookup(names->counts, object)) + 1;

    (void)parser;
    g_hash_table_insert(names->counts, object, GUINT_TO_POINTER(count));
    if (count > json_object_get_size(object) && !names->twice)
        names->twice = g_strdup(name);
}

int json_parse(const char *text, size_t size, struct error *error, JsonNode **ret_root)
{
    g_autoptr(JsonParser) parser = json_parser_new();
    g_autoptr(GHashTable) counts = g_hash_table_new(NULL, NULL);
    g_autoptr(GError) fault = NULL;
    struct names names = {.counts = counts};
    struct json_check check = {text, text + size, false};
    int r;

    if (!check_text(&check)) {
        return check.is_deep
                   ? error_refuse(error, -EINVAL, "the body is nested too deep,",
                                  "objects and arrays, up to %d in each other", JSON_DEPTH_MAX)
                   : error_refuse(error, -EINVAL, "the body is no JSON (at byte %zu),", "an object",
                                  (size_t)(check.at - text) + 1);
    }
    g_signal_connect(parser, "object-member", G_CALLBACK(on_member), &names);
    if (!json_parser_load_from_data(parser, text, (gssize)size, &fault)) {
        r = error_refuse(error, -EINVAL, "the body is no JSON (%s),", "an object", fault->message);
    } else if (names.twice) {
        r = error_refuse(error, -EINVAL, "the body has \"%.64s\" for the second time in an object,",
                         "once", names.twice);
    } else {
        *ret_root = json_node_ref(json_parser_get_root(parser));
        r = 0;
    }
    g_free(names.twice);
    return r;
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
