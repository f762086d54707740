// What the files of an encoder share: one on trial, for those that look for one that works.
#pragma once

#include "daemon/camera/encoder.h"
#include "daemon/camera/encoder_elements.h"

// Makes an encoder of this element, whose frames go this way, and has it encode `trial`. The rest
// is as of encoder_new(). -ENOSYS, -ETIMEDOUT (it took the trial and nothing came out), -ENOMEM,
// -EAGAIN, with the reason in `error`.
int encoder_open(const struct encoder_element *element, const struct encoder_way *way,
                 const struct encoder_settings *settings, struct frame *trial,
                 struct encoder_watches *watches, encoder_output *output, void *context,
                 struct error *error, struct encoder **ret_encoder);
