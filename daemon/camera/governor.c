#include "daemon/camera/governor.h"

#include "config/base.h"

#define LEVELS_MAX 4
#define STANDING_NS (300 * NS_PER_MS)
#define WINDOW_NS (2 * NS_PER_S)
#define ROOM 0.85 // the most of the time that the encoder may be busy at the level before

static const struct governor_level levels[][LEVELS_MAX] = {
    [CONFIG_GOVERNOR_RATE_SIZE] = {{1, 1, ""},
                                   {2, 1, "rate 1/2"},
                                   {4, 1, "rate 1/4"},
                                   {4, 2, "rate 1/4, size 1/2"}},
    [CONFIG_GOVERNOR_SIZE_RATE] = {{1, 1, ""},
                                   {1, 2, "size 1/2"},
                                   {2, 2, "rate 1/2, size 1/2"},
                                   {4, 2, "rate 1/4, size 1/2"}},
    [CONFIG_GOVERNOR_RATE] = {{1, 1, ""}, {2, 1, "rate 1/2"}, {4, 1, "rate 1/4"}},
    [CONFIG_GOVERNOR_SIZE] = {{1, 1, ""}, {1, 2, "size 1/2"}},
    [CONFIG_GOVERNOR_OFF] = {{1, 1, ""}},
};

void governor_init(struct governor *governor, enum config_governor order)
{
    *governor = (struct governor){.order = order};
}

const struct governor_level *governor_level(const struct governor *governor)
{
    return &levels[governor->order][governor->level];
}

void governor_note(struct governor *governor, int64_t busy_ns)
{
    governor->busy_ns += busy_ns;
}

static void set_level(struct governor *governor, unsigned level, int64_t now_ns)
{
    governor->level = level;
    governor->standing_ns = 0;
    governor->window_ns = now_ns;
    governor->busy_ns = 0;
}

// The work of a level for each frame of the camera, as a share of all.
static double work(const struct governor_level *level)
{
    return 1.0 / (level->rate_divisor * level->size_divisor * level->size_divisor);
}

// At the end of a window: goes up where the level before would have left room.
static void look_up(struct governor *governor, int64_t now_ns)
{
    const struct governor_level *level = governor_level(governor);

    if (governor->window_ns == 0)
        set_level(governor, governor->level, now_ns);
    int64_t window_ns = now_ns - governor->window_ns;
    if (window_ns < WINDOW_NS)
        return;
    bool has_room = governor->level > 0 && (double)governor->busy_ns * work(level - 1) <=
                                               ROOM * work(level) * (double)window_ns;
    set_level(governor, governor->level - has_room, now_ns);
}

bool governor_look(struct governor *governor, bool waiting, int64_t now_ns)
{
    if (!waiting) {
        governor->standing_ns = 0;
        look_up(governor, now_ns);
        return false;
    }
    if (governor->standing_ns == 0)
        governor->standing_ns = now_ns;
    bool is_last = governor->level + 1 == LEVELS_MAX ||
                   levels[governor->order][governor->level + 1].rate_divisor == 0;
    if (is_last || now_ns - governor->standing_ns < STANDING_NS)
        return false;
    set_level(governor, governor->level + 1, now_ns);
    return true;
}

bool governor_takes(struct governor *governor, bool key_frame)
{
    bool taken = key_frame || ++governor->skipped >= governor_level(governor)->rate_divisor;

    governor->skipped = taken ? 0 : governor->skipped;
    return taken;
}
