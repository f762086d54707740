#include "capture/gstreamer/rtp_clock.h"

#include <glib.h>
#include <stdlib.h>

#define TICKS_PER_MS 90 // of every video, RFC 3551
#define FIT_WINDOW_NS (5 * NS_PER_S)
#define STRETCH 4
// More than a picture can be late: the camera's clock was set.
#define CLOCK_SET_NS (6 * NS_PER_S)
#define ASTRAY 3 // times too fast or too slow

static int64_t to_ns(int64_t ticks)
{
    return ticks * NS_PER_MS / TICKS_PER_MS;
}

static void begin_window(struct rtp_clock *clock, int64_t offset_ns, int64_t now_ns)
{
    clock->window_ns = now_ns;
    clock->window_ticks = clock->ticks;
    clock->least_before_ns = clock->least_ns;
    clock->least_ns = offset_ns;
}

// At the end of a window: whether the camera's clock ran as ours did. A network that stands still
// as a window ends makes that one too slow, and the next one not.
static void judge_rate(struct rtp_clock *clock, int64_t now_ns)
{
    int64_t passed_ns = now_ns - clock->window_ns;
    int64_t told_ns = to_ns(clock->ticks - clock->window_ticks);
    bool slow = told_ns < passed_ns / ASTRAY;

    clock->astray = told_ns > ASTRAY * passed_ns || (slow && clock->slow);
    clock->slow = slow;
}

// Dates this picture as it comes, and counts ticks from it on: so no camera makes them overflow.
static void begin(struct rtp_clock *clock, int64_t now_ns)
{
    clock->ticks = 0;
    clock->captured_ns = clock->offset_ns = clock->least_ns = now_ns;
    begin_window(clock, now_ns, now_ns);
}

static void fit(struct rtp_clock *clock, int64_t step_ns, int64_t now_ns)
{
    int64_t told_ns = to_ns(clock->ticks), offset_ns = now_ns - told_ns;
    int64_t highest_ns = clock->offset_ns + MAX(step_ns, 0) / STRETCH;
    bool was_set = llabs(offset_ns - clock->offset_ns) > CLOCK_SET_NS;
    bool is_over = !was_set && now_ns - clock->window_ns > FIT_WINDOW_NS;

    if (is_over)
        judge_rate(clock, now_ns);
    if (was_set || (is_over && clock->astray)) {
        begin(clock, now_ns);
        return;
    }
    if (is_over)
        begin_window(clock, offset_ns, now_ns);
    clock->least_ns = MIN(clock->least_ns, offset_ns);
    clock->offset_ns = MIN(highest_ns, MIN(clock->least_ns, clock->least_before_ns));
    clock->captured_ns = clock->astray ? now_ns : told_ns + clock->offset_ns;
}

bool rtp_clock_note(struct rtp_clock *clock, uint32_t stamp, int64_t now_ns)
{
    int32_t step = (int32_t)(stamp - clock->stamp);

    if (clock->begun && step == 0)
        return false;
    clock->stamp = stamp;
    if (clock->begun) {
        clock->ticks += step;
        fit(clock, to_ns(step), now_ns);
    } else {
        clock->begun = true;
        begin(clock, now_ns);
    }
    return true;
}
