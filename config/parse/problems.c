#include "config/parse/problems.h"

#include <stdarg.h>

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

static FILE *begin(struct problems *problems, const config_setting_t *setting, const char *key,
                   const char *severity)
{
    struct config_line origin =
        config_text_origin(problems->text, config_setting_source_line(setting));
    FILE *file = problems->file;

    if (file) {
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
    if (problems->file) {
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
