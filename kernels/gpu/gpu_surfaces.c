#include "kernels/gpu/gpu_surfaces.h"

#include "capture/nvmm/nvbufsurface.h"
#include "kernels/gpu/gpu_probe.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#define PLANES 2 // of NV12
// Each plane of the test's surface holds GPU_PROBE_WORDS with its rows' padding, as no pitch is
// below its width.
#define PROBE_WIDTH 256
#define PROBE_HEIGHT 128

struct gpu_surfaces {
    struct gpu *gpu; // not owned
    struct nvbufsurface library;
    struct frame_allocator allocator;

    pthread_mutex_t lock; // guards both below: surfaces are allocated in any thread
    bool failed;
    struct error failure;
};

struct surface {
    struct frame_surface frame; // first; its handle is the surface
    bool adopted;               // which is somebody else's
    struct CUgraphicsResource_st *image;
};

static struct nvbuf_surface *handle_of(const struct frame_surface *surface)
{
    return surface->handle;
}

static struct nvbuf_buffer *buffer_of(const struct frame_surface *surface)
{
    return handle_of(surface)->buffers;
}

static int check(const struct gpu_surfaces *surfaces, int result, const char *doing,
                 struct error *error)
{
    return cuda_driver_check(gpu_driver(surfaces->gpu), result, doing, error);
}

static int failed(const char *call, struct error *error)
{
    return error_set(error, -EIO, "%s failed", call);
}

// Names each plane, because "all planes" does nothing on some releases.
static int map_planes(const struct gpu_surfaces *surfaces, struct surface *surface,
                      struct error *error)
{
    struct nvbuf_buffer *buffer = buffer_of(&surface->frame);

    for (int i = 0; i < PLANES; i++) {
        if (surfaces->library.map(surface->frame.handle, 0, i, NVBUF_MAP_READ_WRITE) != 0 ||
            !buffer->mapped.addresses[i]) {
            return failed("NvBufSurfaceMap", error);
        }
        surface->frame.cpu_bases[i] =
            (uintptr_t)buffer->mapped.addresses[i] - buffer->planes.offset[i];
    }
    return 0;
}

static int take_planes(struct surface *surface, const struct cuda_egl_frame *image,
                       struct error *error)
{
    const struct nvbuf_planes *planes = &buffer_of(&surface->frame)->planes;

    if (image->type != CUDA_EGL_PITCH)
        return error_set(error, -EPROTO, "the GPU sees a surface in blocks");
    if (image->plane_count < PLANES) {
        return error_set(error, -EPROTO, "the GPU sees %u of the planes of a surface",
                         image->plane_count);
    }
    for (unsigned i = 0; i < PLANES; i++) {
        if (!image->planes[i] || image->pitch != planes->pitch[i])
            return error_set(error, -EPROTO, "the GPU sees a plane with another pitch");
        surface->frame.gpu_bases[i] = (uintptr_t)image->planes[i] - planes->offset[i];
    }
    return 0;
}

static int register_image(const struct gpu_surfaces *surfaces, struct surface *surface,
                          struct error *error)
{
    const struct cuda_driver *driver = gpu_driver(surfaces->gpu);
    struct nvbuf_buffer *buffer = buffer_of(&surface->frame);
    struct cuda_egl_frame image = {0};

    if (!driver->image_register || !driver->image_frame || !driver->image_unregister)
        return error_set(error, -ENOSYS, "the driver of the GPU takes no images");
    if (surfaces->library.map_egl_image(surface->frame.handle, 0) != 0 ||
        !buffer->mapped.egl_image) {
        return failed("NvBufSurfaceMapEglImage", error);
    }
    int r = check(surfaces, driver->image_register(&surface->image, buffer->mapped.egl_image, 0),
                  "registering a surface", error);
    if (r == 0) {
        r = check(surfaces, driver->image_frame(&image, surface->image, 0, 0),
                  "asking for a surface's planes", error);
    }
    return r < 0 ? r : take_planes(surface, &image, error);
}

// Takes half-built ones. With a lost GPU all is left as it is: the process is about to end.
static void surface_free(const struct gpu_surfaces *surfaces, struct surface *surface)
{
    const struct nvbufsurface *library = &surfaces->library;

    if (!gpu_is_lost(surfaces->gpu) && surface->frame.handle) {
        struct nvbuf_mapped *mapped = &buffer_of(&surface->frame)->mapped;

        if (surface->image) {
            // A call of the driver may return the error of work queued before it, once.
            if (gpu_enter(surfaces->gpu, NULL) < 0)
                gpu_enter(surfaces->gpu, NULL);
            gpu_driver(surfaces->gpu)->image_unregister(surface->image);
        }
        if (mapped->egl_image)
            library->unmap_egl_image(surface->frame.handle, 0);
        for (int i = 0; i < PLANES; i++) {
            if (mapped->addresses[i])
                library->unmap(surface->frame.handle, 0, i);
        }
        if (!surface->adopted)
            library->destroy(surface->frame.handle);
    }
    free(surface);
}

// Of `theirs`, or of a surface of our own where that is NULL.
static int surface_new(const struct gpu_surfaces *surfaces, uint32_t width, uint32_t height,
                       struct nvbuf_surface *theirs, struct error *error,
                       struct surface **ret_surface)
{
    struct surface *surface = calloc(1, sizeof *surface);
    struct nvbuf_surface *handle = theirs;
    int r = surface ? 0 : error_set(error, -ENOMEM, "no memory for a surface");

    if (r == 0) {
        r = gpu_is_lost(surfaces->gpu) ? error_set(error, -EIO, "the GPU is lost")
                                       : gpu_enter(surfaces->gpu, error);
    }
    if (r == 0) {
        r = theirs ? nvbufsurface_check(theirs, width, height, error)
                   : nvbufsurface_new(&surfaces->library, width, height, error, &handle);
    }
    if (r == 0) {
        surface->adopted = theirs;
        surface->frame.handle = handle;
        surface->frame.handle_size = sizeof *handle;
        r = map_planes(surfaces, surface, error);
    }
    if (r == 0)
        r = register_image(surfaces, surface, error);
    if (r < 0) {
        if (surface)
            surface_free(surfaces, surface);
        return r;
    }
    *ret_surface = surface;
    return 0;
}

static void lay_out_as(const struct nvbuf_buffer *buffer, struct frame_layout *layout)
{
    for (unsigned i = 0; i < PLANES; i++) {
        layout->planes[i].offset = buffer->planes.offset[i];
        layout->planes[i].stride = buffer->planes.pitch[i];
    }
    layout->size = buffer->size;
}

static int surfaces_lay_out(void *context, struct frame_layout *layout, struct error *error)
{
    const struct gpu_surfaces *surfaces = context;
    struct nvbuf_surface *sample;

    if (strcmp(layout->format->name, "NV12") != 0)
        return error_set(error, -ENOTSUP, "no surface holds %s", layout->format->name);
    int r = nvbufsurface_new(&surfaces->library, layout->width, layout->height, error, &sample);
    if (r == 0) {
        lay_out_as(sample->buffers, layout);
        surfaces->library.destroy(sample);
    }
    return r;
}

static int surfaces_allocate(void *context, const struct frame_layout *layout,
                             struct frame_surface **ret_surface)
{
    struct gpu_surfaces *surfaces = context;
    struct frame_layout own = *layout;
    struct surface *surface = NULL;
    struct error error = {0};
    int r = surface_new(surfaces, layout->width, layout->height, NULL, &error, &surface);

    if (r == 0) {
        lay_out_as(buffer_of(&surface->frame), &own);
        if (!frame_layout_equal(&own, layout)) {
            r = error_set(&error, -EPROTO, "surfaces of one size are laid out in several ways");
            surface_free(surfaces, surface);
        }
    }
    if (r < 0) {
        pthread_mutex_lock(&surfaces->lock);
        surfaces->failed = true;
        surfaces->failure = error;
        pthread_mutex_unlock(&surfaces->lock);
        return r;
    }
    *ret_surface = &surface->frame;
    return 0;
}

static int surfaces_adopt(void *context, void *handle, struct frame_layout *layout,
                          struct error *error, struct frame_surface **ret_surface)
{
    struct surface *surface;
    int r = strcmp(layout->format->name, "NV12") == 0
                ? surface_new(context, layout->width, layout->height, handle, error, &surface)
                : error_set(error, -ENOTSUP, "no surface holds %s", layout->format->name);

    if (r == 0) {
        lay_out_as(buffer_of(&surface->frame), layout);
        *ret_surface = &surface->frame;
    }
    return r;
}

static void surfaces_release(void *context, struct frame_surface *surface)
{
    surface_free(context, (struct surface *)surface);
}

static int surfaces_begin_cpu(void *context, struct frame_surface *surface, struct error *error)
{
    const struct gpu_surfaces *surfaces = context;

    for (int i = 0; i < PLANES; i++) {
        if (surfaces->library.sync_for_cpu(surface->handle, 0, i) != 0)
            return failed("NvBufSurfaceSyncForCpu", error);
    }
    return 0;
}

static int surfaces_end_cpu(void *context, struct frame_surface *surface, struct error *error)
{
    const struct gpu_surfaces *surfaces = context;

    for (int i = 0; i < PLANES; i++) {
        if (surfaces->library.sync_for_device(surface->handle, 0, i) != 0)
            return failed("NvBufSurfaceSyncForDevice", error);
    }
    return 0;
}

static int surfaces_wait(void *context, struct error *error)
{
    const struct gpu_surfaces *surfaces = context;

    return gpu_wait(surfaces->gpu, clock_now_ns() + NS_PER_S, error);
}

// The CPU writes plane `from`, the GPU inverts it into the other, which the CPU reads.
static int probe_plane(struct gpu *gpu, const struct frame *frame, unsigned from,
                       struct error *error)
{
    const uint32_t factor = 2654435761U + from;
    uint32_t *written = (uint32_t *)frame_plane(frame, from);
    const uint32_t *read = (const uint32_t *)frame_plane(frame, !from);
    const struct frame_surface *surface = frame->surface;
    int r = frame_begin_cpu_access(frame, error);

    for (uint32_t i = 0; i < GPU_PROBE_WORDS && r == 0; i++)
        written[i] = i * factor;
    if (r == 0)
        r = frame_end_cpu_access(frame, error);
    if (r == 0) {
        r = gpu_probe_launch(gpu, surface->gpu_bases[from] + frame->layout.planes[from].offset,
                             surface->gpu_bases[!from] + frame->layout.planes[!from].offset, error);
    }
    if (r == 0)
        r = gpu_wait(gpu, clock_now_ns() + NS_PER_S, error);
    if (r == 0)
        r = frame_begin_cpu_access(frame, error);
    for (uint32_t i = 0; i < GPU_PROBE_WORDS && r == 0; i++) {
        if (read[i] != ~(i * factor))
            r = error_set(error, -EIO, "CPU and GPU see different bytes");
    }
    return r;
}

// Whether CPU and GPU see in surfaces of the allocator what the other has written. -EIO: they do
// not; what the allocator and CUDA say.
static int probe(struct gpu *gpu, const struct frame_allocator *allocator, struct error *error)
{
    struct frame_layout layout;
    struct frame_pool *pool = NULL;

    frame_layout_init(&layout, pixel_format_by_name("NV12"), PROBE_WIDTH, PROBE_HEIGHT, 1);
    int r = allocator->surfaces->lay_out(allocator->context, &layout, error);
    if (r == 0)
        r = frame_pool_new(&layout, 1, allocator, &pool);
    if (r == 0) {
        _cleanup_(cleanup_frame) struct frame *frame = frame_pool_take(pool);

        for (unsigned from = 0; from < PLANES && r == 0; from++)
            r = probe_plane(gpu, frame, from, error);
    }
    frame_pool_unref(pool);
    return r;
}

int gpu_surfaces_new(struct gpu *gpu, struct error *error, struct gpu_surfaces **ret_surfaces)
{
    static const struct frame_surface_ops ops = {surfaces_lay_out,   surfaces_allocate,
                                                 surfaces_adopt,     surfaces_release,
                                                 surfaces_begin_cpu, surfaces_end_cpu};
    struct gpu_surfaces *surfaces = calloc(1, sizeof *surfaces);
    int r = surfaces ? 0 : error_set(error, -ENOMEM, "no memory for surfaces");

    if (r < 0)
        return r;
    pthread_mutex_init(&surfaces->lock, NULL);
    surfaces->gpu = gpu;
    surfaces->allocator = (struct frame_allocator){
        .kind = "nvmm", .context = surfaces, .surfaces = &ops, .wait = surfaces_wait};
    r = nvbufsurface_init(&surfaces->library, error);
    if (r == 0) {
        r = probe(gpu, &surfaces->allocator, error);
        gpu_surfaces_take_failure(surfaces, error);
    }
    if (r < 0) {
        gpu_surfaces_free(surfaces);
        return r;
    }
    *ret_surfaces = surfaces;
    return 0;
}

void gpu_surfaces_free(struct gpu_surfaces *surfaces)
{
    if (surfaces) {
        nvbufsurface_finish(&surfaces->library);
        pthread_mutex_destroy(&surfaces->lock);
        free(surfaces);
    }
}

const struct frame_allocator *gpu_surfaces_allocator(const struct gpu_surfaces *surfaces)
{
    return &surfaces->allocator;
}

bool gpu_surfaces_take_failure(struct gpu_surfaces *surfaces, struct error *ret_why)
{
    pthread_mutex_lock(&surfaces->lock);
    bool had = surfaces->failed;
    if (had && ret_why)
        *ret_why = surfaces->failure;
    surfaces->failed = false;
    pthread_mutex_unlock(&surfaces->lock);
    return had;
}
