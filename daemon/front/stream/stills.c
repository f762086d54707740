#include "daemon/front/stream/stills.h"

#include "config/base.h"

#include <errno.h>
#include <string.h>

#define KEPT_NS (2 * NS_PER_S)
#define OLDEST_NS (10 * NS_PER_S) // a picture that took longer would be none of now

struct still *still_ref(struct still *still)
{
    still->references++;
    return still;
}

void still_unref(struct still *still)
{
    if (still && --still->references == 0) {
        free(still->memory);
        free(still);
    }
}

void stills_init(struct stills *stills, void (*wanted)(void *context), void *context)
{
    *stills = (struct stills){.wanted = wanted, .context = context};
}

void stills_drop(struct stills *stills)
{
    for (unsigned i = 0; i < LINK_SCALES; i++)
        still_unref(TAKE(stills->newest[i]));
}

void stills_finish(struct stills *stills)
{
    g_clear_handle_id(&stills->timer, g_source_remove);
    stills_drop(stills);
}

static gboolean on_timer(gpointer data)
{
    struct stills *stills = data;
    int64_t left_ns = stills->wanted_ns + KEPT_NS - clock_now_ns();

    stills->timer = 0;
    left_ns = stills->waiters ? KEPT_NS : left_ns;
    if (left_ns > 0)
        stills->timer = g_timeout_add((guint)(left_ns / NS_PER_MS + 1), on_timer, stills);
    else
        stills_drop(stills);
    if (stills->waiters) {
        stills->wanted(stills->context); // the question or its JPEG may have been lost
    }
    return G_SOURCE_REMOVE;
}

static void start_timer(struct stills *stills)
{
    if (!stills->timer)
        stills->timer = g_timeout_add(KEPT_NS / NS_PER_MS, on_timer, stills);
}

void stills_wait(struct stills *stills, struct still_waiter *waiter)
{
    waiter->stills = stills;
    waiter->previous = NULL;
    waiter->following = stills->waiters;
    if (waiter->following)
        waiter->following->previous = waiter;
    stills->waiters = waiter;
    stills->wanted_ns = clock_now_ns();
    start_timer(stills);
    stills->wanted(stills->context);
}

void stills_leave(struct still_waiter *waiter)
{
    struct stills *stills = TAKE(waiter->stills);

    if (!stills)
        return;
    if (waiter->previous)
        waiter->previous->following = waiter->following;
    else
        stills->waiters = waiter->following;
    if (waiter->following)
        waiter->following->previous = waiter->previous;
    if (stills->visiting == waiter)
        stills->visiting = waiter->following;
}

unsigned stills_wanted(const struct stills *stills)
{
    unsigned scales = 0;

    for (const struct still_waiter *waiter = stills->waiters; waiter; waiter = waiter->following)
        scales |= 1U << waiter->scale;
    return scales;
}

struct still *stills_newest(const struct stills *stills, unsigned scale, int64_t after_ns)
{
    struct still *still = stills->newest[scale];

    return still && still->captured_ns > after_ns ? still : NULL;
}

static bool is_jpeg(const uint8_t *bytes, size_t size)
{
    return size >= 4 && bytes[0] == 0xff && bytes[1] == 0xd8 && bytes[size - 2] == 0xff &&
           bytes[size - 1] == 0xd9;
}

// The time comes from a camera process, and is not trusted.
static int make_still(uint8_t *payload, size_t size, struct still **ret_still, unsigned *ret_scale)
{
    struct link_jpeg head = {0};
    struct still *still = NULL;
    int64_t now_ns = clock_now_ns();
    int r = 0;

    if (size >= sizeof head)
        memcpy(&head, payload, sizeof head);
    if (size < sizeof head || head.scale >= LINK_SCALES ||
        !is_jpeg(payload + sizeof head, size - sizeof head)) {
        r = -EBADMSG;
    } else {
        still = malloc(sizeof *still);
        r = still ? 0 : -ENOMEM;
    }
    if (r < 0) {
        free(payload);
        return r;
    }
    *still = (struct still){.references = 1,
                            .captured_ns = CLAMP(head.captured_ns, now_ns - OLDEST_NS, now_ns),
                            .bytes = payload + sizeof head,
                            .size = size - sizeof head,
                            .memory = payload};
    *ret_still = still;
    *ret_scale = head.scale;
    return 0;
}

int stills_take(struct stills *stills, uint8_t *payload, size_t size, unsigned *ret_scale)
{
    struct still *still;
    int r = make_still(payload, size, &still, ret_scale);

    if (r < 0)
        return r;
    stills->count++;
    still_unref(stills->newest[*ret_scale]);
    stills->newest[*ret_scale] = still_ref(still);
    start_timer(stills);
    for (struct still_waiter *waiter = stills->waiters; waiter; waiter = stills->visiting) {
        stills->visiting = waiter->following;
        if (waiter->scale == *ret_scale && still->captured_ns > waiter->after_ns) {
            stills_leave(waiter);
            waiter->ready(waiter->context, still);
        }
    }
    still_unref(still);
    return 0;
}
