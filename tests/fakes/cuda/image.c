// Pictures of other parts of the chip: EGLImages of the surfaces of tests/fakes/nvmm. Each plane
// gets an address of its own, which the CPU may not touch.
#include "tests/fakes/cuda/memory.h"
#include "tests/fakes/nvmm/fake_nvmm.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

struct CUgraphicsResource_st {
    struct CUgraphicsResource_st *next; // in the list of all
    struct fake_image *image;
    struct memory *planes[3];
};

static struct CUgraphicsResource_st *resources;

static struct CUgraphicsResource_st **find(const struct CUgraphicsResource_st *resource)
{
    struct CUgraphicsResource_st **at = &resources;

    while (*at && *at != resource)
        at = &(*at)->next;
    return *at ? at : NULL;
}

static struct memory *map_plane(const struct fake_image *image, unsigned plane)
{
    struct memory *slot = memory_find_free();
    size_t size = image->size[plane];
    void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, image->fd,
                       (off_t)image->offset[plane]);
    void *address = memory_map(size, PROT_NONE);

    if (!slot || bytes == MAP_FAILED || !address)
        return NULL;
    *slot = (struct memory){.kind = MEMORY_SURFACE,
                            .address = (uintptr_t)address,
                            .bytes = bytes,
                            .size = size,
                            .mapped_bytes = memory_pages(size),
                            .device_mapped = true};
    return slot;
}

int cuGraphicsEGLRegisterImage(struct CUgraphicsResource_st **ret_resource, void *egl_image,
                               unsigned flags)
{
    int r = call_begin(CALL_cuGraphicsEGLRegisterImage);
    struct fake_image *image = egl_image;
    struct CUgraphicsResource_st *resource;

    if (r == 0 && (flags != 0 || !image || image->magic != FAKE_IMAGE_MAGIC))
        r = RESULT_INVALID_VALUE;
    resource = r == 0 ? calloc(1, sizeof *resource) : NULL;
    if (!resource)
        return call_end(r ? r : RESULT_OUT_OF_MEMORY);
    resource->image = image;
    for (unsigned i = 0; i < image->plane_count; i++)
        resource->planes[i] = map_plane(image, i);
    image->registered++;
    resource->next = resources;
    resources = resource;
    *ret_resource = resource;
    return call_end(0);
}

int cuGraphicsResourceGetMappedEglFrame(struct cuda_egl_frame *ret_frame,
                                        struct CUgraphicsResource_st *resource, unsigned index,
                                        unsigned level)
{
    int r = call_begin(CALL_cuGraphicsResourceGetMappedEglFrame);

    if (r == 0 && (!find(resource) || index != 0 || level != 0))
        r = RESULT_INVALID_HANDLE;
    if (r == 0) {
        const struct fake_image *image = resource->image;
        struct cuda_egl_frame frame = {.width = image->width,
                                       .height = image->height,
                                       .depth = 1,
                                       .pitch = image->pitch[0],
                                       .plane_count = image->plane_count,
                                       .channels = 1,
                                       .type = image->blocks ? CUDA_EGL_ARRAY : CUDA_EGL_PITCH};

        for (unsigned i = 0; i < image->plane_count; i++)
            frame.planes[i] = (void *)(uintptr_t)resource->planes[i]->address;
        *ret_frame = frame;
    }
    return call_end(r);
}

static void end_resource(struct CUgraphicsResource_st **at)
{
    struct CUgraphicsResource_st *resource = *at;

    *at = resource->next;
    resource->image->registered--;
    free(resource);
}

int cuGraphicsUnregisterResource(struct CUgraphicsResource_st *resource)
{
    int r = call_begin(CALL_cuGraphicsUnregisterResource);
    struct CUgraphicsResource_st **at = find(resource);

    if (r != 0 && !call_was_told())
        return call_end(r);
    if (!at)
        return call_end(RESULT_INVALID_HANDLE);
    for (unsigned i = 0; i < resource->image->plane_count; i++)
        memory_release(0, resource->planes[i], RESULT_INVALID_VALUE);
    end_resource(at);
    return call_end(r);
}

unsigned images_leaks(void)
{
    unsigned leaks = 0;

    for (const struct CUgraphicsResource_st *at = resources; at; at = at->next) {
        fprintf(stderr, "fake_cuda: leaked: a registered image\n");
        leaks++;
    }
    return leaks;
}

// Surfaces may be gone by now.
void images_forget(void)
{
    while (resources) {
        struct CUgraphicsResource_st *resource = resources;

        resources = resource->next;
        free(resource);
    }
}
