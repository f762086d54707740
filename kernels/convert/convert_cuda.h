// The parameters of convert.cu. Its kernels are named convert_<input>_<output> after the formats:
// to nv12 from all that JOB_YUV_FORMATS and JOB_RGB_FORMATS list, to rgb3 from grey and those of
// RGB; and convert_rgb3_nv12_full.
#pragma once

#include "kernels/gpu/job.h"

struct convert_cuda {
    struct gpu_job job;
    // Of convert_rgb3_nv12_full: factors of red, green and blue (colour.h).
    int32_t y[3], u[3], v[3];
};
