#include "capture/source.h"

#include <stdio.h>

void source_mode_describe(struct source_mode *mode, const char *label)
{
    const struct frame_layout *layout = &mode->layout;
    char rate[32];

    if (mode->fps_denominator == 1)
        snprintf(rate, sizeof rate, "%u", mode->fps_numerator);
    else
        snprintf(rate, sizeof rate, "%.2f", (double)mode->fps_numerator / mode->fps_denominator);
    snprintf(mode->description, sizeof mode->description, "%s %s %ux%u@%s", label,
             layout->format->name, layout->width, layout->height, rate);
}

int source_start(struct source *source, struct error *error)
{
    return source->ops->start(source, error);
}

int source_next(struct source *source, int timeout_ms, struct error *error,
                struct frame **ret_frame)
{
    return source->ops->next(source, timeout_ms, error, ret_frame);
}

void source_close(struct source *source)
{
    if (source)
        source->ops->close(source);
}
