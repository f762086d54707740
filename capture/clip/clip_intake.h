// The pipeline that reads a clip: to play it, or to take it frame by frame.
#pragma once

#include "capture/gstreamer/gstreamer_intake.h"

// An intake of the pictures in the file at `path`, in order, which may be stopped and played anew.
// Only what is not in `format` (NULL: in any that edged knows) is converted. Errors of the file
// system: -ENOENT and kin; -ENODATA: no file, or an empty one; as intake_new().
int clip_intake_new(const char *path, const struct pixel_format *format,
                    const struct source_environment *environment, struct error *error,
                    struct intake **ret_intake);
