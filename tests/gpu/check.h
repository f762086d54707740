// Shared by the groups of check_gpu: the GPU, its kinds of memory, the cases, the count.
//
// The CPU's view is the reference; it has its own tests against OpenCV.
#pragma once

#include "kernels/gpu/gpu_kernel.h"
#include "kernels/gpu/gpu_memory.h"
#include "kernels/gpu/job.h"
#include "kernels/graph/view.h"
#include "tests/gpu/pictures.h"

#define CHECK_FORMATS 11
#define CHECK_BLOCKS 24
#define CHECK_KINDS 3
#define CHECK_VIEW_KINDS (CONFIG_VIEW_DIRECTION + 1)

struct check {
    struct gpu *gpu;
    struct gpu_memory *memories[CHECK_KINDS]; // owned; of each kind that works here
    size_t memory_count;
    bool quick; // few and small pictures, for the sanitizers
    unsigned long compared, different;
};

extern const char *const check_formats[CHECK_FORMATS];
extern const struct config_block check_blocks[CHECK_BLOCKS];

// One thing a view may be asked for.
struct check_case {
    struct config_view settings;
    enum view_output output;
};

// Edges in every operator, norm, range and gain; gray and camera in both ranges; blur; black and
// white with every morphology; Canny; overlay and direction; Canny by the median; those that have
// one with a mask.
#define CHECK_CASES 128
struct check_case check_case_at(size_t index);
// A few of them in which every kernel appears, exact and streamed; CHECK_FEW of them.
#define CHECK_FEW 29
struct check_case check_few_at(size_t index);

// Limits a view to a part of the picture with slanted edges.
void check_limit(struct config_view *settings);

// Memory of kind number `index`, turning.
const struct frame_allocator *check_allocator(const struct check *check, size_t index);

// The CPU's view of a picture in host memory. Returns false where it makes nothing new: then a view
// on the GPU must say the same, which is counted. The caller unrefs *ret_expected.
bool check_expect(struct check *check, const struct check_case *what, struct frame *input,
                  struct frame **ret_expected);

// Counts one comparison; what differs is printed, `what` and its picture's format and size first.
void check_count(struct check *check, bool same, const struct check_case *what,
                 const struct frame_layout *input, const char *detail);
// Counts whether the pixels of two frames are the same.
void check_frames(struct check *check, const struct frame *output, const struct frame *expected,
                  const struct check_case *what, const struct frame_layout *input,
                  const char *detail);
// Pictures of the same layout, undrawn: one in host memory for the CPU, and one at `placement` in
// memory of `allocator`. The caller ends both, also after a failure, which is counted (false).
bool check_pictures_init(struct check *check, const char *format, uint32_t width, uint32_t height,
                         size_t placement, const struct frame_allocator *allocator,
                         struct picture ret_pictures[2]);
// Runs `count` frames through the CPU's view and the GPU's, and compares what they make. The frames
// are the pictures, in which squares come and go; the third comes after a pause in which nobody
// watched.
void check_frame_by_frame(struct check *check, const struct check_case *what,
                          struct picture pictures[2], struct view *reference, struct view *view,
                          unsigned count);
// After gpu_set_blocks() and making or running a view: -EINVAL with the first complaint that says
// more than that a block keeps the GPU idle.
int check_blocks_taken(const struct check *check, struct error *error);
// Counts a failure of what should have worked.
void check_failed(struct check *check, const char *doing, const struct error *error);

// The groups. Each prints its line.
void check_selftests(struct check *check); // the GPU's own, small and in full
void check_views(struct check *check);     // formats, sizes, placements, cases, kinds of memory
void check_shapes(struct check *check);    // every format and kernel in every block
void check_large(struct check *check);     // 720p to 8K, and rows past the grid's limit
void check_places(struct check *check);    // input and output at awkward device addresses
void check_rows(struct check *check);      // rows a thread
void check_tiles(struct check *check);     // pictures of whole tiles
void check_random(struct check *check);    // everything drawn at random
void check_lists(struct check *check);     // lists of stages drawn at random
void check_motion(struct check *check);    // motion, frame after frame
void check_canny(struct check *check);     // edges that hang together far, every threshold
void check_split(struct check *check);     // two views side by side
void check_flips(struct check *check);     // pictures another way up
void check_demosaics(struct check *check); // pictures of raw samples
void check_cells(struct check *check);     // means of squares of pixels
void check_refused(struct check *check);   // blocks, memory and conversions that cannot be
