// Three texts are walked side by side: the file, and the old and the wanted configuration as edged
// formats them, in which values are alike exactly if their texts are. The scanner knows as much of
// libconfig's grammar as a text has that libconfig has read before.
#include "daemon/ctl/setup/setup_edit.h"

#include "config/parse/config_scan.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS " \t\r\n"

// {0} as any of these texts: there is none.
struct member {
    struct setup_text name, value;
};

// A value as the old and the wanted configuration have it, and what it is by default.
struct value_change {
    struct setup_text old, usual, wanted;
};

static bool is_equal(struct setup_text a, struct setup_text b)
{
    size_t length = (size_t)(a.end - a.start);

    return a.start && b.start && length == (size_t)(b.end - b.start) &&
           memcmp(a.start, b.start, length) == 0;
}

static bool is_kind(struct setup_text value, char bracket)
{
    return value.start && value.start < value.end && *value.start == bracket;
}

// Behind a comment or a directive (@include) at `at`; `at` itself if there is none.
static const char *skip_comment(const char *at, const char *end)
{
    const char *close = NULL;

    if (*at == '#' || *at == '@' || (end - at > 1 && at[0] == '/' && at[1] == '/'))
        close = memchr(at, '\n', (size_t)(end - at));
    else if (end - at > 1 && at[0] == '/' && at[1] == '*')
        close = g_strstr_len(at + 2, end - at - 2, "*/");
    else
        return at;
    if (!close)
        return end;
    return *close == '*' ? close + 2 : close + 1;
}

// Behind blanks, comments and the bytes in `others`.
static const char *skip_blank(const char *at, const char *end, const char *others)
{
    const char *before;

    do {
        before = at;
        while (at < end && (strchr(BLANKS, *at) || strchr(others, *at)))
            at++;
        if (at < end)
            at = skip_comment(at, end);
    } while (at != before);
    return at;
}

static const char *skip_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        at += *at == '\\';
    return at < end ? at + 1 : end;
}

// Behind the value at `at`: a scalar, adjacent strings, or brackets with all that is in them.
static const char *skip_value(const char *at, const char *end)
{
    unsigned depth = 0;
    const char *next;

    if (at < end && *at == '"') {
        for (next = at; next < end && *next == '"'; next = skip_blank(at, end, ""))
            at = skip_string(next, end);
        return at;
    }
    while (at < end) {
        if (*at == '"') {
            at = skip_string(at, end);
            continue;
        }
        next = skip_comment(at, end);
        if (depth == 0 && (next != at || strchr(BLANKS ";,)}]", *at)))
            return at;
        if (next != at) {
            at = next;
            continue;
        }
        depth += strchr("({[", *at) != NULL;
        if (strchr(")}]", *at) && --depth == 0)
            return at + 1;
        at++;
    }
    return at;
}

// The text between the brackets of a group or list; `value` itself if it is the whole text.
static struct setup_text inside(struct setup_text value)
{
    bool bracketed = is_kind(value, '{') || is_kind(value, '(');

    return bracketed ? (struct setup_text){value.start + 1, value.end - 1} : value;
}

// Takes the next member off `rest`.
static bool next_member(struct setup_text *rest, struct member *ret_member)
{
    const char *at, *name;

    if (!rest->start)
        return false;
    at = name = skip_blank(rest->start, rest->end, ";,");
    while (at < rest->end && (g_ascii_isalnum(*at) || strchr("*-_", *at)))
        at++;
    if (at == name)
        return false;
    ret_member->name = (struct setup_text){name, at};
    at = skip_blank(at, rest->end, "=:");
    ret_member->value = (struct setup_text){at, skip_value(at, rest->end)};
    rest->start = ret_member->value.end;
    return true;
}

static struct member find_member(struct setup_text group, struct setup_text name)
{
    struct setup_text rest = inside(group);
    struct member member;

    while (next_member(&rest, &member)) {
        if (is_equal(member.name, name))
            return member;
    }
    return (struct member){0};
}

static struct setup_text find(struct setup_text group, struct setup_text name)
{
    return find_member(group, name).value;
}

static struct setup_text find_named(struct setup_text group, const char *name)
{
    return find(group, (struct setup_text){name, name + strlen(name)});
}

// Element `index` of a list; {0}: there are fewer.
static struct setup_text element(struct setup_text list, size_t index)
{
    struct setup_text rest = inside(list), value = {0};

    for (size_t i = 0; rest.start && i <= index; i++) {
        value.start = skip_blank(rest.start, rest.end, ",");
        value.end = skip_value(value.start, rest.end);
        if (value.start == value.end)
            return (struct setup_text){0};
        rest.start = value.end;
    }
    return value;
}

static size_t count_elements(struct setup_text list)
{
    size_t count = 0;

    while (element(list, count).start)
        count++;
    return count;
}

// How many spaces are before the first byte of the line that `at` is in.
static int indent_of(const char *text, const char *at)
{
    const char *line = at;
    int blanks = 0;

    while (line > text && line[-1] != '\n')
        line--;
    while (line[blanks] == ' ')
        blanks++;
    return blanks;
}

// The element of `old` that has the same name as one of `wanted`, and its place.
static struct setup_text find_element(struct setup_text old, struct setup_text wanted,
                                      size_t *ret_index)
{
    struct setup_text name = find_named(wanted, "name"), value;

    for (size_t i = 0; (value = element(old, i)).start; i++) {
        if (is_equal(find_named(value, "name"), name)) {
            *ret_index = i;
            return value;
        }
    }
    return (struct setup_text){0};
}

// Whether two lists have the same number of groups, of which at most one has another name.
static bool is_list_alike(struct setup_text old, struct setup_text wanted)
{
    size_t count = count_elements(old), renamed = 0;

    for (size_t i = 0; i < count; i++) {
        renamed +=
            !is_equal(find_named(element(old, i), "name"), find_named(element(wanted, i), "name"));
    }
    return count == count_elements(wanted) && renamed <= 1;
}

// The change of a member of two groups.
static struct value_change change_in(const struct value_change *group, struct setup_text name)
{
    return (struct value_change){find(group->old, name), find(group->usual, name),
                                 find(group->wanted, name)};
}

static bool is_changed(const struct value_change *change)
{
    return !is_equal(change->old.start ? change->old : change->usual, change->wanted);
}

// The change of a wanted element. `index` is first the place in `wanted`, then that in `old`.
static struct value_change change_at(const struct value_change *list, size_t *index)
{
    struct value_change change = {.usual = element(list->usual, *index),
                                  .wanted = element(list->wanted, *index)};

    change.old = is_list_alike(list->old, list->wanted)
                     ? element(list->old, *index)
                     : find_element(list->old, change.wanted, index);
    return change;
}

static void append_new(GString *out, const struct value_change *change);

// A group that the file does not have yet: the members that differ, on one line, and of an element
// its name and kind.
static void append_members(GString *out, const struct value_change *group, bool is_element)
{
    struct setup_text rest = inside(group->wanted);
    struct member member;

    g_string_append(out, "{ ");
    while (next_member(&rest, &member)) {
        struct value_change change = change_in(group, member.name);
        int length = (int)(member.name.end - member.name.start);
        bool names = is_element && (strncmp(member.name.start, "name", (size_t)length) == 0 ||
                                    strncmp(member.name.start, "view", (size_t)length) == 0);

        if (names || is_changed(&change)) {
            g_string_append_printf(out, "%.*s = ", length, member.name.start);
            append_new(out, &change);
            g_string_append(out, "; ");
        }
    }
    g_string_append_c(out, '}');
}

// A value that the file does not have yet.
static void append_new(GString *out, const struct value_change *change)
{
    if (is_kind(change->wanted, '{')) {
        append_members(out, change, false);
    } else if (is_kind(change->wanted, '(') && is_kind(element(change->wanted, 0), '{')) {
        g_string_append(out, "( ");
        for (size_t i = 0; i < count_elements(change->wanted); i++) {
            size_t index = i;
            struct value_change one = change_at(change, &index);

            g_string_append(out, i > 0 ? ",\n  " : "");
            append_members(out, &one, true);
        }
        g_string_append(out, " )");
    } else {
        g_string_append_len(out, change->wanted.start, change->wanted.end - change->wanted.start);
    }
}

static void append_edited(GString *out, const char *text, struct setup_text file,
                          const struct value_change *change);

// Puts the members that the file lacks before the closing bracket, on lines of their own if it has
// one of its own.
static void append_missing(GString *out, const char *text, struct setup_text file,
                           const struct value_change *group)
{
    struct setup_text rest = inside(group->wanted);
    const char *close = inside(file).end, *line = close;
    struct member member;
    bool own_line;

    while (line > file.start && (line[-1] == ' ' || line[-1] == '\t'))
        line--;
    own_line = line == text || line[-1] == '\n' || !is_kind(file, '{');
    if (!own_line)
        line = close;
    g_string_truncate(out, out->len - (gsize)(close - line));
    while (next_member(&rest, &member)) {
        struct value_change change = change_in(group, member.name);

        if (find(file, member.name).start || !is_changed(&change))
            continue;
        if (own_line && out->len > 0 && out->str[out->len - 1] != '\n')
            g_string_append_c(out, '\n');
        if (own_line && is_kind(file, '{'))
            g_string_append_printf(out, "%*s", (int)(close - line) + 2, "");
        g_string_append_printf(out, "%.*s = ", (int)(member.name.end - member.name.start),
                               member.name.start);
        append_new(out, &change);
        g_string_append(out, own_line ? ";\n" : "; ");
    }
    g_string_append_len(out, line, close - line);
}

// Leaves a member out, with what separates it from the next one and with its line if it has one of
// its own. Returns where the text goes on.
static const char *leave_out(GString *out, const char *end, const struct member *member)
{
    const char *at = member->value.end;
    gsize length = out->len;

    at += at < end && (*at == ';' || *at == ',');
    while (length > 0 && out->str[length - 1] == ' ')
        length--;
    if (length > 0 && out->str[length - 1] == '\n' && at < end && *at == '\n') {
        g_string_truncate(out, length);
        at++;
    }
    return at;
}

static void append_group(GString *out, const char *text, struct setup_text file,
                         const struct value_change *group)
{
    struct setup_text rest = inside(file);
    const char *at = file.start;
    struct member member;

    while (next_member(&rest, &member)) {
        struct value_change change = change_in(group, member.name);

        if (change.old.start && !change.wanted.start) {
            g_string_append_len(out, at, member.name.start - at);
            at = leave_out(out, file.end, &member);
        } else if (change.wanted.start && is_changed(&change)) {
            g_string_append_len(out, at, member.value.start - at);
            append_edited(out, text, member.value, &change);
            at = member.value.end;
        }
    }
    g_string_append_len(out, at, inside(file).end - at);
    append_missing(out, text, file, group);
    g_string_append_len(out, inside(file).end, file.end - inside(file).end);
}

// Each wanted element as the file has it, edited, or a new one.
static void append_list(GString *out, const char *text, struct setup_text file,
                        const struct value_change *list)
{
    g_string_append(out, "( ");
    for (size_t i = 0; i < count_elements(list->wanted); i++) {
        size_t index = i;
        struct value_change change = change_at(list, &index);
        struct setup_text here = change.old.start ? element(file, index) : change.old;

        if (i > 0)
            g_string_append_printf(out, ",\n%*s", indent_of(text, file.start) + 4, "");
        if (here.start)
            append_edited(out, text, here, &change);
        else
            append_members(out, &change, true);
    }
    g_string_append(out, " )");
}

// Elements that stay in their places are edited in them.
static void append_same_list(GString *out, const char *text, struct setup_text file,
                             const struct value_change *list)
{
    const char *at = file.start;
    struct setup_text value;

    for (size_t i = 0; (value = element(file, i)).start; i++) {
        size_t index = i;
        struct value_change change = change_at(list, &index);

        g_string_append_len(out, at, value.start - at);
        append_edited(out, text, value, &change);
        at = value.end;
    }
    g_string_append_len(out, at, file.end - at);
}

// Appends a value of the file as it is wanted.
static void append_edited(GString *out, const char *text, struct setup_text file,
                          const struct value_change *change)
{
    bool lists = is_kind(file, '(') && is_kind(element(change->wanted, 0), '{');
    bool in_place = is_list_alike(change->old, change->wanted) &&
                    count_elements(file) == count_elements(change->old);

    if (is_equal(change->old, change->wanted))
        g_string_append_len(out, file.start, file.end - file.start);
    else if (is_kind(file, '{') && is_kind(change->wanted, '{'))
        append_group(out, text, file, change);
    else if (lists && in_place)
        append_same_list(out, text, file, change);
    else if (lists)
        append_list(out, text, file, change);
    else
        g_string_append_len(out, change->wanted.start, change->wanted.end - change->wanted.start);
}

// All of a text but the byte order mark that some editors begin a file with.
static struct setup_text whole(const char *text)
{
    size_t length = strlen(text);

    return (struct setup_text){text + config_scan_mark(text, length), text + length};
}

char *setup_edit(const char *file, const char *old, const char *usual, const char *wanted)
{
    const struct value_change change = {whole(old), whole(usual), whole(wanted)};
    GString *out = g_string_new_len(file, whole(file).start - file);

    append_group(out, file, whole(file), &change);
    return g_string_free(out, FALSE);
}

// Appends those of the named members that the group has; with `value` instead of their own.
static void append_some(GString *out, struct setup_text group, const char *const names[],
                        const char *value)
{
    for (; *names; names++) {
        struct setup_text own = find_named(group, *names);

        if (own.start) {
            g_string_append_printf(out, "%s = %.*s; ", *names,
                                   value ? (int)strlen(value) : (int)(own.end - own.start),
                                   value ? value : own.start);
        }
    }
}

// Appends a list of groups with their names and kinds.
static void append_kinds(GString *out, struct setup_text camera, const char *list)
{
    static const char *const kinds[] = {"name", "view", NULL};
    struct setup_text elements = find_named(camera, list), one;

    if (!elements.start)
        return;
    g_string_append_printf(out, "%s = ( ", list);
    for (size_t i = 0; (one = element(elements, i)).start; i++) {
        g_string_append(out, i > 0 ? ", { " : "{ ");
        append_some(out, one, kinds, NULL);
        g_string_append_c(out, '}');
    }
    g_string_append(out, " ); ");
}

char *setup_edit_kinds(const char *formatted)
{
    static const char *const kinds[] = {"name", "source", NULL};
    static const char *const needed[] = {"url", "path", "pipeline", NULL};
    struct setup_text cameras = find_named(whole(formatted), "cameras"), camera;
    GString *out = g_string_new("cameras = ( ");

    for (size_t i = 0; (camera = element(cameras, i)).start; i++) {
        g_string_append(out, i > 0 ? ", { " : "{ ");
        append_some(out, camera, kinds, NULL);
        append_some(out, camera, needed, "\"rtsp://camera/\"");
        append_kinds(out, camera, "views");
        append_kinds(out, camera, "regions");
        g_string_append_c(out, '}');
    }
    g_string_append(out, " );");
    return g_string_free(out, FALSE);
}

bool setup_edit_find(const char *file, const char *path, struct setup_place *ret_place)
{
    struct setup_text at = whole(file);

    while (*path) {
        size_t length = strcspn(path, ".[");
        struct member member = find_member(at, (struct setup_text){path, path + length});

        *ret_place = (struct setup_place){at, member.name, member.value};
        path += length;
        if (*path == '\0')
            return true;
        at = member.value;
        while (*path == '[' && at.start) {
            char *end;

            at = element(at, strtoul(path + 1, &end, 10));
            path = end + (*end == ']');
        }
        if (!is_kind(at, '{'))
            return false;
        path += *path == '.';
    }
    return false;
}

char *setup_edit_set(const char *file, const struct setup_place *place, const char *name,
                     const char *value)
{
    const struct member member = {place->name, place->value};
    const char *end = file + strlen(file), *at = inside(place->group).start;
    GString *out = g_string_new(NULL);

    if (!member.name.start && !is_kind(place->group, '{')) {
        bool ends_line = end == file || end[-1] == '\n';

        g_string_append_printf(out, "%s%s%s = %s;\n", file, ends_line ? "" : "\n", name, value);
        at = end;
    } else if (!member.name.start) {
        g_string_append_len(out, file, at - file);
        g_string_append_printf(out, " %s = %s;", name, value);
    } else if (name) {
        g_string_append_len(out, file, member.name.start - file);
        g_string_append_printf(out, "%s%.*s%s", name, (int)(member.value.start - member.name.end),
                               member.name.end, value);
        at = member.value.end;
    } else {
        g_string_append_len(out, file, member.name.start - file);
        at = leave_out(out, end, &member);
    }
    g_string_append_len(out, at, end - at);
    return g_string_free(out, FALSE);
}
