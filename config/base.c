#include "config/base.h"

#include <stdarg.h>
#include <stdio.h>

int error_set(struct error *error, int code, const char *format, ...)
{
    va_list arguments;

    if (error) {
        va_start(arguments, format);
        vsnprintf(error->text, sizeof error->text, format, arguments);
        va_end(arguments);
    }
    return code;
}

int error_prefix(struct error *error, int code, const char *format, ...)
{
    char prefix[256];
    struct error inner;
    va_list arguments;

    if (error) {
        va_start(arguments, format);
        vsnprintf(prefix, sizeof prefix, format, arguments);
        va_end(arguments);
        inner = *error;
        error_set(error, code, "%s: %s", prefix, inner.text);
    }
    return code;
}
