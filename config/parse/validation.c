#include "config/parse/validation.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

// Takes the path over. NULL: no memory, also for the path.
static struct validation_origin *add_origin(struct validation *validation, char *path,
                                            unsigned line)
{
    struct validation_origin *origins = validation->origins;

    if (path && validation->count == validation->capacity) {
        size_t capacity = validation->capacity ? 2 * validation->capacity : 64;

        origins = reallocarray(validation->origins, capacity, sizeof *origins);
        validation->origins = origins ? origins : validation->origins;
        validation->capacity = origins ? capacity : validation->capacity;
    }
    if (!path || !origins) {
        free(path);
        return NULL;
    }
    origins = &validation->origins[validation->count++];
    *origins = (struct validation_origin){.path = path, .line = line};
    return origins;
}

const char *validation_note(struct validation *validation, const char *outer, const char *name,
                            size_t index, unsigned line)
{
    const struct validation_origin *origin;
    char *path;

    if ((name ? asprintf(&path, "%s%s%s", outer, *outer ? "." : "", name)
              : asprintf(&path, "%s[%zu]", outer, index)) < 0) {
        path = NULL;
    }
    origin = add_origin(validation, path, line);
    return origin ? origin->path : NULL;
}

static int compare_paths(const void *a, const void *b)
{
    const struct validation_origin *one = a, *other = b;

    return strcmp(one->path, other->path);
}

void validation_end_reading(struct validation *validation)
{
    validation->is_read = true;
    if (validation->count > 0)
        qsort(validation->origins, validation->count, sizeof *validation->origins, compare_paths);
}

void validation_begin_checks(struct validation *validation)
{
    validation->is_checking = true;
    validation->read = validation->problems->count;
}

void validation_finish(struct validation *validation)
{
    for (size_t i = 0; i < validation->count; i++)
        free(validation->origins[i].path);
    free(validation->origins);
    for (size_t i = 0; i < validation->removed_count; i++)
        free(validation->removed[i]);
    free(validation->removed);
    *validation = (struct validation){0};
}

struct beginning {
    const char *text;
    size_t length;
};

// Compares the beginning of a path with the path of an origin.
static int compare_beginning(const void *a, const void *b)
{
    const struct beginning *wanted = a;
    const struct validation_origin *origin = b;
    int order = strncmp(wanted->text, origin->path, wanted->length);

    return order ? order : -(origin->path[wanted->length] != '\0');
}

// The origin of the path's first `length` bytes. While keys are read, and of those that settings
// set, it is one of the newest.
static const struct validation_origin *find(const struct validation *validation, const char *path,
                                            size_t length)
{
    const struct beginning wanted = {path, length};

    if (validation->is_read && validation->count > 0) {
        return bsearch(&wanted, validation->origins, validation->count, sizeof *validation->origins,
                       compare_beginning);
    }
    for (size_t i = validation->count; i > 0; i--) {
        if (compare_beginning(&wanted, &validation->origins[i - 1]) == 0)
            return &validation->origins[i - 1];
    }
    return validation->file ? find(validation->file, path, length) : NULL;
}

bool validation_has(const struct validation *validation, const char *path)
{
    return find(validation, path, strlen(path));
}

int validation_note_override(struct validation *validation, const char *path, const char *override)
{
    const struct validation_origin *known = find(validation, path, strlen(path));
    struct validation_origin *origin =
        add_origin(validation, strdup(path), known ? known->line : 0);

    if (!origin)
        return -ENOMEM;
    origin->override = override;
    return 0;
}

int validation_note_removal(struct validation *validation, const char *element)
{
    char **removed =
        reallocarray(validation->removed, validation->removed_count + 1, sizeof *removed);

    if (!removed)
        return -ENOMEM;
    validation->removed = removed;
    removed[validation->removed_count] = strdup(element);
    if (!removed[validation->removed_count])
        return -ENOMEM;
    validation->removed_count++;
    return 0;
}

// The length of what the path is inside of; of an element that is its list.
static size_t outer_length(const char *path, size_t length)
{
    while (length > 0 && path[length - 1] != '.' && path[length - 1] != '[')
        length--;
    return length > 0 ? length - 1 : 0;
}

// The origin of the path, or of the nearest that it is inside of. `override` is that of the nearest
// that has one.
static struct validation_origin find_outer(const struct validation *validation, const char *path)
{
    struct validation_origin found = {0};

    for (size_t length = strlen(path);
         length > 0 && (!found.path || (validation->file && !found.override));
         length = outer_length(path, length)) {
        const struct validation_origin *origin = find(validation, path, length);

        if (origin && !found.path)
            found = *origin;
        if (origin && origin->override)
            found.override = origin->override;
    }
    return found;
}

struct config_line validation_line(const struct validation *validation, const char *path)
{
    const struct validation_origin *origin = find(validation, path, strlen(path));

    return origin && origin->line > 0 ? config_text_origin(validation->text, origin->line)
                                      : (struct config_line){NULL, 0};
}

const char *validation_file(const struct validation *validation, const char *path)
{
    return config_text_origin(validation->text, find_outer(validation, path).line).file;
}

bool validation_has_refused(const struct validation *validation, const char *path)
{
    for (size_t i = 0; i < validation->read; i++) {
        const struct config_problem *problem = &validation->problems->list[i];

        if (problem->is_error && problem->path && strcmp(problem->path, path) == 0)
            return true;
    }
    return false;
}

// Whether one of the keys of a group could not be read.
static bool has_read_error(const struct validation *validation, const char *group, size_t length)
{
    for (size_t i = 0; i < validation->read; i++) {
        const struct config_problem *problem = &validation->problems->list[i];
        const char *path = problem->path;

        if (problem->is_error && path && outer_length(path, strlen(path)) == length &&
            strncmp(path, group, length) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_inside(const char *path, const char *group)
{
    size_t length = strlen(group);

    return strncmp(path, group, length) == 0 && path[length] == '.';
}

// Whether it may only follow from a key that could not be read. The keys of rtsp say who may
// connect, to http as well.
static bool may_follow(const struct validation *validation, const char *path)
{
    size_t length = strlen(path), outer = outer_length(path, length);
    bool is_name = length - outer == strlen(".name") && strcmp(path + outer, ".name") == 0;

    if (!validation->is_checking || (is_name && validation_has(validation, path)))
        return false;
    return has_read_error(validation, path, outer) ||
           ((is_inside(path, "rtsp") || is_inside(path, "http")) &&
            has_read_error(validation, "rtsp", strlen("rtsp")));
}

static void add(struct validation *validation, bool is_error, const char *path, char *sentence,
                unsigned allowed)
{
    struct validation_origin origin = find_outer(validation, path);
    struct config_line line = config_text_origin(validation->text, origin.line);
    struct config_problem problem = {.sentence = sentence,
                                     .allowed = allowed,
                                     .order = origin.line,
                                     .line = line.line,
                                     .is_error = is_error,
                                     .is_setting = origin.override};

    if (may_follow(validation, path)) { // counts all the same
        validation->problems->errors += is_error;
        free(sentence);
        return;
    }
    problem.path = strdup(origin.override ? origin.override : path);
    problem.file = strdup(line.file);
    if (!problem.path || !problem.file) {
        free(problem.sentence);
        problem.sentence = NULL;
    }
    config_problems_add(validation->problems, &problem);
}

void validation_error(struct validation *validation, const char *path, const struct error *error)
{
    add(validation, true, path, strdup(error->text), error->allowed);
}

void validation_tell(struct validation *validation, bool is_error, const char *path,
                     const char *got, const char *format, ...)
{
    char *sentence = NULL, *start = NULL;
    unsigned allowed = 0;
    va_list arguments;

    va_start(arguments, format);
    if (got && vasprintf(&start, got, arguments) >= 0)
        allowed = (unsigned)(strlen(start) + strlen(" allowed: "));
    va_end(arguments);
    va_start(arguments, format);
    if ((got && !allowed) || vasprintf(&sentence, format, arguments) < 0)
        sentence = NULL;
    va_end(arguments);
    if (allowed)
        free(start);
    add(validation, is_error, path, sentence, allowed);
}

struct validation_path validation_key(const char *group, const char *name)
{
    struct validation_path path;
    size_t length = strlen(group), rest = strlen(name) + 1;

    if (length + 1 + rest > sizeof path.text) // no path of the table is as long
        return (struct validation_path){""};
    memcpy(path.text, group, length);
    if (length > 0)
        path.text[length++] = '.';
    memcpy(path.text + length, name, rest);
    return path;
}

static bool is_removed(const struct validation *validation, const char *path)
{
    for (size_t i = 0; i < validation->removed_count; i++) {
        if (strcmp(validation->removed[i], path) == 0)
            return true;
    }
    return false;
}

struct validation_path validation_element(const struct validation *validation, const char *list,
                                          size_t index)
{
    struct validation_path path;

    for (size_t number = validation->removed_count ? 0 : index;; number++) {
        snprintf(path.text, sizeof path.text, "%s[%zu]", list, number);
        if (validation->removed_count == 0 || (!is_removed(validation, path.text) && index-- == 0))
            return path;
    }
}

// Whether the element of a list is what its name came from; not so when its own name, or the kind
// of view it would be named after, was refused.
static bool is_named(const struct validation *validation, const char *element)
{
    struct validation_path name = validation_key(element, "name");
    struct validation_path kind = validation_key(element, "view");

    return !validation_has_refused(validation, element) &&
           !validation_has_refused(validation, name.text) &&
           (validation_has(validation, name.text) ||
            !validation_has_refused(validation, kind.text));
}

// Refuses the name of the element `index` if one before it has it, too.
static void check_name(struct validation *validation, const char *list, const char *key,
                       const char *elements, size_t index, size_t size)
{
    const char *name = *(char *const *)(elements + index * size);
    struct validation_path element = validation_element(validation, list, index);

    for (size_t j = 0; j < index; j++) {
        const char *other = *(char *const *)(elements + j * size);

        if (strcmp(name, other) == 0 && is_named(validation, element.text) &&
            is_named(validation, validation_element(validation, list, j).text)) {
            validation_refuse(validation, validation_key(element.text, "name").text,
                              "got \"%s\", which is the name of %s[%zu], too;", "a name of its own",
                              name, key, j);
            break;
        }
    }
}

void validation_check_names(struct validation *validation, const char *base, const char *key,
                            const void *elements, size_t count, size_t size)
{
    struct validation_path list = validation_key(base, key);

    for (size_t i = 0; i < count; i++)
        check_name(validation, list.text, key, elements, i, size);
}
