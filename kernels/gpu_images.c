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

IMAGE(canny)
IMAGE(blur)
IMAGE(convert)
IMAGE(difference)
IMAGE(direction)
IMAGE(gradient)
IMAGE(gray)
IMAGE(gpu_probe)
IMAGE(hysteresis)
IMAGE(mark)
IMAGE(motion)
IMAGE(morphology)
IMAGE(operator)
IMAGE(threshold)
IMAGE(overlay)

const struct gpu_image *gpu_image_at(size_t index)
{
    static const struct gpu_image images[] = {
        {"canny", gpu_image_canny, gpu_image_canny_end},
        {"blur", gpu_image_blur, gpu_image_blur_end},
        {"convert", gpu_image_convert, gpu_image_convert_end},
        {"difference", gpu_image_difference, gpu_image_difference_end},
        {"direction", gpu_image_direction, gpu_image_direction_end},
        {"gradient", gpu_image_gradient, gpu_image_gradient_end},
        {"gray", gpu_image_gray, gpu_image_gray_end},
        {"gpu_probe", gpu_image_gpu_probe, gpu_image_gpu_probe_end},
        {"hysteresis", gpu_image_hysteresis, gpu_image_hysteresis_end},
        {"mark", gpu_image_mark, gpu_image_mark_end},
        {"motion", gpu_image_motion, gpu_image_motion_end},
        {"morphology", gpu_image_morphology, gpu_image_morphology_end},
        {"operator", gpu_image_operator, gpu_image_operator_end},
        {"threshold", gpu_image_threshold, gpu_image_threshold_end},
        {"overlay", gpu_image_overlay, gpu_image_overlay_end},
    };

    return index < sizeof images / sizeof images[0] ? &images[index] : NULL;
}
