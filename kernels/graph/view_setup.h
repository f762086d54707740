// What a view is made for: its settings, the camera's pictures, and what computes.
#pragma once

#include "capture/frame_pool.h"
#include "config/config.h"
#include "kernels/mask/mask_plane.h"
#include "kernels/stage/pool.h"

struct gpu;
struct graph;
struct view;

// What a view delivers.
enum view_output {
    VIEW_OUTPUT_STREAM, // NV12 for an encoder: computed gray as 16 + (219 m + 127) / 255, chroma
                        // 128
    VIEW_OUTPUT_EXACT,  // RGB3 for what has colours, GREY for the others: for files, no range
                        // mapping
};

// What a view is made for. Everything is copied, what is pointed to by `gpu` and the allocator's
// context outlives the view.
struct view_setup {
    const struct config_view *settings;
    const char *camera; // its name, for a label; NULL: there is none, as for VIEW_OUTPUT_EXACT
    const struct frame_layout *input;
    bool input_surfaces; // the camera's frames are surfaces
    enum view_output output;
    unsigned frames;                         // output frames; 0: 4
    const struct frame_allocator *allocator; // of the output frames
    struct gpu *gpu; // computes, on frames whose memory it can use, what it has a kernel for; NULL:
                     // the CPU does
    struct pool *pool;    // shares the rows of what the CPU computes, outlives the view; NULL: the
                          // caller's thread alone
    struct graph *graph;  // of the camera, outlives the view; NULL: it computes all by itself
    mask_read *read_mask; // reads the mask of a view that has one; NULL: none has
    void *read_context;   // of read_mask
    const struct view *before; // what this view takes the place of, with as many frames of the same
                               // allocator: they are used again where they fit; NULL: nothing
};
