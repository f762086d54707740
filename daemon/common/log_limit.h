// Limits how often the log tells of a fault that comes and goes, perhaps many times a second and
// with another text each time.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define LOG_LIMIT_A_MINUTE 10

// All 0 before the first message.
struct log_limit {
    int64_t minute_ns; // when the minute began in which `said` messages were let through
    unsigned said;
    unsigned left_out; // messages left out since the log last told how many
    bool open;         // the log has told of a fault, and not yet of its end
};

// A fault begins, or goes on with another text. True: the log is to say so. False: it has told of
// LOG_LIMIT_A_MINUTE beginnings and ends in this minute.
bool log_limit_begin(struct log_limit *limit, int64_t now_ns);
// There is no fault now; may be called as often as one likes. True: the log is to say so, and that
// *ret_left_out messages were left out before. That happens once after each beginning that the log
// has told of, and a minute after some were left out.
bool log_limit_end(struct log_limit *limit, int64_t now_ns, unsigned *ret_left_out);
