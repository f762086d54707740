// The kernels of kernel_cu.c, KERNEL(kernel, kind) each: included once for each KERNEL.

#define NORMS(name)                                                                                \
    KERNEL(name##_l2_full, gradient)                                                               \
    KERNEL(name##_l2_limited, gradient)                                                            \
    KERNEL(name##_l1_full, gradient)                                                               \
    KERNEL(name##_l1_limited, gradient)

#define BLUR(side) KERNEL(blur_##side, blur)
#define CANNY(format) KERNEL(canny_##format, canny)
#define CONVERT(from, to) KERNEL(convert_##from##_##to, convert)
#define DEMOSAIC(samples, output) KERNEL(demosaic_##samples##_##output, demosaic)
#define DIFFERENCE(result, range) KERNEL(difference_##result##_##range, difference)
#define FLIP(from, to) KERNEL(flip_##from, flip)
#define GRADIENT(layout)                                                                           \
    NORMS(gradient_##layout)                                                                       \
    KERNEL(gradient_##layout##_l2_binary, gradient)                                                \
    KERNEL(gradient_##layout##_l1_binary, gradient)
#define GRAY(layout, range) KERNEL(gray_##layout##_##range, gray)
#define MARK(target, form) KERNEL(mark_##target##_##form, mark)
#define MASK(range) KERNEL(mask_##range, mask)
#define MORPHOLOGY(times) KERNEL(morphology_##times, morphology)
#define MOTION(format, layout) KERNEL(motion_##format, motion)
#define MOTION_MARKED(format, layout) KERNEL(motion_marked_##format, motion)
#define OPERATOR(name) NORMS(operator_##name)
#define OVERLAY(from, layout, to)                                                                  \
    KERNEL(overlay_mask_##from##_##to, overlay)                                                    \
    KERNEL(overlay_sobel_##from##_##to, overlay)

BLUR_CUDA_KERNELS(BLUR)
CANNY_CUDA_KERNELS(CANNY)
KERNEL(canny_planar_median, canny)
CONVERT_CUDA_KERNELS(CONVERT)
KERNEL(convert_rgb3_nv12_full, convert)
DEMOSAIC_CUDA_KERNELS(DEMOSAIC)
DIFFERENCE_CUDA_KERNELS(DIFFERENCE)
FLIP_CUDA_KERNELS(FLIP)
GRADIENT_CUDA_KERNELS(GRADIENT)
GRAY_CUDA_KERNELS(GRAY)
MARK_CUDA_KERNELS(MARK)
MASK_CUDA_KERNELS(MASK)
MORPHOLOGY_CUDA_KERNELS(MORPHOLOGY)
MOTION_CUDA_KERNELS(MOTION)
MOTION_CUDA_YUV_KERNELS(MOTION_MARKED)
OPERATOR_CUDA_KERNELS(OPERATOR)
OVERLAY_CUDA_KERNELS(OVERLAY)
KERNEL(threshold_compare, threshold_compare)

#undef NORMS
#undef BLUR
#undef CANNY
#undef CONVERT
#undef DEMOSAIC
#undef DIFFERENCE
#undef FLIP
#undef GRADIENT
#undef GRAY
#undef MARK
#undef MASK
#undef MORPHOLOGY
#undef MOTION
#undef MOTION_MARKED
#undef OPERATOR
#undef OVERLAY
