// The first mistake that is not kept is asked about, until there is none: the text is checked anew
// after each answer, because one mistake may hide others or follow from another one. A setting gets
// another value or name, or is taken out. Everything else, as a bracket that is missing, is a line
// that can be typed anew.
#include "daemon/ctl/setup/setup_mend.h"

#include "config/parse/suggest.h"
#include "config/problems.h"
#include "config/redact.h"
#include "config/schema/schema_value.h"
#include "daemon/ctl/setup/setup_edit.h"
#include "daemon/ctl/setup/setup_questions.h"

#include <errno.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>

#define KEEP "keep"
#define OUT "out"

struct mending {
    const char *path; // of the file; borrowed, all others owned
    char *text;
    struct config_problems mistakes; // of the text; the errors count
    GPtrArray *kept;                 // those that stay, as name_mistake() calls them
    GString *changes;
};

// The mistakes of a text.
static struct config_problems find_mistakes(const char *text, const char *path)
{
    _cleanup_(cleanup_config) struct config *config = NULL;
    struct config_problems mistakes = {0};

    config_check_content(text, path, &mistakes, &config);
    return mistakes;
}

// A name for a mistake that it keeps while others are mended. The caller frees it.
static char *name_mistake(const struct config_problem *mistake)
{
    return mistake->path
               ? g_strdup(mistake->path)
               : g_strdup_printf("%s:%u %s", mistake->file, mistake->line, mistake->sentence);
}

static bool has_mistake(const struct config_problems *mistakes, const char *name,
                        const struct config_problem **ret_one)
{
    for (size_t i = 0; i < mistakes->count; i++) {
        g_autofree char *own = name_mistake(&mistakes->list[i]);

        if (mistakes->list[i].is_error && strcmp(own, name) == 0) {
            *ret_one = &mistakes->list[i];
            return true;
        }
    }
    return false;
}

// The first mistake that nobody keeps; NULL: there is none.
static const struct config_problem *find_open(const struct mending *mending)
{
    for (size_t i = 0; i < mending->mistakes.count; i++) {
        const struct config_problem *mistake = &mending->mistakes.list[i];
        g_autofree char *name = name_mistake(mistake);

        if (mistake->is_error &&
            !g_ptr_array_find_with_equal_func(mending->kept, name, g_str_equal, NULL)) {
            return mistake;
        }
    }
    return NULL;
}

// The first mistake by which edged cannot read the text as settings; NULL: there is none.
static const struct config_problem *find_unreadable(const struct config_problems *mistakes)
{
    for (size_t i = 0; i < mistakes->count; i++) {
        if (mistakes->list[i].is_error && !mistakes->list[i].path)
            return &mistakes->list[i];
    }
    return NULL;
}

// Goes on with a text in which the mistake is mended. False, with the reason printed: it is not, or
// edged cannot read the text at all any more. Takes the text.
static bool accept(struct mending *mending, const struct config_problem *mistake, char *text)
{
    struct config_problems mistakes = find_mistakes(text, mending->path);
    g_autofree char *name = name_mistake(mistake);
    const struct config_problem *wrong =
        find_unreadable(&mending->mistakes) ? NULL : find_unreadable(&mistakes);

    if (wrong || has_mistake(&mistakes, name, &wrong)) {
        printf("%s\n", wrong->sentence);
        config_problems_finish(&mistakes);
        g_free(text);
        return false;
    }
    config_problems_finish(&mending->mistakes);
    g_free(mending->text);
    mending->mistakes = mistakes;
    mending->text = text;
    return true;
}

static void note(struct mending *mending, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void note(struct mending *mending, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    _cleanup_(cleanup_free) char *text = redact_format(format, arguments);
    va_end(arguments);
    g_string_append_printf(mending->changes, "%s\n", text ? text : "");
}

// The group and key that a path of the file leads to. NULL in *ret_key: the group has no such key.
// False: no group is on the way.
static bool find_key(const char *path, const struct schema_group **ret_group,
                     const struct schema_key **ret_key)
{
    g_auto(GStrv) parts = g_strsplit(path, ".", -1);
    const struct schema_group *group = &schema_root;

    for (char **part = parts; *part; part++) {
        (*part)[strcspn(*part, "[")] = '\0';
        *ret_group = group;
        *ret_key = schema_find_key(group, *part);
        group = *ret_key ? (*ret_key)->group : NULL;
        if (part[1] && !group)
            return false;
    }
    return *path != '\0';
}

static char *copy(struct setup_text text)
{
    return text.start ? g_strndup(text.start, (gsize)(text.end - text.start)) : g_strdup("none");
}

// The value of a key as it stands in a file for what a person types: numbers, brackets and what is
// quoted already stay as they are.
static char *quote(const struct schema_key *key, const char *typed)
{
    bool is_text = key->type == SCHEMA_STRING || key->type == SCHEMA_WORD;
    char *end;

    g_ascii_strtod(typed, &end);
    if (*typed == '"')
        return g_strdup(typed);
    if (!is_text && (*end == '\0' || strchr("[({", *typed) || strcmp(typed, "true") == 0 ||
                     strcmp(typed, "false") == 0)) {
        return g_strdup(typed);
    }
    _cleanup_(cleanup_free) char *quoted = NULL;
    size_t size;
    FILE *file = open_memstream(&quoted, &size);

    if (file) {
        schema_print_quoted(file, typed);
        fclose(file);
    }
    return g_strdup(quoted ? quoted : "\"\"");
}

// The value that is offered for one that is not allowed: the word that was meant, or the default.
// The caller frees it.
static char *offer_value(const struct schema_key *key, const struct setup_place *place)
{
    g_autofree char *now = copy(place->value);
    size_t length = strlen(now);
    const char *near = NULL;

    if (key->type == SCHEMA_WORD && length > 1 && *now == '"') {
        now[length - 1] = '\0';
        near = schema_near_word(key, now + 1);
    }
    if (!near && key->default_text && *key->default_text)
        near = key->default_text;
    return g_strdup(near ? near : place->name.start ? OUT : KEEP);
}

// A value in the place of one that is not allowed, or where one is missing. Returns whether the
// answer was one.
static bool take_value(struct mending *mending, const struct config_problem *mistake,
                       const struct schema_key *key, const struct setup_place *place,
                       const char *typed)
{
    bool is_out = place->name.start && strcmp(typed, OUT) == 0;
    g_autofree char *before = copy(place->value), *value = quote(key, typed);
    g_autofree char *path = g_strdup(mistake->path);
    char *text = setup_edit_set(mending->text, place, is_out ? NULL : key->name, value);

    if (!accept(mending, mistake, text))
        return false;
    note(mending, "%s: %s -> %s", path, before, is_out ? "none" : value);
    return true;
}

// Another name for a key that there is not.
static bool take_name(struct mending *mending, const struct config_problem *mistake,
                      const struct setup_place *place, const char *typed)
{
    bool is_out = strcmp(typed, OUT) == 0;
    g_autofree char *value = copy(place->value), *path = g_strdup(mistake->path);
    char *text = setup_edit_set(mending->text, place, is_out ? NULL : typed, value);

    if (!accept(mending, mistake, text))
        return false;
    if (is_out)
        note(mending, "%s: %s -> none", path, value);
    else
        note(mending, "%s -> %s", path, typed);
    return true;
}

// Line `number` (from 1) of a text, without the blanks in front of it and the newline.
static struct setup_text find_line(const char *text, unsigned number)
{
    for (; number > 1 && strchr(text, '\n'); number--)
        text = strchr(text, '\n') + 1;
    text += strspn(text, " \t");
    return (struct setup_text){text, text + strcspn(text, "\r\n")};
}

// Another line in the place of `line`.
static bool take_line(struct mending *mending, const struct config_problem *mistake,
                      struct setup_text line, const char *typed)
{
    g_autofree char *before = copy(line);
    unsigned number = mistake->line;
    char *text = g_strdup_printf("%.*s%s%s", (int)(line.start - mending->text), mending->text,
                                 typed, line.end);

    if (!accept(mending, mistake, text))
        return false;
    note(mending, "line %u: %s -> %s", number, before, typed);
    return true;
}

// The line with straight quotes in the place of curly ones (U+2018 to U+201F).
static char *straighten(const char *line)
{
    GString *straight = g_string_new(NULL);

    for (; *line; line++) {
        if (strncmp(line, "\xe2\x80", 2) == 0 && (unsigned char)line[2] >= 0x98 &&
            (unsigned char)line[2] <= 0x9f) {
            g_string_append_c(straight, '"');
            line += 2;
        } else {
            g_string_append_c(straight, *line);
        }
    }
    return g_string_free(straight, FALSE);
}

// Asks until an answer mends the mistake, or keeps it. *ret_kept tells which.
static int ask_value(struct mending *mending, const struct config_problem *mistake,
                     const struct schema_key *key, const struct setup_place *place, bool *ret_kept)
{
    g_autofree char *usual = offer_value(key, place);
    g_autofree char *question =
        g_strdup_printf("Value of %s; %s" KEEP " leaves it as it is", mistake->path,
                        place->name.start ? OUT " takes it out of the file, " : "");
    struct setup_answer answer;
    int r;

    do {
        r = setup_ask(question, usual, &answer);
        *ret_kept = strcmp(answer.text, KEEP) == 0;
    } while (r == 0 && !*ret_kept && !take_value(mending, mistake, key, place, answer.text));
    return r;
}

static int ask_name(struct mending *mending, const struct config_problem *mistake,
                    const struct schema_group *group, const struct setup_place *place,
                    bool *ret_kept)
{
    g_autofree char *name = copy(place->name);
    int near = suggest_nearest(name, &group->keys[0].name, group->key_count, sizeof group->keys[0]);
    g_autofree char *question = g_strdup_printf(
        "Key in the place of %s; " OUT " takes it out of the file, " KEEP " leaves it as it is",
        name);
    struct setup_answer answer;
    int r;

    do {
        r = setup_ask(question, near < 0 ? OUT : group->keys[near].name, &answer);
        *ret_kept = strcmp(answer.text, KEEP) == 0;
    } while (r == 0 && !*ret_kept && !take_name(mending, mistake, place, answer.text));
    return r;
}

static int ask_line(struct mending *mending, const struct config_problem *mistake, bool *ret_kept)
{
    struct setup_text line = find_line(mending->text, mistake->line);
    struct setup_answer answer;
    int r;
    g_autofree char *now = copy(line), *straight = straighten(now), *shown = g_strdup(now);
    g_autofree char *question =
        g_strdup_printf("Line %u as it should be; " KEEP " leaves it as it is", mistake->line);

    redact(shown);
    printf("%s\n", shown);
    do {
        r = setup_ask(question, strcmp(straight, now) == 0 ? KEEP : straight, &answer);
        *ret_kept = strcmp(answer.text, KEEP) == 0;
    } while (r == 0 && !*ret_kept && !take_line(mending, mistake, line, answer.text));
    return r;
}

// Shows a mistake as `edged --check` does, and asks about it.
static int ask(struct mending *mending, const struct config_problem *mistake)
{
    const struct schema_group *group = NULL;
    const struct schema_key *key = NULL;
    struct setup_place place;
    bool is_kept = true, is_here = strcmp(mistake->file, mending->path) == 0;
    bool is_setting = is_here && mistake->path && find_key(mistake->path, &group, &key) &&
                      setup_edit_find(mending->text, mistake->path, &place);
    g_autofree char *name = name_mistake(mistake), *line = config_problem_line(mistake);
    int r = 0;

    printf("\n%s\n", line);
    if (!is_here)
        puts("Another file has it, which setup leaves as it is.");
    else if (is_setting && key && !key->group && key->type != SCHEMA_CONTROLS)
        r = ask_value(mending, mistake, key, &place, &is_kept);
    else if (is_setting && !key && place.name.start)
        r = ask_name(mending, mistake, group, &place, &is_kept);
    else
        r = ask_line(mending, mistake, &is_kept);
    if (r == 0 && is_kept)
        g_ptr_array_add(mending->kept, g_steal_pointer(&name));
    return r;
}

int setup_mend(const char *text, const char *path, struct error *error, char **ret_text,
               char **ret_changes, bool *ret_whole)
{
    struct mending mending = {.path = path,
                              .text = g_strdup(text),
                              .mistakes = find_mistakes(text, path),
                              .kept = g_ptr_array_new_with_free_func(g_free),
                              .changes = g_string_new(NULL)};
    const struct config_problem *mistake;
    bool is_needed = mending.mistakes.errors > 0;
    int r = 0;

    if (is_needed) {
        printf("edged does not start with %s: it has mistakes. Enter takes the answer in\n"
               "brackets. Nothing is written before you have seen all changes.\n",
               path);
    }
    while (r == 0 && (mistake = find_open(&mending)))
        r = ask(&mending, mistake);
    *ret_whole = mending.mistakes.errors == 0;
    if (r == 0 && is_needed) {
        *ret_text = g_steal_pointer(&mending.text);
        *ret_changes = g_strdup(mending.changes->str);
    }
    g_free(mending.text);
    config_problems_finish(&mending.mistakes);
    g_ptr_array_unref(mending.kept);
    g_string_free(mending.changes, TRUE);
    return r < 0 ? error_set(error, r, "nothing is written") : 0;
}
