// A JSON merge patch, read along the table of keys: what nests deeper than the table is refused on
// the way, so that no text makes this go deep.
#include "config/live/live.h"
#include "config/schema/schema_value.h"

#include <errno.h>
#include <glib.h>
#include <math.h>
#include <string.h>

#define STRING_MAX 512
#define ARRAY_DEPTH_MAX 2

struct reader {
    const struct config *config;
    const struct config_overrides *kept;
    enum config_role role; // of who asks
    const char *at, *end;
    struct fault *fault;
    struct config_overrides *overrides, *resets;
    char path[sizeof((struct fault *)NULL)->key];
};

#define fail(reader, code, ...)                                                                    \
    fault_at((reader)->fault, (reader)->path, error_set(&(reader)->fault->error, code, __VA_ARGS__))
#define refuse(reader, code, got, may_be, ...)                                                     \
    fault_at((reader)->fault, (reader)->path,                                                      \
             error_refuse(&(reader)->fault->error, code, got, may_be, ##__VA_ARGS__))

static int refuse_text(struct reader *reader, const char *wanted)
{
    return fail(reader, -EBADMSG, "got no JSON %zu bytes before its end, allowed there: %s",
                (size_t)(reader->end - reader->at), wanted);
}

static char peek(struct reader *reader)
{
    while (reader->at < reader->end && strchr(" \t\r\n", *reader->at) && *reader->at)
        reader->at++;
    return reader->at < reader->end ? *reader->at : '\0';
}

static bool take(struct reader *reader, char wanted)
{
    bool there = peek(reader) == wanted;

    reader->at += there;
    return there;
}

static bool take_word(struct reader *reader, const char *word)
{
    size_t length = strlen(word);

    peek(reader);
    if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, word, length) != 0)
        return false;
    reader->at += length;
    return true;
}

static bool take_unit(struct reader *reader, unsigned *ret_unit)
{
    *ret_unit = 0;
    for (int i = 0; i < 4; i++) {
        int digit = reader->at < reader->end ? g_ascii_xdigit_value(*reader->at++) : -1;

        if (digit < 0)
            return false;
        *ret_unit = *ret_unit * 16 + (unsigned)digit;
    }
    return true;
}

// The character behind \u, two units where they are a surrogate pair.
static bool take_escaped(struct reader *reader, gunichar *ret_character)
{
    unsigned unit, low;

    if (!take_unit(reader, &unit) || unit == 0)
        return false;
    *ret_character = unit;
    if (unit >= 0xd800 && unit < 0xdc00) {
        if (reader->end - reader->at < 6 || memcmp(reader->at, "\\u", 2) != 0)
            return false;
        reader->at += 2;
        if (!take_unit(reader, &low) || low < 0xdc00 || low > 0xdfff)
            return false;
        *ret_character = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
    }
    return unit < 0xdc00 || unit > 0xdfff;
}

// A string behind its quote, at most STRING_MAX - 1 bytes.
static int read_string(struct reader *reader, char ret_string[STRING_MAX])
{
    static const char names[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    size_t length = 0;

    while (reader->at < reader->end && *reader->at != '"') {
        gunichar character = (unsigned char)*reader->at++;
        char bytes[6] = {(char)character};
        int count = 1;

        if (character < ' ')
            return refuse_text(reader, "no control character in a string");
        if (character == '\\') {
            const char *name = reader->at < reader->end ? strchr(names, *reader->at) : NULL;

            if (name && *name) {
                reader->at++;
                bytes[0] = meant[name - names];
            } else if (reader->at < reader->end && *reader->at++ == 'u' &&
                       take_escaped(reader, &character)) {
                count = g_unichar_to_utf8(character, bytes);
            } else {
                return refuse_text(reader, "an escape of JSON in a string");
            }
        }
        if (length + (size_t)count >= STRING_MAX) {
            return refuse(reader, -EINVAL, "got a string that is too long,", "up to %d bytes",
                          STRING_MAX - 1);
        }
        memcpy(ret_string + length, bytes, (size_t)count);
        length += (size_t)count;
    }
    ret_string[length] = '\0';
    if (!take(reader, '"'))
        return refuse_text(reader, "the end of the string");
    return g_utf8_validate(ret_string, -1, NULL) ? 0 : refuse_text(reader, "UTF-8");
}

// The number as JSON allows it; no NaN, no infinity, no leading zero.
static int read_number(struct reader *reader, FILE *file)
{
    char text[64] = "";
    size_t length = 0;
    bool whole;

    while (reader->at < reader->end && strchr("+-.0123456789eE", *reader->at) && *reader->at) {
        if (length + 1 == sizeof text) {
            return refuse(reader, -EINVAL, "got a number that is too long,", "up to %zu digits",
                          sizeof text - 1);
        }
        text[length++] = *reader->at++;
    }
    const char *digits = text + (*text == '-'), *rest = digits + strspn(digits, "0123456789");
    char *end;
    double number = g_ascii_strtod(text, &end);

    whole = *rest == '\0';
    if (rest == digits || (digits[0] == '0' && rest > digits + 1) || *end ||
        (*rest == '.' && !g_ascii_isdigit(rest[1]))) {
        return refuse_text(reader, "a number");
    }
    if (!isfinite(number))
        return refuse(reader, -EINVAL, "got %.40s,", "a number that a double can be", text);
    if (whole && length <= 18) {
        fprintf(file, "%sL", text); // libconfig cuts what does not fit an int without it
    } else {
        schema_print_fraction(file, number);
    }
    return 0;
}

// A value that has no names inside, as libconfig has it.
static int read_value(struct reader *reader, FILE *file, unsigned depth)
{
    char string[STRING_MAX];
    char first = peek(reader);
    int r = 0;

    if (first == '"') {
        reader->at++;
        r = read_string(reader, string);
        if (r == 0 && strstr(string, "***")) {
            return fail(reader, -EINVAL,
                        "got a value with *** in it, which stands for a secret that is hidden");
        }
        if (r == 0)
            schema_print_quoted(file, string);
        return r;
    }
    if (first == '[' && depth < ARRAY_DEPTH_MAX) {
        reader->at++;
        fputc('(', file);
        for (bool more = !take(reader, ']'); more && r == 0; more = r == 0 && !take(reader, ']')) {
            r = read_value(reader, file, depth + 1);
            if (r == 0 && take(reader, ',')) {
                fputs(", ", file);
                if (peek(reader) == ']')
                    return refuse_text(reader, "a value");
            } else if (r == 0 && peek(reader) != ']') {
                return refuse_text(reader, "\",\" or \"]\"");
            }
        }
        fputc(')', file);
        return r;
    }
    if (first == '-' || g_ascii_isdigit(first))
        return read_number(reader, file);
    if (take_word(reader, "true")) {
        fputs("true", file);
    } else if (take_word(reader, "false")) {
        fputs("false", file);
    } else if (first == '[' || first == '{' || take_word(reader, "null")) {
        return refuse(reader, -EINVAL, "got %s,", "what GET /v1/config/schema says of this key",
                      first == '{'   ? "an object"
                      : first == '[' ? "arrays in arrays"
                                     : "null");
    } else {
        return refuse_text(reader, "a value");
    }
    return 0;
}

static int note(struct reader *reader, struct config_overrides *list, const char *value)
{
    if (config_overrides_find(reader->overrides, reader->path) ||
        config_overrides_find(reader->resets, reader->path)) {
        return refuse(reader, -EBADMSG, "got a key for the second time,", "once");
    }
    return config_overrides_set(list, reader->path, value, NULL);
}

static int read_leaf(struct reader *reader)
{
    _cleanup_(cleanup_free) char *text = NULL;
    size_t size;
    FILE *file;
    int r;

    if (take_word(reader, "null"))
        return note(reader, reader->resets, NULL);
    file = open_memstream(&text, &size);
    if (!file)
        return -ENOMEM;
    r = read_value(reader, file, 0);
    fclose(file);
    return r < 0 ? r : note(reader, reader->overrides, text);
}

static int read_members(struct reader *reader);

// Reads the JSON at a place: the members of a group, of a list or of an element, or a value.
static int read_place(struct reader *reader, const struct config_place *place)
{
    const struct schema_key *key = place->key;
    bool is_list = key->type == SCHEMA_LIST, is_group = key->type == SCHEMA_GROUP;

    if (is_group || (is_list && peek(reader) == '{')) {
        return take(reader, '{') ? read_members(reader)
                                 : refuse(reader, -EINVAL, "got no object,", "an object");
    }
    if (!key->remote)
        return fail(reader, -EPERM, "can only be changed in the file");
    if (!is_list)
        return read_leaf(reader);
    if (!take_word(reader, "null"))
        return refuse(reader, -EINVAL, "got no object,", "an object, or null");
    // A region is taken away; all of them go back to what the file says.
    return note(reader, place->element ? reader->overrides : reader->resets, NULL);
}

// Nothing is at the path. A setting of it that was kept when something was there can be forgotten.
static int read_gone(struct reader *reader, const struct error *why)
{
    if (reader->role == CONFIG_ROLE_ADMIN && config_overrides_has(reader->kept, reader->path)) {
        if (take(reader, '{'))
            return read_members(reader);
        if (take_word(reader, "null"))
            return note(reader, reader->resets, NULL);
    }
    reader->fault->error = *why;
    return fault_at(reader->fault, reader->path, -ENOENT);
}

static int read_member(struct reader *reader, const char *name)
{
    size_t length = strlen(reader->path);
    struct config_place place;
    struct error error;
    int r = -ENOENT;

    snprintf(reader->path + length, sizeof reader->path - length, "%s%.64s", length ? "." : "",
             name);
    if (!*name || strchr(name, '.') || strlen(name) > 64)
        r = fail(reader, -ENOENT, "unknown key");
    else if (config_find(reader->config, reader->path, &error, &place) < 0)
        r = read_gone(reader, &error);
    else if (place.role > reader->role)
        r = fail(reader, -ENOENT, "got \"%.64s\", which is not there for this user", name);
    else
        r = read_place(reader, &place);
    reader->path[length] = '\0';
    return r;
}

// Behind the "{".
static int read_members(struct reader *reader)
{
    char name[STRING_MAX];
    int r = 0;

    if (take(reader, '}'))
        return 0;
    do {
        if (!take(reader, '"'))
            return refuse_text(reader, "a name in quotes");
        r = read_string(reader, name);
        if (r == 0 && !take(reader, ':'))
            return refuse_text(reader, "\":\"");
        r = r < 0 ? r : read_member(reader, name);
    } while (r == 0 && take(reader, ','));
    return r < 0 || take(reader, '}') ? r : refuse_text(reader, "\",\" or \"}\"");
}

int config_patch_read(const struct config *config, const struct config_overrides *kept,
                      enum config_role role, const char *text, size_t size, struct fault *fault,
                      struct config_overrides *ret_overrides, struct config_overrides *ret_resets)
{
    struct reader reader = {.config = config,
                            .kept = kept,
                            .role = role,
                            .at = text,
                            .end = text + size,
                            .fault = fault,
                            .overrides = ret_overrides,
                            .resets = ret_resets};
    int r;

    *fault = (struct fault){0};
    if (size > CONFIG_PATCH_BYTES_MAX)
        return refuse(&reader, -EINVAL, "got %zu bytes,", "up to %u", size, CONFIG_PATCH_BYTES_MAX);
    if (!take(&reader, '{'))
        return refuse_text(&reader, "an object");
    r = read_members(&reader);
    if (r == 0 && (peek(&reader) || reader.at < reader.end))
        return refuse_text(&reader, "nothing behind the object");
    return r;
}
