// The Makefile puts the folders of the fatbins on the assembler's search path.
#include "kernels/gpu/gpu_images.h"

// Every .cu, in the order of the alphabet.
#define IMAGES(X)                                                                                  \
    X(blur)                                                                                        \
    X(canny)                                                                                       \
    X(cells)                                                                                       \
    X(convert)                                                                                     \
    X(demosaic)                                                                                    \
    X(direction)                                                                                   \
    X(flip)                                                                                        \
    X(gpu_probe)                                                                                   \
    X(gradient)                                                                                    \
    X(hysteresis)                                                                                  \
    X(levels)                                                                                      \
    X(mark)                                                                                        \
    X(morphology)                                                                                  \
    X(motion)                                                                                      \
    X(overlay)                                                                                     \
    X(point)                                                                                       \
    X(selftest)

#define IMAGE(name)                                                                                \
    __asm__(".pushsection .rodata\n"                                                               \
            ".balign 16\n"                                                                         \
            "gpu_image_" #name ":\n"                                                               \
            ".incbin \"" #name ".fatbin\"\n"                                                       \
            "gpu_image_" #name "_end:\n"                                                           \
            ".byte 0\n"                                                                            \
            ".popsection\n");                                                                      \
    extern const unsigned char gpu_image_##name[] __attribute__((visibility("hidden")));           \
    extern const unsigned char gpu_image_##name##_end[] __attribute__((visibility("hidden")));

IMAGES(IMAGE)

#define ENTRY(name) {#name, gpu_image_##name, gpu_image_##name##_end},

const struct gpu_image *gpu_image_at(size_t index)
{
    static const struct gpu_image images[] = {IMAGES(ENTRY)};

    return index < sizeof images / sizeof images[0] ? &images[index] : NULL;
}
