// The fake camera's video: what `source` makes, through one x264enc, into the appsink "sink".
#pragma once

#include <gst/gst.h>
#include <stdio.h>
#include <stdlib.h>

#define ENCODER                                                                                    \
    " ! video/x-raw, format=I420, width=320, height=240, framerate=30/1"                           \
    " ! x264enc tune=zerolatency speed-preset=ultrafast byte-stream=true key-int-max=%d name=enc"  \
    " ! video/x-h264, stream-format=byte-stream, alignment=au, profile=constrained-baseline"       \
    " ! appsink name=sink sync=false max-buffers=4"

static inline GstElement *make_pipeline(const char *source, int key_frame_distance)
{
    g_autofree char *encoder = g_strdup_printf(ENCODER, key_frame_distance);
    g_autofree char *text = g_strconcat(source, encoder, NULL);
    GError *failure = NULL;
    GstElement *pipeline = gst_parse_launch(text, &failure);

    if (failure) {
        fprintf(stderr, "fake_camera: %s\n", failure->message);
        exit(1);
    }
    return pipeline;
}
