// Into the file $FAKE_CAMERA_RECORD each process writes a line for what it is told: "PID configure
// BACKEND BLOCKS", "PID reconfigure BACKEND BLOCKS" while it runs, "PID try-gpu BACKEND", "PID
// pass-over BITS"; BLOCKS are "32x8 0x0 0x0", in the order of enum config_kernel, with " rows 16"
// behind them where the first has rows.
#pragma once

#include "config/config.h"

#include <glib.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static inline void record(const char *format, ...) __attribute__((format(printf, 1, 2)));
static inline void record(const char *format, ...)
{
    const char *path = getenv("FAKE_CAMERA_RECORD");
    FILE *file = path ? fopen(path, "ae") : NULL;
    va_list arguments;

    if (file) {
        fprintf(file, "%d ", getpid());
        va_start(arguments, format);
        vfprintf(file, format, arguments);
        va_end(arguments);
        fclose(file);
    }
}

static inline void record_blocks(const char *what, const struct config_block *blocks)
{
    g_autofree char *rows =
        blocks[0].rows ? g_strdup_printf(" rows %d", blocks[0].rows) : g_strdup("");

    record("%s %dx%d %dx%d %dx%d%s\n", what, blocks[0].x, blocks[0].y, blocks[1].x, blocks[1].y,
           blocks[2].x, blocks[2].y, rows);
}
