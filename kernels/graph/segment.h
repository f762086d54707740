// Steps that several views of a camera have in common, made once a frame into a plane.
//
// A segment goes on from the camera's picture or from the plane of another segment, and is computed
// when the first view of a frame asks for it. Used by one thread at a time.
#pragma once

#include "kernels/graph/gpu_pipeline.h"

struct segment;

struct segment_setup {
    const struct plan *plan;           // of one of the views; copied
    unsigned first, end;               // its steps, below the last one of every view
    const struct frame_layout *camera; // copied
    struct segment *before;            // makes what step `first` reads; NULL: the camera does
    struct pool *pool;                 // for the CPU; NULL: the caller's thread alone
    struct gpu *gpu;                   // computes; NULL: the CPU does
    const struct config_block *blocks; // for the GPU; NULL: what is good for it
    bool mapped;                       // as of gpu_pipeline_init()
    _Atomic uint64_t *runs;            // of each kind of stage (STAGE_KIND_COUNT), counted up
};

// -ENOMEM; of the GPU also what gpu_pipeline_init() and gpu_pipeline_set_blocks() say.
int segment_new(const struct segment_setup *setup, struct segment **ret_segment);
// Takes NULL. Those before it are freed after it. Nothing it launched runs any more, or the GPU is
// lost.
void segment_free(struct segment *segment);

// Makes the plane of frame number `number` (from 1) unless it is made already, those before it
// first. Returns row 0 and the stride.
const uint8_t *segment_run(struct segment *segment, const struct frame *camera, uint64_t number,
                           size_t *ret_stride);
// The same on the GPU, in its stream. What gpu_pipeline_launch() says.
int segment_launch(struct segment *segment, const struct gpu_picture *camera, uint64_t number,
                   struct error *error, struct gpu_picture *ret_plane);
// As gpu_pipeline_take_refusal() and gpu_pipeline_take_warning(), of those before it as well.
bool segment_take_refusal(struct segment *segment, struct error *ret_why);
bool segment_take_warning(struct segment *segment, struct error *ret_text);
