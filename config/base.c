#include "config/base.h"

#include <stdarg.h>
#include <stdio.h>

void error_format(struct error *error, const char *format, ...)
{
    va_list arguments;

    if (error) {
        va_start(arguments, format);
        vsnprintf(error->text, sizeof error->text, format, arguments);
        va_end(arguments);
    }
}

void error_format_prefix(struct error *error, const char *format, ...)
{
    char prefix[256];
    struct error inner;
    va_list arguments;

    if (error) {
        va_start(arguments, format);
        vsnprintf(prefix, sizeof prefix, format, arguments);
        va_end(arguments);
        inner = *error;
        error_format(error, "%s: %s", prefix, inner.text);
    }
}

void condition_init(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}
