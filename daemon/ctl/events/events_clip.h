// A clip's frames, decoded one after the other as fast as that goes, through a camera's regions.
#pragma once

#include "config/config.h"

#include <stdio.h>

// Writes one JSON object a line to `output`: for each event, and with `frames` also for each frame
// and region. What clip_reader_new() and clip_reader_next() say; -ENOMEM.
int events_read_clip(const struct config_camera *camera, const char *path, bool frames,
                     FILE *output, struct error *error);
