// A tune that somebody asked for (POST /v1/tune): which camera's process does it, what is told of
// it as lines of JSON, and what becomes of the blocks that it finds. One at a time.
#pragma once

#include "config/config.h"

#include <glib.h>

struct tuning_request {
    const char *camera, *view; // NULL: the first camera, all of its views
    uint32_t kernels;          // a bit for each enum config_kernel; 0: all that the views have
    bool apply;                // put what is found in force
    bool keep;                 // and keep it over a reload and a restart
    enum config_role role;     // of who asks: cameras and views that it is not shown are not there
};

// Listener of a tune. Nothing more is told after the last line.
struct tuning_reader {
    void (*line)(void *context, const char *json, bool is_last);
    void *context;
};

struct tuning {
    struct camera_link *link;          // borrowed, while its process tunes; NULL: none does
    const struct front_camera *camera; // the same
    guint finishing;                   // GLib source id: the process is done; 0: it is not
    char name[40];                     // of the camera
    struct tuning_reader reader;
    enum config_role role;                        // the reader's
    bool apply, keep, found;                      // something that is to be applied
    struct config_block set[CONFIG_KERNEL_COUNT]; // 0: nothing
    // Changes the settings of these blocks, in which 0 is left alone. An error has its sentence.
    int (*set_blocks)(void *context, const struct config_block *blocks, bool is_kept,
                      struct error *error);
    void *context; // of set_blocks
};

// Begins a tune of one of `cameras` (struct front_camera). -EBUSY: one is under way; -ENOENT: there
// is no such camera or view; -ENODEV: the camera does not compute on a GPU, or delivers no
// pictures; -ENOBUFS: its process does not read. All with a sentence.
int tuning_begin(struct tuning *tuning, const GPtrArray *cameras,
                 const struct tuning_request *request, const struct tuning_reader *reader,
                 struct fault *fault);
// Its reader has gone: nothing is told or changed any more.
void tuning_stop(struct tuning *tuning);
// Blocks as the JSON merge patch that sets them; the caller g_free()s it.
char *tuning_patch(const struct config_block *blocks);
