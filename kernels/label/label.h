// A view's label: the time, the camera's name and a text, white on a black box in a corner of its
// NV12 pictures.
//
// The box is drawn once, and anew when the clock goes on; a picture gets a copy of its rows. It is
// the CPU that does it, whatever has made the picture. The letters are made smaller where a line
// would not fit into the picture, and what does not fit then is cut off. Used by one thread at a
// time.
#pragma once

#include "capture/frame.h"
#include "config/config.h"

struct label;

struct label_setup {
    const struct config_label *settings; // copied
    const char *camera;                  // its name; copied
    const struct frame_layout *layout;   // of the pictures, NV12; copied
};

// -ENOMEM.
int label_new(const struct label_setup *setup, struct error *error, struct label **ret_label);
void label_free(struct label *label); // takes NULL

// Draws the label into a picture on the CPU's side that nobody has seen yet; its clock shows the
// local time of the picture's pts. An error of frame_begin_cpu_access().
int label_draw(struct label *label, struct frame *picture, struct error *error);
