// What a V4L2 driver says of range and colours, in a layout's terms.
#pragma once

#include "capture/frame.h"

#include <linux/videodev2.h>

// Sets range and colour of `layout` by colorspace, ycbcr_enc, quantization and xfer_func of `pix`,
// with V4L2's defaults for each colorspace where it names one, else with the layout's own. GREY
// stays full range unless the driver says limited. For V4L2_PIX_FMT_MJPEG, whose decoded pictures
// `layout` is of, JFIF's full range and BT.601 take the place of V4L2's defaults.
void v4l2_colour_read(const struct v4l2_pix_format *pix, struct frame_layout *layout);
