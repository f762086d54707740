// What a flip does to a plane: its axes are swapped, so that rows become columns, and then the
// result is mirrored.
#pragma once

#include "config/config.h"

struct flip_axes {
    bool swapped;
    bool mirrored_x, mirrored_y; // left and right, top and bottom change places
};

static inline struct flip_axes flip_axes_of(enum config_flip flip)
{
    return (struct flip_axes){
        .swapped = config_flip_is_quarter(flip),
        .mirrored_x = flip == CONFIG_FLIP_HORIZONTAL || flip == CONFIG_FLIP_ROTATE_180 ||
                      flip == CONFIG_FLIP_ROTATE_90,
        .mirrored_y = flip == CONFIG_FLIP_VERTICAL || flip == CONFIG_FLIP_ROTATE_180 ||
                      flip == CONFIG_FLIP_ROTATE_270,
    };
}
