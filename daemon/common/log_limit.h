// Limits how often the log tells of what others can cause many times a second: a fault that comes
// and goes, perhaps with another text each time, or a line that stands alone.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOG_LIMIT_A_MINUTE 10
#define LOG_LIMIT_LINES_A_MINUTE 30 // of those that stand alone
#define LOG_LIMIT_EACH_A_MINUTE 600 // of any message of a camera, whatever its values
#define LOG_LIMIT_SUFFIX_SIZE 48

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

// A line that stands alone. True: the log is to have it, with `ret_suffix` behind it: "", or how
// many lines were left out before it. False: LOG_LIMIT_LINES_A_MINUTE have been let through.
bool log_limit_line(struct log_limit *limit, int64_t now_ns,
                    char ret_suffix[LOG_LIMIT_SUFFIX_SIZE]);

// The same with another number in place of LOG_LIMIT_LINES_A_MINUTE.
bool log_limit_line_of(struct log_limit *limit, int64_t now_ns, unsigned most,
                       char ret_suffix[LOG_LIMIT_SUFFIX_SIZE]);

// Limits of lines about addresses. Many addresses share a limit at random, so that the memory, and
// the lines of all of them together, are bounded.
struct log_limits {
    struct log_limit limits[256];
};

struct log_limit *log_limits_of(struct log_limits *limits, const uint8_t *address, size_t size);
