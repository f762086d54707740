// How often the log tells of a fault that comes back: its text may differ each time, and it may end
// and begin again many times a second.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define LOG_LIMIT_A_MINUTE 10

// All 0 before the first message.
struct log_limit {
    int64_t minute_ns; // when the minute began in which `said` messages were let through
    unsigned said;
    unsigned left_out; // since that was told last
    bool open;         // a fault was told whose end was not
};

// A fault begins, or goes on with another text: whether the log is to say so. Not when it has said
// LOG_LIMIT_A_MINUTE beginnings and ends in a minute.
bool log_limit_begin(struct log_limit *limit, int64_t now_ns);
// It is over, or still is: whether the log is to say so, with how many messages were left out
// before. That is so once after each one that was let through, and when a minute went by after some
// were left out.
bool log_limit_end(struct log_limit *limit, int64_t now_ns, unsigned *ret_left_out);
