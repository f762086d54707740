// The NO SIGNAL slate: what a viewer sees while there is no camera.
#pragma once

#include "capture/frame.h"

#include <stdint.h>

struct encoder_settings;
struct frame_pool;
struct gpu_surfaces;

// Draws into an NV12 frame of any size: dark gray, "NO SIGNAL", the camera's name and the time
// since loss as M:SS (H:MM:SS from an hour on). A negative `seconds` leaves the time out. Returns
// 0, or the error that keeps the CPU from a surface.
int slate_draw(struct frame *frame, const char *camera, int64_t seconds, struct error *error);

// Makes frames for the slates of an encoder with these settings, and draws the first, for its
// trial; frame_pool_unref(), frame_unref(). They lie where the encoder's other frames do, in host
// memory or in `surfaces`, because an encoder takes frames of one kind of memory. -ENOMEM, and what
// keeps surfaces from being made or drawn, with `error`.
int slate_pool_new(const struct encoder_settings *settings, struct gpu_surfaces *surfaces,
                   const char *camera, struct error *error, struct frame_pool **ret_pool,
                   struct frame **ret_trial);
