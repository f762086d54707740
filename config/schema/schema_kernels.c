// The group "kernels": how the work of each CUDA kernel is cut up.
#include "config/schema/schema.h"

#define KERNELS(X)                                                                                 \
    X(GRADIENT, gradient,                                                                          \
      "From a camera's picture, or gray, to its edges: the views \"edges\", \"binary\" and "       \
      "\"overlay\".")                                                                              \
    X(GRAY, gray, "From a camera's picture to its luma: the view \"gray\", and before others.")    \
    X(CONVERT, convert,                                                                            \
      "From a camera's format to the encoder's: the views \"camera\" and \"split\".")              \
    X(BLUR, blur, "From gray to smoother gray, where \"blur\" is set.")                            \
    X(THRESHOLD, threshold,                                                                        \
      "From gray to black and white, and the histogram for it: the view \"binary\".")              \
    X(MORPHOLOGY, morphology,                                                                      \
      "Erosion and dilation: the view \"binary\", and \"motion\" with a mask or otsu.")            \
    X(CANNY, canny, "From gray to thin edges: the view \"canny\".")                                \
    X(DIFFERENCE, difference, "From two frames to what differs: the view \"motion\".")             \
    X(MARK, mark, "From what moved and the camera's picture to both: the view \"motion\".")        \
    X(DIRECTION, direction, "From gray to the hue of its gradient: the view \"direction\".")       \
    X(OVERLAY, overlay, "From edges and the camera's picture to both: the view \"overlay\".")      \
    X(MASK, mask, "From gray to the part of it that a view is limited to.")

#define BLOCK_KEY(kernel)                                                                          \
    {                                                                                              \
        "block", SCHEMA_BLOCK, .remote = true, .offset = offsetof(struct config, blocks[kernel]),  \
                               .minimum = 1, .maximum = CONFIG_BLOCK_THREADS_MAX,                  \
                               .default_note = "chosen for the GPU",                               \
                               .help = "Threads a block, x and y."                                 \
    }

// The block, and for the gradient the rows a thread makes.
#define KERNEL_KEYS(kernel, name, text)                                                            \
    [CONFIG_KERNEL_##kernel] = {BLOCK_KEY(CONFIG_KERNEL_##kernel)},
static const struct schema_key block_keys[CONFIG_KERNEL_COUNT][1] = {KERNELS(KERNEL_KEYS)};
static const struct schema_key gradient_keys[] = {
    BLOCK_KEY(CONFIG_KERNEL_GRADIENT),
    {"rows", SCHEMA_INTEGER, .remote = true,
     .offset = offsetof(struct config, blocks[CONFIG_KERNEL_GRADIENT].rows), .unit = "rows",
     .minimum = 0, .maximum = CONFIG_ROWS_MAX,
     .default_note = "0, chosen for the GPU, its memory and the board",
     .help = "Rows of the picture that a thread makes: more read fewer rows twice, fewer keep more "
             "threads busy."},
};

#define KERNEL_GROUP(kernel, name, text)                                                           \
    [CONFIG_KERNEL_##kernel] = {                                                                   \
        .title = "kernels." #name,                                                                 \
        .help = (text),                                                                            \
        .keys = CONFIG_KERNEL_##kernel == CONFIG_KERNEL_GRADIENT                                   \
                    ? gradient_keys                                                                \
                    : block_keys[CONFIG_KERNEL_##kernel],                                          \
        .key_count =                                                                               \
            CONFIG_KERNEL_##kernel == CONFIG_KERNEL_GRADIENT ? ARRAY_LENGTH(gradient_keys) : 1,    \
        .cost = CONFIG_COST_FRAME,                                                                 \
    },
static const struct schema_group kernel_groups[CONFIG_KERNEL_COUNT] = {KERNELS(KERNEL_GROUP)};

#define KERNEL_KEY(kernel, name, text)                                                             \
    [CONFIG_KERNEL_##kernel] = {#name, SCHEMA_GROUP,                                               \
                                .group = &kernel_groups[CONFIG_KERNEL_##kernel], .help = (text)},
static const struct schema_key kernel_keys[CONFIG_KERNEL_COUNT] = {KERNELS(KERNEL_KEY)};

const struct schema_group schema_kernels = {
    .title = "kernels",
    .help = "How the work of the CUDA kernels is divided. block is the number of threads, x and y, "
            "that one processor of the GPU runs together. Every choice gives the same picture at a "
            "different speed; \"edgectl tune\" finds the fastest. A block that the GPU or the "
            "kernel cannot run is refused with a message, and the old one stays. A view of your "
            "own uses the kernels of its stages, a split those of its two sides.",
    .keys = kernel_keys,
    .key_count = ARRAY_LENGTH(kernel_keys),
    .cost = CONFIG_COST_FRAME,
};

const char *config_kernel_name(enum config_kernel kernel)
{
    return kernel_keys[kernel].name;
}
