// A sensor's raw samples, as V4L2's documentation lays them out.
#include "tests/fakes/v4l2/fake_camera.h"

#include <stdio.h>

bool fake_mosaic(uint32_t fourcc, struct fake_mosaic *ret_mosaic)
{
    static const struct {
        uint32_t fourccs[4]; // of the orders
        unsigned bits;
        bool packed;
    } kinds[] = {
        {{V4L2_PIX_FMT_SRGGB8, V4L2_PIX_FMT_SGRBG8, V4L2_PIX_FMT_SGBRG8, V4L2_PIX_FMT_SBGGR8},
         8,
         false},
        {{V4L2_PIX_FMT_SRGGB10, V4L2_PIX_FMT_SGRBG10, V4L2_PIX_FMT_SGBRG10, V4L2_PIX_FMT_SBGGR10},
         10,
         false},
        {{V4L2_PIX_FMT_SRGGB10P, V4L2_PIX_FMT_SGRBG10P, V4L2_PIX_FMT_SGBRG10P,
          V4L2_PIX_FMT_SBGGR10P},
         10,
         true},
        {{V4L2_PIX_FMT_SRGGB12, V4L2_PIX_FMT_SGRBG12, V4L2_PIX_FMT_SGBRG12, V4L2_PIX_FMT_SBGGR12},
         12,
         false},
        {{V4L2_PIX_FMT_SRGGB12P, V4L2_PIX_FMT_SGRBG12P, V4L2_PIX_FMT_SGBRG12P,
          V4L2_PIX_FMT_SBGGR12P},
         12,
         true},
        {{V4L2_PIX_FMT_SRGGB16, V4L2_PIX_FMT_SGRBG16, V4L2_PIX_FMT_SGBRG16, V4L2_PIX_FMT_SBGGR16},
         16,
         false},
    };
    static const char *const orders[] = {"RGGB", "GRBG", "GBRG", "BGGR"};

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] * 4; i++) {
        if (kinds[i / 4].fourccs[i % 4] == fourcc) {
            ret_mosaic->bits = kinds[i / 4].bits;
            ret_mosaic->packed = kinds[i / 4].packed;
            snprintf(ret_mosaic->order, sizeof ret_mosaic->order, "%s", orders[i % 4]);
            return true;
        }
    }
    return false;
}

uint32_t fake_mosaic_bytes(const struct fake_mosaic *mosaic, uint32_t width)
{
    if (mosaic->packed)
        return mosaic->bits == 10 ? (width + 3) / 4 * 5 : (width + 1) / 2 * 3;
    return mosaic->bits == 8 ? width : 2 * width;
}

// The upper 8 bits of each sample of a group, then the lower ones of all of them in one byte.
static void write_packed(const struct fake_mosaic *mosaic, const uint16_t *wide, uint32_t width,
                         uint8_t *row)
{
    unsigned low = mosaic->bits - 8, group = 8 / low;

    for (uint32_t x = 0; x < width; x += group, row += group + 1) {
        unsigned rest = 0;

        for (unsigned i = 0; i < group && x + i < width; i++) {
            row[i] = (uint8_t)(wide[x + i] >> 8);
            rest |= (unsigned)(wide[x + i] >> (8 - low) & ((1 << low) - 1)) << low * i;
        }
        row[group] = (uint8_t)rest;
    }
}

void fake_mosaic_write(const struct fake_mosaic *mosaic, const uint16_t *wide, uint32_t width,
                       uint8_t *row)
{
    if (mosaic->packed) {
        write_packed(mosaic, wide, width, row);
        return;
    }
    for (uint32_t x = 0; x < width; x++) {
        unsigned sample = wide[x] >> (16 - mosaic->bits);

        if (mosaic->bits == 8) {
            row[x] = (uint8_t)sample;
        } else {
            row[2 * x] = (uint8_t)sample;
            row[2 * x + 1] = (uint8_t)(sample >> 8);
        }
    }
}
