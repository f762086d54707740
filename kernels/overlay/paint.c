#include "kernels/overlay/paint.h"

#include "capture/frame.h"

uint8_t *paint_row_at(const struct frame *frame, unsigned plane, uint32_t y)
{
    return frame_plane(frame, plane) + y * frame->layout.planes[plane].stride;
}

uint8_t *paint_row(const struct paint *paint, uint32_t y)
{
    uint8_t *row = paint_row_at(paint->output, 0, y);

    paint->convert.row(paint_row_at(paint->input, 0, y), paint->input->layout.width, row);
    return row;
}

uint8_t *paint_chroma(const struct paint *paint, uint32_t y, uint8_t *scratch)
{
    uint8_t *row = y % 2 == 0 ? paint_row_at(paint->output, 1, y / 2) : scratch;

    paint->convert.chroma(paint->input, y / 2, paint->output->layout.planes[1].width_bytes / 2,
                          row);
    return row;
}
