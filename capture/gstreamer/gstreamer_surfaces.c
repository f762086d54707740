#include "capture/gstreamer/gstreamer_surfaces.h"

#include "capture/nvmm/nvbufsurface.h"

#include <errno.h>
#include <pthread.h>

#define SURFACES_MAX 32

// A surface that was adopted. It may end at any time that no frame is on it: its memory then tells.
struct surface_entry {
    struct frame frame; // first
    struct gstreamer_surfaces *of;
    // Guarded by the lock, as is frame.surface.
    uint64_t descriptor;
    bool used;         // until its memory has told of its end
    GstBuffer *buffer; // owned while the frame is out
};

struct gstreamer_surfaces {
    struct frame_allocator allocator;
    pthread_mutex_t lock; // guards all below
    unsigned references;  // of the pipeline, frames that are out, and entries that are used
    bool ended;
    struct surface_entry entries[SURFACES_MAX];
};

struct gstreamer_surfaces *gstreamer_surfaces_new(const struct frame_allocator *allocator)
{
    struct gstreamer_surfaces *surfaces = calloc(1, sizeof *surfaces);

    if (surfaces) {
        surfaces->allocator = *allocator;
        surfaces->references = 1;
        pthread_mutex_init(&surfaces->lock, NULL);
    }
    return surfaces;
}

static void release(struct gstreamer_surfaces *surfaces, struct surface_entry *entry)
{
    if (entry->frame.surface) {
        surfaces->allocator.surfaces->release(surfaces->allocator.context,
                                              TAKE(entry->frame.surface));
    }
}

// With the lock, which it gives back.
static void drop_reference(struct gstreamer_surfaces *surfaces)
{
    bool last = --surfaces->references == 0;

    pthread_mutex_unlock(&surfaces->lock);
    if (last) {
        pthread_mutex_destroy(&surfaces->lock);
        free(surfaces);
    }
}

void gstreamer_surfaces_end(struct gstreamer_surfaces *surfaces)
{
    if (!surfaces)
        return;
    pthread_mutex_lock(&surfaces->lock);
    surfaces->ended = true;
    for (unsigned i = 0; i < SURFACES_MAX; i++) {
        if (!surfaces->entries[i].buffer)
            release(surfaces, &surfaces->entries[i]);
    }
    drop_reference(surfaces);
}

// Any thread. The surface is let go of before its buffer is, with which it may end.
static void give_back(struct frame *frame)
{
    struct surface_entry *entry = (struct surface_entry *)frame;
    struct gstreamer_surfaces *surfaces = entry->of;
    GstBuffer *buffer;

    pthread_mutex_lock(&surfaces->lock);
    buffer = TAKE(entry->buffer);
    if (surfaces->ended)
        release(surfaces, entry);
    drop_reference(surfaces);
    gst_buffer_unref(buffer);
}

// Any thread, while the surface is still there.
static void on_memory_end(gpointer context, GstMiniObject *memory)
{
    struct surface_entry *entry = context;
    struct gstreamer_surfaces *surfaces = entry->of;

    (void)memory;
    pthread_mutex_lock(&surfaces->lock);
    release(surfaces, entry);
    entry->used = false;
    drop_reference(surfaces);
}

// The handle that a buffer has in place of pixels. NULL: it has something else.
static struct nvbuf_surface *handle_in(GstBuffer *buffer)
{
    struct nvbuf_surface *handle = NULL;
    GstMapInfo map;

    if (gst_buffer_map(buffer, &map, GST_MAP_READ)) {
        // JetPack 7's struct goes on behind what is known of it here.
        bool is_one = map.size >= sizeof *handle && map.size < 2 * sizeof *handle;

        handle = is_one ? (struct nvbuf_surface *)map.data : NULL;
        gst_buffer_unmap(buffer, &map);
    }
    return handle && handle->buffers ? handle : NULL;
}

// That of the surface; `handle` NULL: one that is free. NULL: there is none.
static struct surface_entry *find(struct gstreamer_surfaces *surfaces,
                                  const struct nvbuf_surface *handle)
{
    for (unsigned i = 0; i < SURFACES_MAX; i++) {
        struct surface_entry *entry = &surfaces->entries[i];
        const struct frame_surface *surface = entry->frame.surface;

        if (handle ? surface && surface->handle == handle &&
                         entry->descriptor == handle->buffers->descriptor
                   : !entry->used) {
            return entry;
        }
    }
    return NULL;
}

static int adopt(struct gstreamer_surfaces *surfaces, GstBuffer *buffer,
                 struct nvbuf_surface *handle, const struct frame_layout *layout,
                 struct error *error, struct surface_entry **ret_entry)
{
    struct surface_entry *entry = find(surfaces, NULL);
    int r;

    if (!entry)
        return error_set(error, -ENOBUFS, "more than %d surfaces are delivered", SURFACES_MAX);
    *entry = (struct surface_entry){.of = surfaces, .descriptor = handle->buffers->descriptor};
    entry->frame = (struct frame){.allocator = &surfaces->allocator,
                                  .give_back = give_back,
                                  .layout = *layout,
                                  .index = (unsigned)(entry - surfaces->entries)};
    r = surfaces->allocator.surfaces->adopt(surfaces->allocator.context, handle,
                                            &entry->frame.layout, error, &entry->frame.surface);
    if (r == 0) {
        entry->used = true;
        surfaces->references++;
        gst_mini_object_weak_ref(GST_MINI_OBJECT_CAST(gst_buffer_peek_memory(buffer, 0)),
                                 on_memory_end, entry);
        *ret_entry = entry;
    }
    return r;
}

// With the lock.
static int take(struct gstreamer_surfaces *surfaces, GstBuffer *buffer,
                const struct frame_layout *layout, struct error *error,
                struct surface_entry **ret_entry)
{
    struct nvbuf_surface *handle = handle_in(buffer);
    struct surface_entry *entry = handle ? find(surfaces, handle) : NULL;
    int r = handle ? 0 : error_set(error, -EPROTO, "what is delivered is no surface");

    if (r == 0 && !entry)
        r = adopt(surfaces, buffer, handle, layout, error, &entry);
    if (r == 0 && entry->buffer)
        r = error_set(error, -ENOBUFS, "a surface is delivered twice");
    if (r == 0) {
        entry->buffer = gst_buffer_ref(buffer);
        surfaces->references++;
        *ret_entry = entry;
    }
    return r;
}

int gstreamer_surfaces_take(struct gstreamer_surfaces *surfaces, GstBuffer *buffer,
                            const struct frame_layout *layout, struct error *error,
                            struct frame **ret_frame)
{
    struct surface_entry *entry;

    pthread_mutex_lock(&surfaces->lock);
    int r = take(surfaces, buffer, layout, error, &entry);
    pthread_mutex_unlock(&surfaces->lock);
    if (r == 0) {
        entry->frame.side = FRAME_SIDE_CPU;
        atomic_store_explicit(&entry->frame.references, 1, memory_order_relaxed);
        *ret_frame = &entry->frame;
    }
    return r;
}
