#include "daemon/recorder/timeline.h"

// Steps of one length, one after the other.
struct grid {
    int64_t from_ns, step_ns;
    uint32_t count;
};

static bool is_countable(const struct grid *grid, uint32_t most)
{
    // The day of a time in 1970 may begin in 1969.
    return grid->count <= most && grid->from_ns >= -RECORD_DAY_NS && grid->step_ns > 0 &&
           (INT64_MAX - MAX(grid->from_ns, 0)) / grid->step_ns >= grid->count;
}

static struct grid grid_of_steps(const struct record_timeline *question)
{
    return (struct grid){question->from_wall_ns, question->step_ns, question->steps};
}

static struct grid grid_of_days(const struct record_timeline *question)
{
    return (struct grid){question->first_day_wall_ns, RECORD_DAY_NS, question->days};
}

bool timeline_can_answer(const struct record_timeline *question)
{
    const struct grid steps = grid_of_steps(question), days = grid_of_days(question);

    return is_countable(&steps, RECORD_STEPS_MAX) && is_countable(&days, RECORD_DAYS_MAX);
}

// Marks the steps that a part of a clip overlaps; the one in which it begins, if it has no length
// yet.
static void mark(uint8_t *steps, const struct grid *grid, int64_t start_ns, int64_t end_ns,
                 enum record_step step)
{
    int64_t until_ns = grid->from_ns + grid->count * grid->step_ns;
    int64_t first_ns = MAX(start_ns, grid->from_ns);
    int64_t last_ns = MIN(end_ns > start_ns ? end_ns - 1 : start_ns, until_ns - 1);

    if (first_ns > last_ns)
        return;
    for (int64_t i = (first_ns - grid->from_ns) / grid->step_ns;
         i <= (last_ns - grid->from_ns) / grid->step_ns; i++) {
        steps[i] = MAX(steps[i], step);
    }
}

// Clips of before do not tell when something moved, and an open one whose motion goes on does not
// tell the end.
static void mark_clip(uint8_t *steps, const struct grid *grid, const struct recording *clip)
{
    int64_t start_ns = clip->motion_wall_ns ? clip->motion_wall_ns : clip->start_wall_ns;
    int64_t end_ns = clip->motion_end_wall_ns ? clip->motion_end_wall_ns : clip->end_wall_ns;

    mark(steps, grid, clip->start_wall_ns, clip->end_wall_ns, RECORD_STEP_FOOTAGE);
    if (clip->regions && *clip->regions)
        mark(steps, grid, start_ns, MIN(end_ns, clip->end_wall_ns), RECORD_STEP_MOTION);
}

// The lane of a clip's view; a new one if it is the first. NULL: there are too many.
static struct timeline_lane *find_lane(GPtrArray *lanes, const struct recording *clip, size_t size)
{
    for (guint i = 0; i < lanes->len; i++) {
        struct timeline_lane *lane = lanes->pdata[i];

        if (lane->camera == clip->camera && lane->view == clip->view)
            return lane;
    }
    if (lanes->len == RECORD_LANES_MAX)
        return NULL;
    struct timeline_lane *lane = g_malloc0(sizeof *lane + size);

    lane->camera = clip->camera;
    lane->view = clip->view;
    g_ptr_array_add(lanes, lane);
    return lane;
}

GPtrArray *timeline_make(const struct library *library, const struct record_timeline *question)
{
    const struct grid steps = grid_of_steps(question), days = grid_of_days(question);
    GPtrArray *lanes = g_ptr_array_new_with_free_func(g_free);

    for (guint i = library->clips->len; i-- > 0;) {
        const struct recording *clip = library->clips->pdata[i];
        struct timeline_lane *lane =
            clip->is_leaving ? NULL : find_lane(lanes, clip, steps.count + days.count);

        if (lane) {
            mark_clip(lane->steps, &steps, clip);
            mark_clip(lane->steps + steps.count, &days, clip);
        }
    }
    return lanes;
}
