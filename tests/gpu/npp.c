#include "tests/gpu/npp.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>

#define MASK_3X3 200
#define FILTER_SOBEL 0
#define NORM_L2 2
#define BORDER_REPLICATE 2

// As nppdefs.h has them.
struct npp_point {
    int x, y;
};

struct npp_stream {
    struct CUstream_st *stream;
    int device, multiprocessors, threads_a_multiprocessor, threads_a_block;
    size_t shared_bytes;
    int major, minor;
    unsigned flags;
    int reserved;
};

struct npp {
    void *filters, *conversions;
    struct npp_stream stream;
    int (*gradient)(const void *input, int input_step, struct npp_point size,
                    struct npp_point offset, void *x, int x_step, void *y, int y_step,
                    void *magnitude, int magnitude_step, void *angle, int angle_step,
                    struct npp_point roi, int mask, int norm, int border, struct npp_stream stream);
    int (*canny_bytes)(struct npp_point size, int *bytes);
    int (*canny)(const void *input, int input_step, struct npp_point size, struct npp_point offset,
                 void *output, int output_step, struct npp_point roi, int filter, int mask,
                 int16_t low, int16_t high, int norm, int border, void *work,
                 struct npp_stream stream);
    int (*convert)(const void *input, int input_step, void *output, int output_step,
                   struct npp_point roi, struct npp_stream stream);
};

static void *open_library(const char *name)
{
    static const char *const versions[] = {"", ".13", ".12", ".11"};
    void *library = NULL;

    for (size_t i = 0; i < ARRAY_LENGTH(versions) && !library; i++) {
        char path[64];

        snprintf(path, sizeof path, "%s.so%s", name, versions[i]);
        library = dlopen(path, RTLD_NOW);
    }
    return library;
}

struct npp *npp_open(const struct gpu *gpu)
{
    const struct gpu_info *info = gpu_info(gpu);
    struct npp *npp = calloc(1, sizeof *npp);

    if (!npp)
        return NULL;
    npp->filters = open_library("libnppif");
    npp->conversions = open_library("libnppidei");
    if (npp->filters && npp->conversions) {
        *(void **)&npp->gradient =
            dlsym(npp->filters, "nppiGradientVectorSobelBorder_8u16s_C1R_Ctx");
        *(void **)&npp->convert = dlsym(npp->conversions, "nppiConvert_16s8u_C1R_Ctx");
    }
    if (npp->filters) {
        *(void **)&npp->canny_bytes = dlsym(npp->filters, "nppiFilterCannyBorderGetBufferSize");
        *(void **)&npp->canny = dlsym(npp->filters, "nppiFilterCannyBorder_8u_C1R_Ctx");
    }
    if (!npp->gradient || !npp->convert) {
        npp_close(npp);
        return NULL;
    }
    npp->stream = (struct npp_stream){.stream = gpu_stream(gpu),
                                      .multiprocessors = info->multiprocessors,
                                      .threads_a_multiprocessor = 2048,
                                      .threads_a_block = 1024,
                                      .shared_bytes = 48 << 10,
                                      .major = info->sm / 10,
                                      .minor = info->sm % 10,
                                      .flags = CUDA_STREAM_NON_BLOCKING};
    return npp;
}

void npp_close(struct npp *npp)
{
    if (!npp)
        return;
    if (npp->conversions)
        dlclose(npp->conversions);
    if (npp->filters)
        dlclose(npp->filters);
    free(npp);
}

int npp_magnitude(const struct npp *npp, uint64_t input, uint64_t between, uint64_t output,
                  uint32_t width, uint32_t height)
{
    struct npp_point size = {(int)width, (int)height}, origin = {0, 0};
    void *middle = (void *)(uintptr_t)between;
    int step = (int)width;
    int status =
        npp->gradient((const void *)(uintptr_t)input, step, size, origin, NULL, 0, NULL, 0, middle,
                      2 * step, NULL, 0, size, MASK_3X3, NORM_L2, BORDER_REPLICATE, npp->stream);

    if (status == 0)
        status = npp->convert(middle, 2 * step, (void *)(uintptr_t)output, step, size, npp->stream);
    return status == 0 ? 0 : -EIO;
}

size_t npp_canny_bytes(const struct npp *npp, uint32_t width, uint32_t height)
{
    int bytes = 0;

    if (npp->canny && npp->canny_bytes)
        npp->canny_bytes((struct npp_point){(int)width, (int)height}, &bytes);
    return bytes > 0 ? (size_t)bytes : 0;
}

int npp_canny(const struct npp *npp, uint64_t input, uint64_t work, uint64_t output, uint32_t width,
              uint32_t height, int low, int high)
{
    struct npp_point size = {(int)width, (int)height}, origin = {0, 0};
    int step = (int)width;

    return npp->canny((const void *)(uintptr_t)input, step, size, origin, (void *)(uintptr_t)output,
                      step, size, FILTER_SOBEL, MASK_3X3, (int16_t)low, (int16_t)high, NORM_L2,
                      BORDER_REPLICATE, (void *)(uintptr_t)work, npp->stream) == 0
               ? 0
               : -EIO;
}
