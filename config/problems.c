#include "config/problems.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static void clear(struct config_problem *problem)
{
    free(problem->file);
    free(problem->path);
    free(problem->sentence);
}

void config_problems_add(struct config_problems *problems, const struct config_problem *problem)
{
    struct config_problem added = *problem;

    problems->errors += problem->is_error;
    if (problems->count == problems->capacity) {
        size_t capacity = problems->capacity ? 2 * problems->capacity : 16;
        struct config_problem *list = reallocarray(problems->list, capacity, sizeof *list);

        problems->list = list ? list : problems->list;
        problems->capacity = list ? capacity : problems->capacity;
    }
    if (!problem->sentence || problems->count == problems->capacity) {
        clear(&added);
        problems->is_incomplete = true;
        return;
    }
    added.number = problems->count;
    problems->list[problems->count++] = added;
}

static void tell(struct config_problems *problems, struct config_problem *problem,
                 const char *format, va_list arguments)
{
    if (vasprintf(&problem->sentence, format, arguments) < 0)
        problem->sentence = NULL;
    config_problems_add(problems, problem);
}

void config_problems_warn_setting(struct config_problems *problems, const char *path,
                                  const char *format, ...)
{
    struct config_problem problem = {.path = strdup(path), .is_setting = true};
    va_list arguments;

    va_start(arguments, format);
    tell(problems, &problem, format, arguments);
    va_end(arguments);
}

void config_problems_tell(struct config_problems *problems, bool is_error, const char *file,
                          const char *format, ...)
{
    struct config_problem problem = {.file = file ? strdup(file) : NULL, .is_error = is_error};
    va_list arguments;

    va_start(arguments, format);
    tell(problems, &problem, format, arguments);
    va_end(arguments);
}

static int compare_lines(const void *a, const void *b)
{
    const struct config_problem *one = a, *other = b;

    if (one->order != other->order)
        return one->order < other->order ? -1 : 1;
    return (one->number > other->number) - (one->number < other->number);
}

void config_problems_sort(struct config_problems *problems, size_t kept)
{
    if (problems->count > kept)
        qsort(problems->list + kept, problems->count - kept, sizeof *problems->list, compare_lines);
}

const struct config_problem *config_problems_first_error(const struct config_problems *problems,
                                                         bool of_setting)
{
    for (size_t i = 0; i < problems->count; i++) {
        const struct config_problem *problem = &problems->list[i];

        if (problem->is_error && (problem->is_setting || !of_setting))
            return problem;
    }
    return NULL;
}

int config_problems_refuse(const struct config_problems *problems, int code, struct error *error)
{
    const struct config_problem *first = config_problems_first_error(problems, false);
    bool has_path = first && first->path;

    return error_set(error, code, "%s%s%s", has_path ? first->path : "", has_path ? ": " : "",
                     first ? first->sentence : strerror(-code));
}

static void print_line(const struct config_problem *problem, FILE *file)
{
    const char *severity = problem->is_error ? "error" : "warning";

    if (problem->is_setting)
        fprintf(file, "settings: %s: ", severity);
    else if (problem->line > 0)
        fprintf(file, "%s:%u: %s: ", problem->file, problem->line, severity);
    else if (problem->file)
        fprintf(file, "%s: %s: ", problem->file, severity);
    if (problem->path)
        fprintf(file, "%s: ", problem->path);
    fputs(problem->sentence, file);
}

char *config_problem_line(const struct config_problem *problem)
{
    char *line = NULL;
    size_t size;
    FILE *file = open_memstream(&line, &size);

    if (file) {
        print_line(problem, file);
        fclose(file);
    }
    return line;
}

void config_problems_print(const struct config_problems *problems, FILE *file)
{
    for (size_t i = 0; i < problems->count; i++) {
        print_line(&problems->list[i], file);
        fputc('\n', file);
    }
}

void config_problems_finish(struct config_problems *problems)
{
    for (size_t i = 0; i < problems->count; i++)
        clear(&problems->list[i]);
    free(problems->list);
    *problems = (struct config_problems){0};
}
