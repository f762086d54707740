// Cameras that stand upright and deliver pictures, played for one test program: the functions of
// kernels/flip/flip.h and kernels/demosaic/demosaic.h, neither of which there is.
#pragma once

#include "kernels/demosaic/demosaic.h"
#include "kernels/flip/flip.h"

#include <errno.h>

void flip_layout_init(struct frame_layout *layout, enum config_flip flip,
                      const struct frame_layout *input)
{
    (void)flip;
    *layout = *input;
}

int flip_new(const struct flip_setup *setup, struct error *error, struct flip **ret_flip)
{
    (void)setup, (void)ret_flip;
    return error_set(error, -ENOTSUP, "no flip is played");
}

void flip_free(struct flip *flip)
{
    (void)flip;
}

bool flip_fits(const struct flip *flip, const struct flip_setup *setup)
{
    (void)flip, (void)setup;
    return false;
}

const struct frame_layout *flip_layout(const struct flip *flip)
{
    (void)flip;
    return NULL;
}

int flip_run(struct flip *flip, struct frame *input, struct error *error, struct frame **ret_output)
{
    (void)flip, (void)input, (void)ret_output;
    return error_set(error, -ENOTSUP, "no flip is played");
}

int demosaic_new(const struct demosaic_setup *setup, struct error *error,
                 struct demosaic **ret_demosaic)
{
    (void)setup, (void)ret_demosaic;
    return error_set(error, -ENOTSUP, "no demosaic is played");
}

void demosaic_free(struct demosaic *demosaic)
{
    (void)demosaic;
}

bool demosaic_fits(const struct demosaic *demosaic, const struct demosaic_setup *setup)
{
    (void)demosaic, (void)setup;
    return false;
}

const struct frame_layout *demosaic_layout(const struct demosaic *demosaic)
{
    (void)demosaic;
    return NULL;
}

int demosaic_run(struct demosaic *demosaic, struct frame *input, struct error *error,
                 struct frame **ret_output)
{
    (void)demosaic, (void)input, (void)ret_output;
    return error_set(error, -ENOTSUP, "no demosaic is played");
}
