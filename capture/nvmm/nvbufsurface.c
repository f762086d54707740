#include "capture/nvmm/nvbufsurface.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "libnvbufsurface.so.1.0.0"

// As gcc lays out NVIDIA's header of JetPack 5, and as it is published for JetPack 6.
_Static_assert(sizeof(struct nvbuf_surface) == 64, "NvBufSurface");
_Static_assert(sizeof(struct nvbuf_buffer) == 384, "NvBufSurfaceParams");
_Static_assert(offsetof(struct nvbuf_buffer, descriptor) == 24, "bufferDesc");
_Static_assert(offsetof(struct nvbuf_buffer, data) == 40, "dataPtr");
_Static_assert(offsetof(struct nvbuf_buffer, planes) == 48, "planeParams");
_Static_assert(offsetof(struct nvbuf_buffer, mapped) == 280, "mappedAddr");
_Static_assert(offsetof(struct nvbuf_buffer, extension) == 352, "paramex");
_Static_assert(sizeof(struct nvbuf_planes) == 232, "NvBufSurfacePlaneParams");
_Static_assert(sizeof(struct nvbuf_mapped) == 72, "NvBufSurfaceMappedAddr");
_Static_assert(offsetof(struct nvbuf_request, scan) == 32, "NvBufSurfaceCreateParams");
_Static_assert(offsetof(struct nvbuf_request, tag) == 40, "memtag");
_Static_assert(offsetof(struct nvbuf_request, tag_of_jetpack7) == 80, "NvBufSurfaceAllocateParams");
_Static_assert(sizeof(struct nvbuf_request) == 256, "with room for longer ones");

static int find(const struct nvbufsurface *library, const char *symbol, void *ret_function,
                struct error *error)
{
    *(void **)ret_function = dlsym(library->library, symbol);
    return *(void **)ret_function ? 0 : error_set(error, -ENOSYS, LIBRARY " has no %s", symbol);
}

int nvbufsurface_init(struct nvbufsurface *library, struct error *error)
{
    int r = 0;

    *library = (struct nvbufsurface){.library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL)};
    if (!library->library)
        return error_set(error, -ENODEV, "%s", dlerror());
#define FIND(name, symbol, parameters)                                                             \
    if (r == 0) {                                                                                  \
        r = find(library, #symbol, &library->name, error);                                         \
    }
    NVBUFSURFACE_FUNCTIONS(FIND)
#undef FIND
    if (r < 0)
        nvbufsurface_finish(library);
    return r;
}

void nvbufsurface_finish(struct nvbufsurface *library)
{
    if (library->library)
        dlclose(library->library);
    *library = (struct nvbufsurface){0};
}

int nvbufsurface_new(const struct nvbufsurface *library, uint32_t width, uint32_t height,
                     struct error *error, struct nvbuf_surface **ret_surface)
{
    struct nvbuf_request request = {.width = width,
                                    .height = height,
                                    .colour = NVBUF_COLOUR_NV12,
                                    .layout = NVBUF_LAYOUT_PITCH,
                                    .memory = NVBUF_MEMORY_SURFACE_ARRAY,
                                    .tag = NVBUF_TAG_VIDEO_CONVERT,
                                    .tag_of_jetpack7 = NVBUF_TAG_VIDEO_CONVERT};
    struct nvbuf_surface *surface = NULL;

    if (library->allocate(&surface, 1, &request) != 0 || !surface) {
        return error_set(error, -ENOMEM, "NvBufSurfaceAllocate: no surface of %ux%u", width,
                         height);
    }
    int r = nvbufsurface_check(surface, width, height, error);
    if (r < 0) {
        library->destroy(surface);
        return r;
    }
    surface->filled = 1;
    *ret_surface = surface;
    return 0;
}

static bool is_nv12(uint32_t colour)
{
    return colour == NVBUF_COLOUR_NV12 || colour == NVBUF_COLOUR_NV12_FULL ||
           colour == NVBUF_COLOUR_NV12_709 || colour == NVBUF_COLOUR_NV12_709_FULL;
}

// Each plane has its rows at a pitch of its own, inside the buffer and behind the plane before.
static const char *object_to_planes(const struct nvbuf_buffer *buffer)
{
    const struct nvbuf_planes *planes = &buffer->planes;
    uint64_t end = 0;

    if (planes->count != 2)
        return "its number of planes";
    for (uint32_t i = 0; i < planes->count; i++) {
        uint32_t rows = i ? (buffer->height + 1) / 2 : buffer->height;
        uint32_t width_bytes = i ? (buffer->width + 1) / 2 * 2 : buffer->width;

        if (planes->pitch[i] < width_bytes)
            return "the pitch of a plane";
        if (planes->offset[i] < end)
            return "the offset of a plane";
        end = planes->offset[i] + (uint64_t)planes->pitch[i] * rows;
    }
    return end > buffer->size ? "its size" : NULL;
}

static const char *object_to(const struct nvbuf_surface *surface, uint32_t width, uint32_t height)
{
    const struct nvbuf_buffer *buffer = surface->buffers;

    if (surface->capacity < 1 || !buffer)
        return "its number of buffers";
    if (surface->memory != NVBUF_MEMORY_SURFACE_ARRAY)
        return "the kind of its memory";
    if (buffer->width != width || buffer->height != height)
        return "its width and height";
    if (!is_nv12(buffer->colour))
        return "its format";
    if (buffer->layout != NVBUF_LAYOUT_PITCH)
        return "in blocks";
    return object_to_planes(buffer);
}

int nvbufsurface_check(const struct nvbuf_surface *surface, uint32_t width, uint32_t height,
                       struct error *error)
{
    const char *what = object_to(surface, width, height);

    return what ? error_set(error, -EPROTO, "a surface of %ux%u is not laid out as expected: %s",
                            width, height, what)
                : 0;
}

void nvbufsurface_hide_displays(void)
{
    unsetenv("DISPLAY");
    unsetenv("WAYLAND_DISPLAY");
}
