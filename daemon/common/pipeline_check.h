// Whether GStreamer has what a camera's pipeline names, without starting it.
#pragma once

#include "config/base.h"

// 0, or -ENOENT with GStreamer's words.
int pipeline_check(const char *pipeline, struct error *error);
