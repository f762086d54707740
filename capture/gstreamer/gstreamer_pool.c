#include "capture/gstreamer/gstreamer_pool.h"

#include "capture/gstreamer/gstreamer_caps.h"

#include <gst/video/video.h>

// GObject wants these names and these typedefs.
#define EDGED_TYPE_POOL (edged_pool_get_type())
G_DECLARE_FINAL_TYPE(EdgedPool, edged_pool, EDGED, POOL, GstBufferPool)

struct _EdgedPool {
    GstBufferPool parent;
    struct frame_pool *frames; // owned reference
};

G_DEFINE_TYPE(EdgedPool, edged_pool, GST_TYPE_BUFFER_POOL)

static GQuark frame_quark(void)
{
    return g_quark_from_static_string("edged-frame");
}

static void release_frame(void *frame)
{
    frame_unref(frame);
}

static GstMemory *wrap_frame(struct frame *frame)
{
    size_t size = frame->layout.size;
    GstMemory *memory = gst_memory_new_wrapped(0, frame->data, size, 0, size, frame, release_frame);

    gst_mini_object_set_qdata(GST_MINI_OBJECT_CAST(memory), frame_quark(), frame, NULL);
    return memory;
}

static void add_video_meta(GstBuffer *buffer, const struct frame_layout *layout)
{
    gsize offsets[GST_VIDEO_MAX_PLANES] = {0};
    gint strides[GST_VIDEO_MAX_PLANES] = {0};

    for (unsigned i = 0; i < layout->format->plane_count; i++) {
        offsets[i] = layout->planes[i].offset;
        strides[i] = (gint)layout->planes[i].stride;
    }
    gst_buffer_add_video_meta_full(
        buffer, GST_VIDEO_FRAME_FLAG_NONE, gst_video_format_from_string(layout->format->gst_name),
        layout->width, layout->height, layout->format->plane_count, offsets, strides);
}

static GstFlowReturn edged_pool_acquire_buffer(GstBufferPool *pool, GstBuffer **ret_buffer,
                                               GstBufferPoolAcquireParams *parameters)
{
    EdgedPool *self = EDGED_POOL(pool);
    const struct frame_layout *layout = frame_pool_layout(self->frames);
    struct frame *frame;
    GstBuffer *buffer;

    (void)parameters;
    if (GST_BUFFER_POOL_IS_FLUSHING(pool))
        return GST_FLOW_FLUSHING;
    frame = frame_pool_take(self->frames);
    if (frame) {
        buffer = gst_buffer_new();
        gst_buffer_append_memory(buffer, wrap_frame(frame));
    } else {
        buffer = gst_buffer_new_allocate(NULL, layout->size, NULL);
    }
    add_video_meta(buffer, layout);
    *ret_buffer = buffer;
    return GST_FLOW_OK;
}

// Buffers are not kept: the frames are the pool.
static void edged_pool_release_buffer(GstBufferPool *pool, GstBuffer *buffer)
{
    (void)pool;
    gst_buffer_unref(buffer);
}

static gboolean edged_pool_start(GstBufferPool *pool)
{
    (void)pool;
    return TRUE;
}

static const gchar **edged_pool_get_options(GstBufferPool *pool)
{
    static const gchar *options[] = {GST_BUFFER_POOL_OPTION_VIDEO_META, NULL};

    (void)pool;
    return options;
}

// Refuses what frames cannot give: larger pictures, or room around them.
static gboolean edged_pool_set_config(GstBufferPool *pool, GstStructure *config)
{
    const struct frame_layout *layout = frame_pool_layout(EDGED_POOL(pool)->frames);
    GstAllocationParams parameters;
    guint size;

    if (!gst_buffer_pool_config_get_params(config, NULL, &size, NULL, NULL) ||
        size > layout->size) {
        return FALSE;
    }
    if (gst_buffer_pool_config_get_allocator(config, NULL, &parameters) &&
        (parameters.prefix > 0 || parameters.padding > 0)) {
        return FALSE;
    }
    return GST_BUFFER_POOL_CLASS(edged_pool_parent_class)->set_config(pool, config);
}

static void edged_pool_finalize(GObject *object)
{
    frame_pool_unref(EDGED_POOL(object)->frames);
    G_OBJECT_CLASS(edged_pool_parent_class)->finalize(object);
}

static void edged_pool_class_init(EdgedPoolClass *class)
{
    GstBufferPoolClass *pool_class = GST_BUFFER_POOL_CLASS(class);

    G_OBJECT_CLASS(class)->finalize = edged_pool_finalize;
    pool_class->get_options = edged_pool_get_options;
    pool_class->set_config = edged_pool_set_config;
    pool_class->start = edged_pool_start;
    pool_class->acquire_buffer = edged_pool_acquire_buffer;
    pool_class->release_buffer = edged_pool_release_buffer;
}

static void edged_pool_init(EdgedPool *self)
{
    (void)self;
}

unsigned gstreamer_pool_count(size_t frame_bytes, size_t bytes)
{
    return (unsigned)CLAMP(bytes / frame_bytes, GSTREAMER_POOL_FRAMES, FRAME_POOL_MAX);
}

bool gstreamer_pool_offer(GstQuery *query, const struct frame_allocator *allocator, size_t bytes,
                          struct frame_pool **frames)
{
    struct source_mode mode = {0};
    GstCaps *caps = NULL;

    gst_query_parse_allocation(query, &caps, NULL);
    if (!caps || gstreamer_caps_read(caps, &mode) < 0)
        return false;
    if (!*frames || !frame_layout_equal(frame_pool_layout(*frames), &mode.layout)) {
        frame_pool_unref(TAKE(*frames));
        if (frame_pool_new(&mode.layout, gstreamer_pool_count(mode.layout.size, bytes), allocator,
                           frames) < 0) {
            return false;
        }
    }
    EdgedPool *pool = g_object_new(EDGED_TYPE_POOL, NULL);
    pool->frames = frame_pool_ref(*frames);
    gst_object_ref_sink(pool);
    // videorate removes a pool whose least and most are the same number, though a most of 0 is
    // none.
    gst_query_add_allocation_pool(query, GST_BUFFER_POOL(pool), (guint)mode.layout.size, 1, 0);
    gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, NULL);
    gst_object_unref(pool);
    return true;
}

static bool lies_as_layout_says(GstBuffer *buffer, const struct frame_layout *layout)
{
    const GstVideoMeta *meta = gst_buffer_get_video_meta(buffer);

    if (!meta)
        return true;
    for (unsigned i = 0; i < layout->format->plane_count; i++) {
        if (meta->n_planes != layout->format->plane_count ||
            meta->offset[i] != layout->planes[i].offset ||
            meta->stride[i] != (gint)layout->planes[i].stride) {
            return false;
        }
    }
    return true;
}

struct frame *gstreamer_pool_claim(GstBuffer *buffer, const struct frame_layout *layout)
{
    GstMemory *memory = gst_buffer_n_memory(buffer) == 1 ? gst_buffer_peek_memory(buffer, 0) : NULL;
    struct frame *frame;

    if (!memory || memory->offset != 0 || GST_MEMORY_IS_READONLY(memory))
        return NULL;
    frame = gst_mini_object_get_qdata(GST_MINI_OBJECT_CAST(memory), frame_quark());
    if (!frame || memory->size < layout->size || !frame_layout_equal(&frame->layout, layout) ||
        !lies_as_layout_says(buffer, layout)) {
        return NULL;
    }
    GST_MINI_OBJECT_FLAG_SET(memory, GST_MEMORY_FLAG_READONLY);
    // A decoder keeps its reference pictures mapped, videorate what it may repeat.
    frame->lent = GST_MINI_OBJECT_REFCOUNT_VALUE(memory) > 1;
    return frame_ref(frame);
}
