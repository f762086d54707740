// The last row stage of a stream: computed gray, 0..255, to limited range luma,
// Y = 16 + (219 m + 127) / 255. Its chroma is constant and not written per picture (view.c).
#pragma once

struct stage_ops;

extern const struct stage_ops compose_ops;
