// The pixel formats edged computes on, named by their V4L2 fourcc, in one const table.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define PIXEL_FORMAT_PLANES_MAX 3

struct pixel_format {
    const char *name;     // as V4L2 prints the fourcc, in the config and in status: "YUYV"
    uint32_t fourcc;      // V4L2_PIX_FMT_*
    const char *gst_name; // as GStreamer caps spell it: "YUY2"
    unsigned plane_count;
    struct {
        uint8_t bytes;   // of one sample group, 1 << shift_x pixels wide (YUYV: 4, shift_x 1)
        uint8_t shift_x; // log2 of the horizontal subsampling
        uint8_t shift_y; // log2 of the vertical subsampling
    } planes[PIXEL_FORMAT_PLANES_MAX];
    // Where luma is: plane 0, first byte at luma_offset, luma_step bytes apart. 0 step: RGB.
    uint8_t luma_offset, luma_step;
};

// YUYV UYVY NV12 NV21 YU12 422P 444P GREY RGB3 BGR3 XR24 (bytes B G R x in memory).
// 422P and 444P come only out of JPEGs and GStreamer; V4L2 has no 444P, its fourcc is edged's own.
// NULL when unknown.
const struct pixel_format *pixel_format_by_name(const char *name);
const struct pixel_format *pixel_format_by_fourcc(uint32_t fourcc);
const struct pixel_format *pixel_format_by_gst_name(const char *gst_name);
// Entry `index` of the table, NULL past its end.
const struct pixel_format *pixel_format_at(size_t index);
