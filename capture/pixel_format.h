// The pixel formats edged knows, named by their V4L2 fourcc: those it computes on in one const
// table, and in another the mosaics of a sensor's raw samples, of which it makes RGB3 or GREY
// first.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PIXEL_FORMAT_PLANES_MAX 3

struct pixel_format {
    const char *name;     // as V4L2 prints the fourcc, in the config and in status: "YUYV"
    uint32_t fourcc;      // V4L2_PIX_FMT_*
    const char *gst_name; // as GStreamer caps spell it: "YUY2"; NULL: it has no name there
    unsigned plane_count;
    struct {
        uint8_t bytes;   // of one sample group, 1 << shift_x pixels wide (YUYV: 4, shift_x 1)
        uint8_t shift_x; // log2 of the horizontal subsampling
        uint8_t shift_y; // log2 of the vertical subsampling
    } planes[PIXEL_FORMAT_PLANES_MAX];
    // Where luma is: plane 0, first byte at luma_offset, luma_step bytes apart. 0 step: RGB.
    uint8_t luma_offset, luma_step;
    // Of a mosaic: a sample a pixel, red in every second column and row, blue in the others, green
    // where only one of both is the other's. It has no luma.
    struct {
        uint8_t bits;         // of a sample, 8, 10, 12 or 16, in one byte or two (little endian)
        bool packed;          // as MIPI CSI-2 sends them: 4 of 10 bits in 5 bytes, 2 of 12 in 3
        uint8_t red_x, red_y; // where the first red is: 0 or 1
    } mosaic;                 // 0 bits: none
};

// YUYV UYVY NV12 NV21 YU12 422P 444P GREY RGB3 BGR3 XR24 (bytes B G R x in memory).
// 422P and 444P come only out of JPEGs and GStreamer; V4L2 has no 444P, its fourcc is edged's own.
// Mosaics, the orders RGGB GRBG GBRG BGGR: 8 bit RGGB GRBG GBRG BA81; 10 bit RG10 BA10 GB10 BG10
// and packed pRAA pgAA pGAA pBAA; 12 bit RG12 BA12 GB12 BG12 and packed pRCC pgCC pGCC pBCC; 16 bit
// RG16 GR16 GB16 BYR2. GStreamer has none of them in its raw video. NULL when unknown.
const struct pixel_format *pixel_format_by_name(const char *name);
const struct pixel_format *pixel_format_by_fourcc(uint32_t fourcc);
// The same, but NULL for a mosaic as well: what can be asked of sources that make pictures.
const struct pixel_format *pixel_format_picture_by_name(const char *name);
const struct pixel_format *pixel_format_by_gst_name(const char *gst_name);
// Entry `index` of the table of those that are no mosaic, NULL past its end.
const struct pixel_format *pixel_format_at(size_t index);
