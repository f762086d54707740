#include "capture/gstreamer/rhythm.h"

#include <glib.h>
#include <stdbool.h>

#define WINDOW_NS (30 * NS_PER_S)
#define PAUSE_LONGEST_NS (20 * NS_PER_S)
#define MEAN_OF 8
// Three periods pass before a camera counts as silent, so a hiccup of the network is no silence.
#define PERIOD_SHORTEST_NS (350 * NS_PER_MS)

static void note_pause(struct rhythm *rhythm, int64_t pause_ns, int64_t now_ns)
{
    if (now_ns - rhythm->window_ns > WINDOW_NS) {
        rhythm->window_ns = now_ns;
        rhythm->longest_before_ns = rhythm->longest_ns;
        rhythm->longest_ns = 0;
    }
    rhythm->longest_ns = MAX(rhythm->longest_ns, MIN(pause_ns, RHYTHM_BURST_NS));
    pause_ns = CLAMP(pause_ns, 1, PAUSE_LONGEST_NS); // 0: unknown
    rhythm->mean_ns =
        rhythm->mean_ns ? ((MEAN_OF - 1) * rhythm->mean_ns + pause_ns) / MEAN_OF : pause_ns;
}

void rhythm_note(struct rhythm *rhythm, int64_t now_ns)
{
    if (rhythm->first_ns)
        note_pause(rhythm, now_ns - rhythm->came_ns, now_ns);
    else
        rhythm->first_ns = now_ns;
    rhythm->came_ns = now_ns;
}

int64_t rhythm_period_ns(const struct rhythm *rhythm)
{
    bool is_new = rhythm->came_ns - rhythm->first_ns < RHYTHM_BURST_NS;
    int64_t least_ns = is_new ? RHYTHM_FIRST_NS : PERIOD_SHORTEST_NS;
    int64_t longest_ns = MAX(rhythm->longest_ns, rhythm->longest_before_ns);

    return rhythm->mean_ns ? MAX(rhythm->mean_ns, MAX(longest_ns, least_ns)) : 0;
}
