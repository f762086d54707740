#include "daemon/common/log_limit.h"

#include "config/base.h"

#include <stdio.h>

#define MINUTE_NS (60 * NS_PER_S)

static bool is_over(const struct log_limit *limit, int64_t now_ns)
{
    return limit->said == 0 || now_ns - limit->minute_ns >= MINUTE_NS;
}

// Counts one message, of which `most` in a minute are let through.
static bool let_through(struct log_limit *limit, int64_t now_ns, unsigned most)
{
    if (is_over(limit, now_ns)) {
        limit->minute_ns = now_ns;
        limit->said = 0;
    }
    if (limit->said >= most) {
        limit->left_out++;
        return false;
    }
    limit->said++;
    return true;
}

bool log_limit_begin(struct log_limit *limit, int64_t now_ns)
{
    if (!let_through(limit, now_ns, LOG_LIMIT_A_MINUTE))
        return false;
    limit->open = true;
    return true;
}

bool log_limit_end(struct log_limit *limit, int64_t now_ns, unsigned *ret_left_out)
{
    if (!limit->open && !(limit->left_out && is_over(limit, now_ns)))
        return false;
    *ret_left_out = limit->left_out;
    limit->said += limit->open;
    limit->left_out = 0;
    limit->open = false;
    return true;
}

bool log_limit_line(struct log_limit *limit, int64_t now_ns, char ret_suffix[LOG_LIMIT_SUFFIX_SIZE])
{
    return log_limit_line_of(limit, now_ns, LOG_LIMIT_LINES_A_MINUTE, ret_suffix);
}

bool log_limit_line_of(struct log_limit *limit, int64_t now_ns, unsigned most,
                       char ret_suffix[LOG_LIMIT_SUFFIX_SIZE])
{
    if (!let_through(limit, now_ns, most))
        return false;
    ret_suffix[0] = '\0';
    if (limit->left_out) {
        snprintf(ret_suffix, LOG_LIMIT_SUFFIX_SIZE, " (%u such lines were left out)",
                 limit->left_out);
        limit->left_out = 0;
    }
    return true;
}

struct log_limit *log_limits_of(struct log_limits *limits, const uint8_t *address, size_t size)
{
    uint32_t hash = 2166136261; // FNV-1a

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ address[i]) * 16777619;
    return &limits->limits[(hash ^ hash >> 16) % ARRAY_LENGTH(limits->limits)];
}
