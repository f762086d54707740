// An automatic threshold by Otsu's method: the first stages of a view into a picture of its own,
// its histogram, and from that the level that parts it best. So it is two passes over a frame.
//
// N. Otsu, "A threshold selection method from gray-level histograms", 1979: of all levels the one
// with the largest variance between the pixels below and the rest; the lowest of several alike. In
// double arithmetic in the order OpenCV has it, so equal to cv2.THRESH_OTSU + 1.
#pragma once

#include "kernels/stage.h"

struct otsu;
struct pool;

// For `count` row stages over pictures of `width` x `height` pixels; they are not owned and outlive
// the result. -ENOMEM.
int otsu_new(const struct stage *stages, unsigned count, uint32_t width, uint32_t height,
             struct otsu **ret_otsu);
void otsu_free(struct otsu *otsu); // takes NULL
// As rows_set_pool().
int otsu_set_pool(struct otsu *otsu, struct pool *pool);

// Computes the picture from the plane the first stage reads (stride in bytes). Returns the level, 1
// to 255, from which on pixels are white; *ret_picture is the picture, owned by `otsu`, with rows
// *ret_stride bytes apart.
uint8_t otsu_run(struct otsu *otsu, const uint8_t *input, size_t input_stride,
                 const uint8_t **ret_picture, size_t *ret_stride);

// The level for a picture with so many pixels of each value.
uint8_t otsu_level(const uint32_t histogram[256]);
