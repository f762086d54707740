#include "config/parse/problems.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void problems_init(struct problems *problems, const struct config_text *text)
{
    *problems = (struct problems){.text = text, .errors = text->errors};
    if (text->problems) {
        problems->file = open_memstream(&problems->written, &problems->written_length);
        problems->is_incomplete = !problems->file;
    }
}

static int compare_lines(const void *a, const void *b)
{
    const struct problem *one = a, *other = b;

    if (one->line != other->line) {
        return one->line < other->line ? -1 : 1;
    }
    return (one->offset > other->offset) - (one->offset < other->offset);
}

int problems_finish(struct problems *problems)
{
    FILE *file = problems->text->problems;

    if (problems->file && fclose(problems->file) != 0) {
        problems->is_incomplete = true;
    }
    if (problems->written && problems->count == 0) { // a syntax error
        fwrite(problems->written, 1, problems->written_length, file);
    }
    if (problems->count > 0) {
        qsort(problems->list, problems->count, sizeof *problems->list, compare_lines);
    }
    for (size_t i = 0; problems->written && !problems->is_incomplete && i < problems->count; i++) {
        const char *line = problems->written + problems->list[i].offset;

        fwrite(line, 1, strcspn(line, "\n") + 1, file);
    }
    free(problems->written);
    free(problems->list);
    return problems->is_incomplete ? -ENOMEM : 0;
}

void problems_begin_checks(struct problems *problems)
{
    problems->is_checking = true;
    problems->read = problems->count;
}

static bool has_read_error(const struct problems *problems, const config_setting_t *group)
{
    for (size_t i = 0; i < problems->read; i++) {
        if (group && problems->list[i].group == group) {
            return true;
        }
    }
    return false;
}

// Who may reach what is said by the keys of rtsp, also for http and what is inside.
static const config_setting_t *find_network(const config_setting_t *group)
{
    const config_setting_t *root = group;
    const char *name = NULL;

    while (!config_setting_is_root(root)) {
        name = config_setting_name(root);
        root = config_setting_parent(root);
    }
    return name && (strcmp(name, "rtsp") == 0 || strcmp(name, "http") == 0)
               ? config_setting_get_member(root, "rtsp")
               : NULL;
}

// Whether it may only follow from a key that could not be read.
static bool may_follow(const struct problems *problems, const config_setting_t *setting,
                       const config_setting_t *group)
{
    const char *name = config_setting_name(setting);

    if (!problems->is_checking || !group || (name && strcmp(name, "name") == 0)) {
        return false;
    }
    return has_read_error(problems, group) || has_read_error(problems, find_network(group));
}

static void add(struct problems *problems, const config_setting_t *group, unsigned line)
{
    size_t capacity = problems->capacity ? 2 * problems->capacity : 16;
    struct problem *list = problems->list;

    if (problems->count == problems->capacity) {
        list = realloc(list, capacity * sizeof *list);
        if (!list) {
            problems->is_incomplete = true;
            return;
        }
        problems->list = list;
        problems->capacity = capacity;
    }
    list[problems->count++] =
        (struct problem){group, line, problems->file ? ftell(problems->file) : 0};
}

static void write_path(FILE *file, const config_setting_t *setting)
{
    const config_setting_t *parent = config_setting_parent(setting);

    if (!parent) {
        return;
    }
    write_path(file, parent);
    if (config_setting_name(setting)) {
        fprintf(file, "%s%s", config_setting_is_root(parent) ? "" : ".",
                config_setting_name(setting));
    } else {
        fprintf(file, "[%d]", config_setting_index(setting));
    }
}

// The path by names of the setting over the file that this one is, or is in; NULL: the file's own.
static const char *find_override(const config_setting_t *setting)
{
    while (setting && !config_setting_get_hook(setting)) {
        setting = config_setting_parent(setting);
    }
    return setting ? config_setting_get_hook(setting) : NULL;
}

static FILE *begin(struct problems *problems, const config_setting_t *setting, const char *key,
                   const char *severity)
{
    struct config_line origin =
        config_text_origin(problems->text, config_setting_source_line(setting));
    const config_setting_t *group = key ? setting : config_setting_parent(setting);
    const char *override = find_override(setting);
    FILE *file = problems->file;

    problems->is_left_out = may_follow(problems, setting, group);
    if (problems->is_left_out) {
        return NULL;
    }
    add(problems, strcmp(severity, "error") == 0 ? group : NULL,
        config_setting_source_line(setting));
    if (file && override) {
        fprintf(file, "settings: %s: %s: ", severity, override);
    } else if (file) {
        fprintf(file, "%s:%u: %s: ", origin.file, origin.line, severity);
        write_path(file, setting);
        if (key) {
            fprintf(file, "%s%s", config_setting_is_root(setting) ? "" : ".", key);
        }
        fputs(": ", file);
    }
    return file;
}

FILE *problems_begin(struct problems *problems, const config_setting_t *setting, const char *key)
{
    problems->errors++;
    return begin(problems, setting, key, "error");
}

FILE *problems_begin_warning(struct problems *problems, const config_setting_t *setting)
{
    return begin(problems, setting, NULL, "warning");
}

void problems_end(struct problems *problems)
{
    if (problems->file && !problems->is_left_out) {
        fputc('\n', problems->file);
    }
}

void problems_error(struct problems *problems, const config_setting_t *setting, const char *key,
                    const char *format, ...)
{
    FILE *file = problems_begin(problems, setting, key);
    va_list arguments;

    if (file) {
        va_start(arguments, format);
        vfprintf(file, format, arguments);
        va_end(arguments);
    }
    problems_end(problems);
}
