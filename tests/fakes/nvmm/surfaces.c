// The functions of libnvbufsurface that edged calls (fake_nvmm.h has their rules).
#include "tests/fakes/nvmm/calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define OLD_BYTE 0xee // what a mapped plane has before it is synced

struct surface {
    struct nvbuf_surface public; // first: its address is the surface's
    struct nvbuf_buffer buffer;
    struct surface *next;
    uint8_t *device; // the buffer, as the parts of the chip see it
    size_t size;
    struct fake_image image;
    uint64_t extension[8];
};

static struct surface *surfaces; // all of them

static struct surface *find(const struct nvbuf_surface *public)
{
    struct surface *surface = surfaces;

    while (surface && &surface->public != public)
        surface = surface->next;
    if (!surface)
        fprintf(stderr, "fake_nvmm: no surface is there\n");
    return surface;
}

static uint32_t up(uint32_t value, uint32_t align)
{
    return (value + align - 1) / align * align;
}

static void lay_out(struct nvbuf_buffer *buffer)
{
    struct nvbuf_planes *planes = &buffer->planes;

    planes->count = 2;
    for (uint32_t i = 0; i < planes->count; i++) {
        planes->width[i] = i ? (buffer->width + 1) / 2 : buffer->width;
        planes->height[i] = up(i ? (buffer->height + 1) / 2 : buffer->height, //
                               fake.jetpack5 ? 16 : 8);
        planes->pixel_bytes[i] = i ? 2 : 1;
        planes->pitch[i] = up(planes->width[i] * planes->pixel_bytes[i], 256);
        planes->offset[i] = buffer->size;
        planes->size[i] = up(planes->pitch[i] * planes->height[i], //
                             fake.jetpack5 ? 64 << 10 : 4 << 10);
        buffer->size += planes->size[i];
    }
    buffer->pitch = planes->pitch[0];
}

static bool map_device(struct surface *surface)
{
    int fd = memfd_create("surface", MFD_CLOEXEC);
    void *device = MAP_FAILED;

    surface->buffer.descriptor = (uint64_t)fd;
    surface->size = surface->buffer.size;
    if (fd >= 0 && ftruncate(fd, (off_t)surface->size) == 0)
        device = mmap(NULL, surface->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    surface->device = device == MAP_FAILED ? NULL : device;
    return surface->device;
}

// Another header's idea of where things are: all that follows `width` lies a word further on.
static void shift(struct nvbuf_buffer *buffer)
{
    memmove((uint8_t *)buffer + 8, (uint8_t *)buffer + 4, sizeof *buffer - 8);
}

int NvBufSurfaceAllocate(struct nvbuf_surface **ret_surface, uint32_t count,
                         struct nvbuf_request *request)
{
    bool by_element = request->tag == FAKE_ELEMENT_TAG;
    bool good = call_begin(by_element ? CALL_by_elements : CALL_NvBufSurfaceAllocate);
    struct surface *surface = good && count == 1 ? calloc(1, sizeof *surface) : NULL;

    if (!surface || request->colour != NVBUF_COLOUR_NV12 || request->layout != NVBUF_LAYOUT_PITCH ||
        request->memory != NVBUF_MEMORY_SURFACE_ARRAY ||
        (!by_element &&
         (fake.jetpack7 ? request->tag_of_jetpack7 : request->tag) != NVBUF_TAG_VIDEO_CONVERT) ||
        request->width == 0 || request->height == 0) {
        free(surface);
        return call_end(false);
    }
    surface->public = (struct nvbuf_surface){
        .capacity = 1, .memory = request->memory, .buffers = &surface->buffer};
    surface->buffer = (struct nvbuf_buffer){.width = request->width,
                                            .height = request->height,
                                            .colour = request->colour,
                                            .extension = fake.jetpack5 ? NULL : surface->extension};
    lay_out(&surface->buffer);
    if (!map_device(surface)) {
        free(surface);
        return call_end(false);
    }
    surface->next = surfaces;
    surfaces = surface;
    if (fake.other_layout)
        shift(&surface->buffer);
    *ret_surface = &surface->public;
    return call_end(true);
}

static unsigned tell_left(const struct surface *surface)
{
    unsigned left = surface->image.registered + (surface->image.magic != 0);

    for (int i = 0; i < NVBUF_PLANES_MAX && !fake.other_layout; i++)
        left += surface->buffer.mapped.addresses[i] != NULL;
    if (left)
        fprintf(stderr, "fake_nvmm: a surface has %u planes, images or registrations left\n", left);
    return left;
}

// A surface goes, whatever the call was told to say.
int NvBufSurfaceDestroy(struct nvbuf_surface *public)
{
    bool good = call_begin(CALL_NvBufSurfaceDestroy);
    struct surface *surface = find(public), **at = &surfaces;

    if (!surface)
        return call_end(false);
    tell_left(surface);
    while (*at != surface)
        at = &(*at)->next;
    *at = surface->next;
    munmap(surface->device, surface->size);
    if (!fake.other_layout)
        close((int)surface->buffer.descriptor);
    free(surface);
    calls_report(); // a process that takes too long for its end is killed
    return call_end(good);
}

static void *copy_of(size_t size)
{
    void *copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return copy == MAP_FAILED ? NULL : memset(copy, OLD_BYTE, size);
}

// The surface that index and plane are of, if it has such; plane -1: all of them.
static struct surface *find_planes(const struct nvbuf_surface *public, int index, int plane,
                                   uint32_t *ret_first, uint32_t *ret_end)
{
    struct surface *surface = find(public);

    if (!surface || index != 0 || plane < -1 || plane >= (int)surface->buffer.planes.count)
        return NULL;
    *ret_first = plane < 0 ? 0 : (uint32_t)plane;
    *ret_end = plane < 0 ? surface->buffer.planes.count : (uint32_t)plane + 1;
    return surface;
}

int NvBufSurfaceMap(struct nvbuf_surface *public, int index, int plane, int access)
{
    uint32_t first, last;
    bool good = call_begin(CALL_NvBufSurfaceMap);
    struct surface *surface = find_planes(public, index, plane, &first, &last);

    good = good && surface && access >= 0 && access <= NVBUF_MAP_READ_WRITE;
    for (uint32_t i = first; good && i < last; i++) {
        void **address = &surface->buffer.mapped.addresses[i];

        good = !*address;
        *address = *address ? *address : copy_of(surface->buffer.planes.size[i]);
        good = good && *address;
    }
    return call_end(good);
}

int NvBufSurfaceUnMap(struct nvbuf_surface *public, int index, int plane)
{
    uint32_t first, last;
    bool good = call_begin(CALL_NvBufSurfaceUnMap);
    struct surface *surface = find_planes(public, index, plane, &first, &last);

    for (uint32_t i = first; surface && i < last; i++) {
        void **address = &surface->buffer.mapped.addresses[i];

        good = good && *address;
        if (*address) {
            munmap(*address, surface->buffer.planes.size[i]);
            *address = NULL;
        }
    }
    return call_end(good && surface);
}

static bool sync_planes(const struct nvbuf_surface *public, int index, int plane, bool to_cpu)
{
    uint32_t first, last;
    struct surface *surface = find_planes(public, index, plane, &first, &last);

    for (uint32_t i = first; surface && i < last; i++) {
        const struct nvbuf_planes *planes = &surface->buffer.planes;
        uint8_t *cpu = surface->buffer.mapped.addresses[i];
        uint8_t *device = surface->device + planes->offset[i];

        if (!cpu)
            return false;
        if (!fake.no_sync[to_cpu])
            memcpy(to_cpu ? cpu : device, to_cpu ? device : cpu, planes->size[i]);
    }
    return surface;
}

int NvBufSurfaceSyncForCpu(struct nvbuf_surface *public, int index, int plane)
{
    bool good = call_begin(CALL_NvBufSurfaceSyncForCpu);

    return call_end(good && sync_planes(public, index, plane, true));
}

int NvBufSurfaceSyncForDevice(struct nvbuf_surface *public, int index, int plane)
{
    bool good = call_begin(CALL_NvBufSurfaceSyncForDevice);

    return call_end(good &&
                    ((fake.jetpack5 && plane == -1) || sync_planes(public, index, plane, false)));
}

static void make_image(struct surface *surface)
{
    const struct nvbuf_buffer *buffer = &surface->buffer;
    struct fake_image *image = &surface->image;

    *image = (struct fake_image){.magic = FAKE_IMAGE_MAGIC,
                                 .fd = (int)buffer->descriptor,
                                 .width = buffer->width,
                                 .height = buffer->height,
                                 .plane_count = fake.one_plane ? 1 : buffer->planes.count,
                                 .blocks = fake.blocks};
    for (uint32_t i = 0; i < buffer->planes.count; i++) {
        image->offset[i] = buffer->planes.offset[i];
        image->pitch[i] = buffer->planes.pitch[i];
        image->size[i] = buffer->planes.size[i];
    }
}

int NvBufSurfaceMapEglImage(struct nvbuf_surface *public, int index)
{
    bool good = call_begin(CALL_NvBufSurfaceMapEglImage);
    struct surface *surface = find(public);

    good = good && surface && index == 0 && !surface->image.magic && !getenv("DISPLAY") &&
           !getenv("WAYLAND_DISPLAY");
    if (good) {
        make_image(surface);
        surface->buffer.mapped.egl_image = &surface->image;
    }
    return call_end(good);
}

int NvBufSurfaceUnMapEglImage(struct nvbuf_surface *public, int index)
{
    bool good = call_begin(CALL_NvBufSurfaceUnMapEglImage);
    struct surface *surface = find(public);

    if (!surface || index != 0 || !surface->image.magic)
        return call_end(false);
    if (surface->image.registered)
        fprintf(stderr, "fake_nvmm: an image ends that CUDA still has\n");
    surface->image = (struct fake_image){0};
    surface->buffer.mapped.egl_image = NULL;
    return call_end(good);
}

unsigned fake_nvmm_leaks(void)
{
    unsigned leaks = 0;

    pthread_mutex_lock(&fake.lock);
    for (const struct surface *surface = surfaces; surface; surface = surface->next) {
        fprintf(stderr, "fake_nvmm: leaked: a surface of %zu bytes\n", surface->size);
        leaks += 1 + tell_left(surface);
    }
    pthread_mutex_unlock(&fake.lock);
    return leaks;
}
