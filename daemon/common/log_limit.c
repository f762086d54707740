#include "daemon/common/log_limit.h"

#include "config/base.h"

#define MINUTE_NS (60 * NS_PER_S)

static bool is_over(const struct log_limit *limit, int64_t now_ns)
{
    return limit->said == 0 || now_ns - limit->minute_ns >= MINUTE_NS;
}

bool log_limit_begin(struct log_limit *limit, int64_t now_ns)
{
    if (is_over(limit, now_ns)) {
        limit->minute_ns = now_ns;
        limit->said = 0;
    }
    if (limit->said >= LOG_LIMIT_A_MINUTE) {
        limit->left_out++;
        return false;
    }
    limit->said++;
    limit->open = true;
    return true;
}

bool log_limit_end(struct log_limit *limit, int64_t now_ns, unsigned *ret_left_out)
{
    if (!limit->open && !(limit->left_out && is_over(limit, now_ns))) {
        return false;
    }
    *ret_left_out = limit->left_out;
    limit->said += limit->open;
    limit->left_out = 0;
    limit->open = false;
    return true;
}
