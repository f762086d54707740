// What an encoder is made for.
#pragma once

#include "capture/frame.h"
#include "config/config.h"

struct encoder_settings {
    uint32_t width, height; // pixels
    // Both signalled in the SPS.
    enum frame_range range;
    struct frame_colour colour;
    unsigned fps_numerator, fps_denominator;
    int bitrate_kbps;
    unsigned keyframe_frames; // distance of key frames in frames
    enum config_codec codec;
    enum config_governor governor;
    enum config_encoder element; // auto, or one that makes the codec
    unsigned without;            // what auto leaves out, as of struct board_profile
    unsigned surfaces;           // 1: all frames are surfaces of a Jetson's NVMM
};
