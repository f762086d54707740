#include "daemon/front/outlet.h"

#include "config/base.h"

#include <errno.h>

// RTP counts in 1/90000 s; two frames must never share a time stamp there.
#define OUTLET_PTS_STEP_NS NS_PER_MS
#define OUTLET_BACKLOG_NS (2 * NS_PER_S)
#define OUTLET_HELD_BACKLOG_NS (300 * NS_PER_MS)

struct outlet {
    GstAppSrc *source; // a reference
    int64_t base_ns;
    int64_t last_pts_ns; // of the pipeline; -1 before the first
    int64_t drained_ns;  // when nothing waited in `source` for the last time
    size_t limit_bytes;
    bool primed, waiting, playing;
};

int outlet_new(GstAppSrc *source, int64_t base_ns, struct outlet **ret_outlet)
{
    struct outlet *outlet = calloc(1, sizeof *outlet);

    if (!outlet) {
        return -ENOMEM;
    }
    outlet->source = gst_object_ref(source);
    outlet->base_ns = base_ns;
    outlet->last_pts_ns = -1;
    outlet->waiting = true;
    *ret_outlet = outlet;
    return 0;
}

void outlet_free(struct outlet *outlet)
{
    if (!outlet) {
        return;
    }
    gst_object_unref(outlet->source);
    free(outlet);
}

void outlet_set_limit(struct outlet *outlet, size_t limit_bytes)
{
    outlet->limit_bytes = limit_bytes;
}

static int64_t next_pts_ns(struct outlet *outlet, int64_t pts_ns)
{
    int64_t pts = pts_ns > outlet->base_ns ? pts_ns - outlet->base_ns : 0;

    if (outlet->last_pts_ns >= 0 && pts < outlet->last_pts_ns + OUTLET_PTS_STEP_NS) {
        pts = outlet->last_pts_ns + OUTLET_PTS_STEP_NS;
    }
    outlet->last_pts_ns = pts;
    return pts;
}

static GstBuffer *make_buffer(struct outlet *outlet, const struct outlet_frame *frame)
{
    GstBuffer *buffer = gst_buffer_new();

    gst_buffer_append_memory(buffer, gst_memory_ref(frame->memory));
    GST_BUFFER_PTS(buffer) = (GstClockTime)next_pts_ns(outlet, frame->pts_ns);
    GST_BUFFER_DTS(buffer) = GST_BUFFER_PTS(buffer);
    if (!frame->key_frame) {
        GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_DELTA_UNIT);
    }
    return buffer;
}

// Frames wait too long or are too many: the pipeline does not take them.
static bool is_congested(struct outlet *outlet)
{
    uint64_t level_bytes = gst_app_src_get_current_level_bytes(outlet->source);
    int64_t now_ns = clock_now_ns();

    if (level_bytes == 0) {
        outlet->drained_ns = now_ns;
        return false;
    }
    return level_bytes > outlet->limit_bytes ||
           now_ns - outlet->drained_ns >
               (outlet->playing ? OUTLET_BACKLOG_NS : OUTLET_HELD_BACKLOG_NS);
}

int outlet_push(struct outlet *outlet, const struct outlet_frame *frame)
{
    if (is_congested(outlet)) {
        outlet->waiting = true;
        return -ENOBUFS;
    }
    if (outlet->waiting && !frame->key_frame) {
        return -EAGAIN;
    }
    if (gst_app_src_push_buffer(outlet->source, make_buffer(outlet, frame)) != GST_FLOW_OK) {
        outlet->waiting = true;
        return -EPIPE;
    }
    outlet->primed = true;
    outlet->waiting = frame->slate;
    return 0;
}

void outlet_set_playing(struct outlet *outlet, bool playing)
{
    outlet->playing = playing;
}

bool outlet_is_playing(const struct outlet *outlet)
{
    return outlet->playing;
}

void outlet_discontinue(struct outlet *outlet)
{
    outlet->waiting = true;
}

bool outlet_is_primed(const struct outlet *outlet)
{
    return outlet->primed;
}

bool outlet_is_waiting(const struct outlet *outlet)
{
    return outlet->waiting;
}

GstAppSrc *outlet_source(const struct outlet *outlet)
{
    return outlet->source;
}
