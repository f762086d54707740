#include "config/base.h"

#include "config/redact.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void error_format(struct error *error, const char *format, ...)
{
    _cleanup_(cleanup_free) char *text = NULL;
    va_list arguments;

    if (error) {
        va_start(arguments, format);
        text = redact_format(format, arguments);
        va_end(arguments);
        snprintf(error->text, sizeof error->text, "%s", text ? text : strerror(ENOMEM));
    }
}

void error_format_prefix(struct error *error, const char *format, ...)
{
    _cleanup_(cleanup_free) char *prefix = NULL;
    va_list arguments;

    if (error) {
        va_start(arguments, format);
        prefix = redact_format(format, arguments);
        va_end(arguments);
        error_format(error, "%.255s: %s", prefix ? prefix : strerror(ENOMEM), error->text);
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
