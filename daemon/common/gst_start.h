// Starts GStreamer as the board wants it: on a Jetson NVIDIA's plugins look at the environment, at
// what is loaded and at programs' output before they offer an encoder.
#pragma once

#include "board/board.h"

// To be called before the process has threads, in the place of gst_init().
//
// On a Jetson no screen is named (nvbufsurface_hide_displays()), and libEGL is loaded first,
// because the library it needs does not load behind many plugins, whose variables have taken its
// room (JetPack 5: "cannot allocate memory in static TLS block"). On a board whose codecs are those
// of a GPU on a card (Thor) AARCH64_DGPU says so: otherwise gst-nvvideo4linux2 asks modprobe, which
// finds nothing where ProtectKernelModules hides the modules, and takes the way of the other
// boards.
//
// GStreamer keeps what it finds in plugins in a file. Where that lacks the encoder of a board that
// has one, all plugins in which nothing was found are looked at again, as the look may have been
// one that failed.
void gst_start(const struct board_profile *profile);
