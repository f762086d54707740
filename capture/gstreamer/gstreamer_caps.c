#include "capture/gstreamer/gstreamer_caps.h"

#include <errno.h>

static void set_formats(GstStructure *structure, const struct pixel_format *only)
{
    const struct pixel_format *format;
    GValue list = G_VALUE_INIT;

    if (only) {
        gst_structure_set(structure, "format", G_TYPE_STRING, only->gst_name, NULL);
        return;
    }
    g_value_init(&list, GST_TYPE_LIST);
    for (size_t i = 0; (format = pixel_format_at(i)); i++) {
        GValue name = G_VALUE_INIT;

        g_value_init(&name, G_TYPE_STRING);
        g_value_set_static_string(&name, format->gst_name);
        gst_value_list_append_and_take_value(&list, &name);
    }
    gst_structure_take_value(structure, "format", &list);
}

static void append(GstCaps *caps, const struct pixel_format *format, int width, int height, int fps)
{
    GstStructure *structure = gst_structure_new_empty("video/x-raw");

    set_formats(structure, format);
    if (width > 0) {
        gst_structure_set(structure, "width", G_TYPE_INT, width, "height", G_TYPE_INT, height,
                          NULL);
    }
    if (fps > 0)
        gst_structure_set(structure, "framerate", GST_TYPE_FRACTION, fps, 1, NULL);
    gst_caps_append_structure(caps, structure);
}

GstCaps *gstreamer_caps_new(const struct pixel_format *format, int width, int height, int fps)
{
    GstCaps *caps = gst_caps_new_empty();

    if (width > 0) {
        if (!format)
            append(caps, pixel_format_by_name("NV12"), width, height, fps);
        append(caps, format, width, height, fps);
        append(caps, format, width, height, 0);
    }
    append(caps, format, 0, 0, 0);
    return caps;
}

// GStreamer's primaries, transfer functions and matrices in H.273's numbers; those of later
// releases than 1.16 are the same in all that have them. Others are unspecified.
#define UNSPECIFIED COLOUR_UNSPECIFIED
static const uint8_t primaries[] = {UNSPECIFIED, 1, 4, 5, 6, 7, 8, 9, UNSPECIFIED, 10, 11, 12, 22};
static const uint8_t transfers[] = {UNSPECIFIED, 8,  UNSPECIFIED, UNSPECIFIED, 4,  1,  7,  13, 5,
                                    9,           10, 15,          UNSPECIFIED, 14, 16, 18, 6};
static const uint8_t matrices[] = {UNSPECIFIED, COLOUR_RGB, 4, 1, 6, 7, 9};

static uint32_t number_of(const uint8_t *table, size_t length, unsigned index)
{
    return index < length ? table[index] : UNSPECIFIED;
}

// Reads range and colour from the caps; gst_video_info_from_caps() makes up the ones that are
// missing there.
static void read_colour(const GstCaps *caps, struct frame_layout *layout)
{
    const gchar *text = gst_structure_get_string(gst_caps_get_structure(caps, 0), "colorimetry");
    GstVideoColorimetry said;
    struct frame_colour colour;

    if (!text || !gst_video_colorimetry_from_string(&said, text))
        return;
    if (said.range != GST_VIDEO_COLOR_RANGE_UNKNOWN) {
        layout->range =
            said.range == GST_VIDEO_COLOR_RANGE_0_255 ? FRAME_RANGE_FULL : FRAME_RANGE_LIMITED;
    }
    colour.primaries = number_of(primaries, ARRAY_LENGTH(primaries), said.primaries);
    colour.transfer = number_of(transfers, ARRAY_LENGTH(transfers), said.transfer);
    colour.matrix = number_of(matrices, ARRAY_LENGTH(matrices), said.matrix);
    if ((colour.matrix == COLOUR_RGB) != (layout->format->luma_step == 0))
        colour.matrix = UNSPECIFIED;
    layout->colour = frame_colour_complete(colour, layout->colour);
}

int gstreamer_caps_read(const GstCaps *caps, struct source_mode *mode)
{
    const struct pixel_format *format;
    GstVideoInfo info;

    if (!gst_video_info_from_caps(&info, caps))
        return -ENOTSUP;
    format = pixel_format_by_gst_name(GST_VIDEO_INFO_NAME(&info));
    if (!format)
        return -ENOTSUP;
    frame_layout_init(&mode->layout, format, (uint32_t)info.width, (uint32_t)info.height, 1);
    for (unsigned i = 0; i < format->plane_count; i++) {
        mode->layout.planes[i].offset = info.offset[i];
        mode->layout.planes[i].stride = (size_t)info.stride[i];
    }
    mode->layout.size = info.size;
    read_colour(caps, &mode->layout);
    mode->fps_numerator = (unsigned)info.fps_n;
    mode->fps_denominator = (unsigned)info.fps_d;
    return 0;
}

// 0, which is unknown, without an entry.
static unsigned index_of(const uint8_t *table, size_t length, uint32_t number)
{
    for (unsigned i = 1; i < length; i++) {
        if (table[i] == number && number != UNSPECIFIED)
            return i;
    }
    return 0;
}

gchar *gstreamer_caps_colorimetry(const struct frame_layout *layout)
{
    const struct frame_colour *colour = &layout->colour;

    return g_strdup_printf("%d:%u:%u:%u",
                           layout->range == FRAME_RANGE_FULL ? GST_VIDEO_COLOR_RANGE_0_255
                                                             : GST_VIDEO_COLOR_RANGE_16_235,
                           index_of(matrices, ARRAY_LENGTH(matrices), colour->matrix),
                           index_of(transfers, ARRAY_LENGTH(transfers), colour->transfer),
                           index_of(primaries, ARRAY_LENGTH(primaries), colour->primaries));
}
