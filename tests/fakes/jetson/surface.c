// Surfaces in buffers.
#include "tests/fakes/jetson/jetson.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

// NULL members where there is no library.
static const struct nvbufsurface *library(void)
{
    static struct nvbufsurface found;
    static gsize done;

    if (g_once_init_enter(&done)) {
        void *handle = dlopen("libnvbufsurface.so.1.0.0", RTLD_NOW | RTLD_LOCAL);

#define FIND(name, symbol, parameters)                                                             \
    *(void **)&found.name = handle ? dlsym(handle, #symbol) : NULL;
        NVBUFSURFACE_FUNCTIONS(FIND)
#undef FIND
        g_once_init_leave(&done, 1);
    }
    return &found;
}

struct nvbuf_surface *jetson_surface_of(GstBuffer *buffer, uint32_t width, uint32_t height)
{
    struct nvbuf_surface *surface = NULL;
    const struct nvbuf_buffer *picture = NULL;
    GstMapInfo map;

    if (gst_buffer_map(buffer, &map, GST_MAP_READ)) {
        surface = map.size == sizeof *surface ? (struct nvbuf_surface *)map.data : NULL;
        gst_buffer_unmap(buffer, &map);
    }
    picture = surface ? surface->buffers : NULL;
    if (picture && surface->filled == 1 && surface->memory == NVBUF_MEMORY_SURFACE_ARRAY &&
        picture->colour == NVBUF_COLOUR_NV12 && picture->width == width &&
        picture->height == height) {
        return surface;
    }
    fprintf(stderr, "fake_jetson: a buffer is no NV12 surface of %ux%u\n", width, height);
    return NULL;
}

static void copy_plane(uint8_t *to, size_t to_stride, const uint8_t *from, size_t from_stride,
                       size_t width_bytes, uint32_t rows)
{
    for (uint32_t y = 0; y < rows; y++)
        memcpy(to + y * to_stride, from + y * from_stride, width_bytes);
}

// The device's bytes. NULL, as is then told: there are none.
static uint8_t *map_device(const struct nvbuf_surface *surface)
{
    void *bytes = mmap(NULL, surface->buffers->size, PROT_READ | PROT_WRITE, MAP_SHARED,
                       (int)surface->buffers->descriptor, 0);

    if (bytes == MAP_FAILED) {
        fprintf(stderr, "fake_jetson: a surface has no descriptor\n");
        return NULL;
    }
    return bytes;
}

static gboolean move_picture(const struct nvbuf_surface *surface, GstVideoFrame *frame,
                             gboolean write)
{
    const struct nvbuf_planes *planes = &surface->buffers->planes;
    uint8_t *bytes = map_device(surface);

    for (unsigned i = 0; i < 2 && bytes; i++) {
        uint8_t *plane = GST_VIDEO_FRAME_PLANE_DATA(frame, i), *device = bytes + planes->offset[i];
        size_t stride = (size_t)GST_VIDEO_FRAME_PLANE_STRIDE(frame, i);

        copy_plane(write ? device : plane, write ? planes->pitch[i] : stride,
                   write ? plane : device, write ? stride : planes->pitch[i],
                   (size_t)GST_VIDEO_FRAME_COMP_WIDTH(frame, i) * (i ? 2 : 1),
                   (uint32_t)GST_VIDEO_FRAME_COMP_HEIGHT(frame, i));
    }
    if (bytes)
        munmap(bytes, surface->buffers->size);
    return bytes != NULL;
}

gboolean jetson_read(const struct nvbuf_surface *surface, GstVideoFrame *to)
{
    return move_picture(surface, to, FALSE);
}

gboolean jetson_write(const struct nvbuf_surface *surface, GstVideoFrame *from)
{
    return move_picture(surface, from, TRUE);
}

// Where a place of the turned picture, of w by h, comes from, by nvvidconv's flip-method.
static void turn_back(int method, uint32_t w, uint32_t h, uint32_t *x, uint32_t *y)
{
    const uint32_t places[][2] = {{*x, *y},         {h - 1 - *y, *x}, {w - 1 - *x, h - 1 - *y},
                                  {*y, w - 1 - *x}, {w - 1 - *x, *y}, {h - 1 - *y, w - 1 - *x},
                                  {*x, h - 1 - *y}, {*y, *x}};
    uint32_t from_x = places[method][0], from_y = places[method][1];

    *x = from_x;
    *y = from_y;
}

static void turn_plane(const struct nvbuf_planes *from, const uint8_t *from_bytes,
                       const struct nvbuf_buffer *to, uint8_t *to_bytes, unsigned i, int method)
{
    uint32_t width = (to->width + i) / (1 + i), height = (to->height + i) / (1 + i);
    size_t sample = 1 + i;

    to_bytes += to->planes.offset[i];
    from_bytes += from->offset[i];
    for (uint32_t row = 0; row < height; row++) {
        for (uint32_t column = 0; column < width; column++) {
            uint32_t x = column, y = row;

            turn_back(method, width, height, &x, &y);
            memcpy(to_bytes + (size_t)row * to->planes.pitch[i] + column * sample,
                   from_bytes + (size_t)y * from->pitch[i] + x * sample, sample);
        }
    }
}

gboolean jetson_turn(const struct nvbuf_surface *from, const struct nvbuf_surface *to, int method)
{
    uint8_t *bytes[2] = {map_device(from), map_device(to)};
    gboolean done = bytes[0] && bytes[1];

    for (unsigned i = 0; i < 2 && done; i++)
        turn_plane(&from->buffers->planes, bytes[0], to->buffers, bytes[1], i, method);
    for (int i = 0; i < 2; i++) {
        if (bytes[i])
            munmap(bytes[i], (i ? to : from)->buffers->size);
    }
    return done;
}

gboolean jetson_write_by_cpu(struct nvbuf_surface *surface, GstVideoFrame *from)
{
    const struct nvbuf_buffer *picture = surface->buffers;

    for (int i = 0; i < 2; i++) {
        if (library()->map(surface, 0, i, NVBUF_MAP_READ_WRITE) != 0)
            return FALSE;
        copy_plane(picture->mapped.addresses[i], picture->planes.pitch[i],
                   GST_VIDEO_FRAME_PLANE_DATA(from, i),
                   (size_t)GST_VIDEO_FRAME_PLANE_STRIDE(from, i),
                   (size_t)GST_VIDEO_FRAME_COMP_WIDTH(from, i) * (i ? 2 : 1),
                   (uint32_t)GST_VIDEO_FRAME_COMP_HEIGHT(from, i));
        library()->sync_for_device(surface, 0, i);
        library()->unmap(surface, 0, i);
    }
    return TRUE;
}

static void destroy(void *surface)
{
    library()->destroy(surface);
}

GstMemory *jetson_memory_new(uint32_t width, uint32_t height, gboolean blocks)
{
    struct nvbuf_request request = {.width = width,
                                    .height = height,
                                    .colour = NVBUF_COLOUR_NV12,
                                    .memory = NVBUF_MEMORY_SURFACE_ARRAY,
                                    .tag = FAKE_ELEMENT_TAG};
    struct nvbuf_surface *surface = NULL;

    if (!library()->allocate || library()->allocate(&surface, 1, &request) != 0)
        return NULL;
    surface->filled = 1;
    surface->buffers->layout = blocks ? NVBUF_LAYOUT_BLOCK_LINEAR : NVBUF_LAYOUT_PITCH;
    return gst_memory_new_wrapped(0, surface, sizeof *surface, 0, sizeof *surface, surface,
                                  destroy);
}
