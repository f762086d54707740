// The Makefile puts the folder of the fatbins on the assembler's search path.
#include "kernels/gpu_images.h"

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

IMAGE(convert)
IMAGE(difference)
IMAGE(direction)
IMAGE(gradient)
IMAGE(gray)
IMAGE(gpu_probe)
IMAGE(mark)
IMAGE(motion)
IMAGE(overlay)

const struct gpu_image *gpu_image_at(size_t index)
{
    static const struct gpu_image images[] = {
        {"convert", gpu_image_convert, gpu_image_convert_end},
        {"difference", gpu_image_difference, gpu_image_difference_end},
        {"direction", gpu_image_direction, gpu_image_direction_end},
        {"gradient", gpu_image_gradient, gpu_image_gradient_end},
        {"gray", gpu_image_gray, gpu_image_gray_end},
        {"gpu_probe", gpu_image_gpu_probe, gpu_image_gpu_probe_end},
        {"mark", gpu_image_mark, gpu_image_mark_end},
        {"motion", gpu_image_motion, gpu_image_motion_end},
        {"overlay", gpu_image_overlay, gpu_image_overlay_end},
    };

    return index < sizeof images / sizeof images[0] ? &images[index] : NULL;
}
