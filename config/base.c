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
        error->allowed = 0;
    }
}

void error_format_refusal(struct error *error, const char *got, const char *whole, ...)
{
    _cleanup_(cleanup_free) char *start = NULL, *text = NULL;
    va_list arguments;

    if (!error)
        return;
    va_start(arguments, whole);
    start = redact_format(got, arguments);
    va_end(arguments);
    va_start(arguments, whole);
    text = redact_format(whole, arguments);
    va_end(arguments);
    snprintf(error->text, sizeof error->text, "%s", text ? text : strerror(ENOMEM));
    error->allowed = start && text ? (unsigned)(strlen(start) + strlen(" allowed: ")) : 0;
    if (error->allowed > strlen(error->text))
        error->allowed = 0;
}

void error_format_prefix(struct error *error, const char *format, ...)
{
    _cleanup_(cleanup_free) char *prefix = NULL;
    va_list arguments;

    if (error) {
        unsigned allowed = error->allowed;

        va_start(arguments, format);
        prefix = redact_format(format, arguments);
        va_end(arguments);
        error_format(error, "%.255s: %s", prefix ? prefix : strerror(ENOMEM), error->text);
        if (allowed && prefix)
            error->allowed = allowed + (unsigned)(strnlen(prefix, 255) + strlen(": "));
        if (error->allowed > strlen(error->text))
            error->allowed = 0;
    }
}

int fault_at(struct fault *fault, const char *key, int code)
{
    snprintf(fault->key, sizeof fault->key, "%s", key);
    return code;
}

void condition_init(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}
