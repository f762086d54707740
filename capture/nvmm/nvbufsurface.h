// NVMM, the memory of a Jetson's multimedia engines: libnvbufsurface, opened when it is there.
//
// GStreamer's elements hand on the address of a struct nvbuf_surface as "memory:NVMM". The structs
// are declared here as NVIDIA's header nvbufsurface.h lays them out in JetPack 5 and 6, so that
// edged builds without it; nvbufsurface_check() compares a surface of this machine with them before
// anything relies on it. The functions return 0, or -1 and no reason.
//
// libEGL is not called: NvBufSurfaceMapEglImage() makes its images on a display of its own, which
// it finds only where neither DISPLAY nor WAYLAND_DISPLAY names another.
#pragma once

#include "config/base.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NVBUF_PLANES_MAX 4

enum nvbuf_layout { NVBUF_LAYOUT_PITCH = 0, NVBUF_LAYOUT_BLOCK_LINEAR = 1 };
enum nvbuf_memory { NVBUF_MEMORY_SURFACE_ARRAY = 4 };
enum nvbuf_colour {
    NVBUF_COLOUR_NV12 = 6,
    NVBUF_COLOUR_NV12_FULL = 7,
    NVBUF_COLOUR_NV12_709 = 33,
    NVBUF_COLOUR_NV12_709_FULL = 34,
};
enum nvbuf_tag { NVBUF_TAG_VIDEO_CONVERT = 0xf01 };
enum nvbuf_map { NVBUF_MAP_READ_WRITE = 2 };

struct nvbuf_planes {
    uint32_t count;
    uint32_t width[NVBUF_PLANES_MAX], height[NVBUF_PLANES_MAX]; // pixels; the height aligned
    uint32_t pitch[NVBUF_PLANES_MAX];                           // bytes from row to row
    uint32_t offset[NVBUF_PLANES_MAX];                          // bytes from the buffer's start
    uint32_t size[NVBUF_PLANES_MAX];                            // bytes
    uint32_t pixel_bytes[NVBUF_PLANES_MAX];
    void *reserved[4 * NVBUF_PLANES_MAX];
};

struct nvbuf_mapped {
    void *addresses[NVBUF_PLANES_MAX]; // for the CPU, while a plane is mapped
    void *egl_image;                   // while there is one
    void *reserved[4];
};

struct nvbuf_buffer {
    uint32_t width, height, pitch;
    uint32_t colour, layout; // enum nvbuf_colour, nvbuf_layout
    uint64_t descriptor;     // of the dmabuf
    uint32_t size;           // bytes
    void *data;
    struct nvbuf_planes planes;
    struct nvbuf_mapped mapped;
    void *extension;
    void *reserved[3];
};

struct nvbuf_surface {
    uint32_t gpu;
    uint32_t capacity, filled; // buffers
    bool contiguous;
    uint32_t memory; // enum nvbuf_memory
    struct nvbuf_buffer *buffers;
    void *reserved[4];
};

struct nvbuf_request {
    uint32_t gpu, width, height, size;
    bool contiguous;
    uint32_t colour, layout, memory;
    uint32_t scan, subsampling; // 0: progressive, as the colour has it
    uint32_t tag;               // enum nvbuf_tag
    void *reserved[4];
    // Behind the end of the struct but in JetPack 7, whose own parameters of the first kind are
    // longer by 40 bytes.
    uint32_t tag_of_jetpack7;
    uint32_t room[43];
};

#define NVBUFSURFACE_FUNCTIONS(X)                                                                  \
    X(allocate, NvBufSurfaceAllocate,                                                              \
      (struct nvbuf_surface * *surface, uint32_t count, struct nvbuf_request * request))           \
    X(destroy, NvBufSurfaceDestroy, (struct nvbuf_surface * surface))                              \
    X(map, NvBufSurfaceMap, (struct nvbuf_surface * surface, int index, int plane, int access))    \
    X(unmap, NvBufSurfaceUnMap, (struct nvbuf_surface * surface, int index, int plane))            \
    X(sync_for_cpu, NvBufSurfaceSyncForCpu,                                                        \
      (struct nvbuf_surface * surface, int index, int plane))                                      \
    X(sync_for_device, NvBufSurfaceSyncForDevice,                                                  \
      (struct nvbuf_surface * surface, int index, int plane))                                      \
    X(map_egl_image, NvBufSurfaceMapEglImage, (struct nvbuf_surface * surface, int index))         \
    X(unmap_egl_image, NvBufSurfaceUnMapEglImage, (struct nvbuf_surface * surface, int index))

// NOLINTNEXTLINE(bugprone-macro-parentheses): a declarator and its list of parameters
#define NVBUFSURFACE_MEMBER(name, symbol, parameters) int(*name) parameters;
struct nvbufsurface {
    void *library; // owned, of dlopen()
    NVBUFSURFACE_FUNCTIONS(NVBUFSURFACE_MEMBER)
};
#undef NVBUFSURFACE_MEMBER

// Opens the library and finds its functions. -ENODEV: there is none, or it does not load; -ENOSYS:
// it lacks a function, named in `error`. End it with nvbufsurface_finish().
int nvbufsurface_init(struct nvbufsurface *library, struct error *error);
// Takes zeroed and half-built ones.
void nvbufsurface_finish(struct nvbufsurface *library);

// Makes one pitch-linear NV12 picture of `width` by `height` pixels, which the video converter, the
// encoder, the GPU and the CPU can use, and checks it. The caller destroys it. -ENOMEM, -EPROTO.
int nvbufsurface_new(const struct nvbufsurface *library, uint32_t width, uint32_t height,
                     struct error *error, struct nvbuf_surface **ret_surface);
// Whether `surface` holds one pitch-linear NV12 picture of that size, laid out as the structs above
// say. -EPROTO with what differs in `error`.
int nvbufsurface_check(const struct nvbuf_surface *surface, uint32_t width, uint32_t height,
                       struct error *error);

// To be called before a process has threads: without DISPLAY and WAYLAND_DISPLAY, which ssh -X and
// a desktop set, images for the GPU can be made.
void nvbufsurface_hide_displays(void);
