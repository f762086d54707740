// One view of one picture or clip, from a file into a file, or a frame of a clip into a picture.
#pragma once

#include "config/config.h"

struct process_request {
    const struct config_view *settings;
    enum config_backend backend; // auto: the GPU where CUDA works, else the CPU
    enum config_flip flip;       // of the input, before the view
    int threads;                 // that the CPU computes with, 1..POOL_THREADS_MAX
    // Paths, whose extensions tell the kinds of files; "-": standard input (what GStreamer reads,
    // or a .pgm or .ppm), standard output (a .pgm of what is gray, a .ppm of what has colours).
    const char *input, *output;
    const char *previous; // the picture before `input`, for the motion view; else NULL
    int frame; // of a clip that makes a picture, from 0 on; -1: the first with something to see
};

// The output appears whole or not at all. With auto, a GPU that fails is named on stderr, and the
// CPU does it again. -ENOENT and kin, -EINVAL (a kind of file), -ENODATA (ends early), -ENODEV and
// what else gpu_session_open() says, -EIO; with a sentence in `error`.
int process_files(const struct process_request *request, struct error *error);
