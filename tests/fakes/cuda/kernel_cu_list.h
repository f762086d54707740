// The kernels of kernel_cu.c: KERNEL(kernel, kind) where a thread does without the others of its
// block, else BLOCK_KERNEL(kernel, kind). Included once for each meaning of them.

#define NORMS(name)                                                                                \
    KERNEL(name##_l2_full, gradient)                                                               \
    KERNEL(name##_l2_limited, gradient)                                                            \
    KERNEL(name##_l1_full, gradient)                                                               \
    KERNEL(name##_l1_limited, gradient)
#define LAYOUT(layout)                                                                             \
    BLOCK_KERNEL(cells_##layout, cells)                                                            \
    KERNEL(canny_##layout, canny)                                                                  \
    KERNEL(direction_##layout##_nv12, direction)                                                   \
    KERNEL(direction_##layout##_rgb3, direction)                                                   \
    KERNEL(point_gray_##layout##_full, point)                                                      \
    NORMS(gradient_##layout)                                                                       \
    KERNEL(gradient_##layout##_l2_binary, gradient)                                                \
    KERNEL(gradient_##layout##_l1_binary, gradient)
#define RGB_LAYOUT(layout) KERNEL(point_gray_##layout##_limited, point)
#define CONVERSION(from, to)                                                                       \
    KERNEL(convert_##from##_##to, convert)                                                         \
    KERNEL(overlay_mask_##from##_##to, overlay)                                                    \
    KERNEL(overlay_sobel_##from##_##to, overlay)
#define YUV(format, layout)                                                                        \
    CONVERSION(format, nv12)                                                                       \
    KERNEL(flip_##format, flip)                                                                    \
    KERNEL(motion_##format, motion)                                                                \
    KERNEL(motion_marked_##format, motion)
#define RGB(format, layout)                                                                        \
    CONVERSION(format, nv12)                                                                       \
    CONVERSION(format, rgb3)                                                                       \
    KERNEL(flip_##format, flip)                                                                    \
    KERNEL(motion_##format, motion)
#define DEMOSAIC(samples, output) KERNEL(demosaic_##samples##_##output, demosaic)
#define MARK(target, form) KERNEL(mark_##target##_##form, mark)
#define MORPHOLOGY(times) KERNEL(morphology_##times, morphology)
#define HYSTERESIS(step) BLOCK_KERNEL(hysteresis_##step, hysteresis)
#define LEVELS(what) BLOCK_KERNEL(levels_##what, levels)

JOB_LAYOUTS(LAYOUT)
JOB_RGB_LAYOUTS(RGB_LAYOUT)
JOB_YUV_FORMATS(YUV)
JOB_RGB_FORMATS(RGB)
CONVERSION(grey, rgb3)
KERNEL(convert_rgb3_nv12_full, convert)
DEMOSAIC_CUDA_KERNELS(DEMOSAIC)
MARK_CUDA_KERNELS(MARK)
MORPHOLOGY_CUDA_KERNELS(MORPHOLOGY)
HYSTERESIS_CUDA_KERNELS(HYSTERESIS)
LEVELS_CUDA_KERNELS(LEVELS)
KERNEL(blur_3, blur)
KERNEL(blur_5, blur)
KERNEL(canny_planar_median, canny)
KERNEL(direction_any_nv12, direction)
KERNEL(direction_any_rgb3, direction)
NORMS(gradient_scharr)
NORMS(gradient_prewitt)
NORMS(gradient_sobel5)
KERNEL(point_threshold, point)
KERNEL(point_mask_full, point)
KERNEL(point_mask_limited, point)
KERNEL(point_difference_mask_full, point)
KERNEL(point_difference_mask_limited, point)
KERNEL(point_difference_measure_full, point)
KERNEL(point_difference_measure_limited, point)

#undef NORMS
#undef LAYOUT
#undef RGB_LAYOUT
#undef CONVERSION
#undef YUV
#undef RGB
#undef DEMOSAIC
#undef MARK
#undef MORPHOLOGY
#undef HYSTERESIS
#undef LEVELS
