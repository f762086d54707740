// Plans that begin alike form a tree. On the CPU a plane lies where it forks: where at least two
// views have come together and do not all go on together. On a GPU it lies wherever there are fewer
// passes over pictures with it.
#include "kernels/graph/shared.h"

#include <errno.h>
#include <string.h>

#define SHARERS_MAX 64

struct shared {
    struct sharer *sharers[SHARERS_MAX]; // not owned
    unsigned count;
    struct segment *segments[SHARERS_MAX]; // owned; each behind the one before it
    unsigned segment_count;
    bool arranged;
    uint64_t frame;
    // Stages made, and stages that views needed.
    _Atomic uint64_t runs[STAGE_KIND_COUNT], needs[STAGE_KIND_COUNT];
};

int shared_new(struct shared **ret_shared)
{
    *ret_shared = calloc(1, sizeof **ret_shared);
    return *ret_shared ? 0 : -ENOMEM;
}

// Every view computes all by itself again.
static void part(struct shared *shared)
{
    for (unsigned i = 0; i < shared->count; i++) {
        struct sharer *sharer = shared->sharers[i];

        if (sharer->start > 0) {
            sharer->set_start(sharer->context, 0);
        }
        sharer->start = 0;
        sharer->from = NULL;
    }
    while (shared->segment_count > 0) {
        segment_free(shared->segments[--shared->segment_count]);
    }
    shared->arranged = false;
}

void shared_free(struct shared *shared)
{
    if (shared) {
        part(shared);
        free(shared);
    }
}

struct mask_plane *shared_merge_mask(struct shared *shared, struct mask_plane *mask)
{
    for (unsigned i = 0; shared && i < shared->count; i++) {
        struct mask_plane *other = shared->sharers[i]->mask;

        if (other && mask_plane_equal(other, mask)) {
            mask_plane_unref(mask);
            return mask_plane_ref(other);
        }
    }
    return mask;
}

int shared_join(struct shared *shared, struct sharer *sharer)
{
    if (!shared) {
        return 0;
    }
    if (shared->count == SHARERS_MAX) {
        return -ENOMEM;
    }
    part(shared);
    sharer->start = 0;
    sharer->from = NULL;
    shared->sharers[shared->count++] = sharer;
    return 0;
}

void shared_leave(struct shared *shared, struct sharer *sharer)
{
    for (unsigned i = 0; shared && i < shared->count; i++) {
        if (shared->sharers[i] == sharer) {
            part(shared);
            shared->count--;
            for (unsigned k = i; k < shared->count; k++) {
                shared->sharers[k] = shared->sharers[k + 1];
            }
        }
    }
}

void shared_set_active(struct shared *shared, struct sharer *sharer, bool active)
{
    if (shared && sharer->active != active) {
        part(shared);
    }
    sharer->active = active;
}

void shared_renew(struct shared *shared)
{
    if (shared) {
        part(shared);
    }
}

// How many of a view's first steps can be made by a segment. On a GPU the stages of a plan that
// knows of frames before stay together in one pipeline, with which that knowledge would go.
static unsigned shareable(const struct sharer *sharer)
{
    bool memory = plan_find(sharer->plan, STAGE_DIFFERENCE) >= 0;

    return !sharer->active || (sharer->gpu && memory) ? 0 : plan_shareable(sharer->plan);
}

// Whether two views make the same of the first `count` steps, in the same place.
static bool agree(const struct sharer *a, const struct sharer *b, unsigned count)
{
    return shareable(a) >= count && shareable(b) >= count && a->gpu == b->gpu &&
           frame_layout_equal(a->camera, b->camera) &&
           memcmp(a->plan->steps, b->plan->steps, count * sizeof a->plan->steps[0]) == 0;
}

static unsigned count_agreeing(const struct shared *shared, const struct sharer *sharer,
                               unsigned count)
{
    unsigned agreeing = 0;

    for (unsigned i = 0; i < shared->count; i++) {
        agreeing += agree(shared->sharers[i], sharer, count);
    }
    return agreeing;
}

static unsigned count_stages(const struct sharer *sharer, unsigned first, unsigned end)
{
    const struct gpu_part part = {sharer->plan, sharer->camera, first, end};

    return gpu_pipeline_count(&part);
}

// On a GPU each stage is a pass over a picture, and a kernel does several steps in one where it
// can: a plane pays when there are fewer of them with it than without.
static bool pays_on_gpu(const struct shared *shared, const struct sharer *sharer, unsigned end)
{
    unsigned with = count_stages(sharer, sharer->start, end), without = 0;
    bool possible = with > 0;

    for (unsigned i = 0; i < shared->count; i++) {
        const struct sharer *other = shared->sharers[i];

        if (agree(other, sharer, end)) {
            unsigned rest = count_stages(other, end, other->plan->count);

            possible = possible && rest > 0;
            with += rest;
            without += count_stages(other, other->start, other->plan->count);
        }
    }
    return possible && with < without;
}

// Whether a plane belongs behind the first `end` steps of this view's. The CPU, which does all of
// them on rows in the cache, gains the more the longer they are what plans have in common.
static bool pays(const struct shared *shared, const struct sharer *sharer, unsigned end)
{
    unsigned agreeing = count_agreeing(shared, sharer, end);

    return agreeing >= 2 && (sharer->gpu ? pays_on_gpu(shared, sharer, end)
                                         : count_agreeing(shared, sharer, end + 1) < agreeing);
}

// All views that agree with this one so far go on from a plane there.
static void make_segment(struct shared *shared, const struct sharer *sharer, unsigned end)
{
    const struct segment_setup setup = {.plan = sharer->plan,
                                        .first = sharer->start,
                                        .end = end,
                                        .camera = sharer->camera,
                                        .before = sharer->from,
                                        .pool = sharer->pool,
                                        .gpu = sharer->gpu,
                                        .blocks = sharer->blocks,
                                        .mapped = sharer->mapped,
                                        .runs = shared->runs};
    struct segment *segment;

    if (shared->segment_count == SHARERS_MAX || segment_new(&setup, &segment) < 0) {
        return;
    }
    shared->segments[shared->segment_count++] = segment;
    for (unsigned i = 0; i < shared->count; i++) {
        if (agree(shared->sharers[i], sharer, end)) {
            shared->sharers[i]->start = end;
            shared->sharers[i]->from = segment;
        }
    }
}

static void arrange(struct shared *shared)
{
    for (unsigned end = 1; end < PLAN_STEPS_MAX; end++) {
        for (unsigned i = 0; i < shared->count; i++) {
            const struct sharer *sharer = shared->sharers[i];

            if (sharer->start < end && pays(shared, sharer, end)) {
                make_segment(shared, sharer, end);
            }
        }
    }
    for (unsigned i = 0; i < shared->count; i++) {
        struct sharer *sharer = shared->sharers[i];

        if (sharer->start > 0 && sharer->set_start(sharer->context, sharer->start) < 0) {
            sharer->start = 0;
            sharer->from = NULL;
        }
    }
    shared->arranged = true;
}

void shared_begin(struct shared *shared)
{
    if (shared) {
        shared->frame++;
        if (!shared->arranged) {
            arrange(shared);
        }
    }
}

uint64_t shared_frame(const struct shared *shared)
{
    return shared->frame;
}

void shared_note_run(struct shared *shared, const struct sharer *sharer)
{
    const struct plan *plan = sharer->plan;

    for (unsigned i = 0; shared && i < plan->count; i++) {
        shared->needs[plan->steps[i].kind]++;
        shared->runs[plan->steps[i].kind] += i >= sharer->start;
    }
}

struct shared_count shared_count(const struct shared *shared, enum stage_kind kind)
{
    uint64_t needs = shared->needs[kind], runs = shared->runs[kind];

    return (struct shared_count){runs, needs > runs ? needs - runs : 0};
}
