// write_mp4 h264|h265 stream|part|whole FPS NAME OUT: writes the access units of standard input,
// Annex B with a delimiter in front of each, as MP4: a fragment a unit without an end, as a page
// gets it; a file with a fragment for each key frame and what follows it, as it is while it grows;
// or that file finished.
#include "daemon/video/mp4_writer.h"
#include "daemon/video/nal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE 1000u // bytes of a sample that are read at once
#define CAPTURED_S 1800000000LL

struct unit {
    const uint8_t *bytes;
    size_t size;
};

struct output {
    enum config_codec codec;
    bool is_stream;
    unsigned fps;
    FILE *file;
    struct mp4_writer *writer;
    GArray *units; // of struct unit, that wait for their fragment
    uint64_t written;
};

static void put(FILE *file, const void *bytes, size_t size)
{
    if (fwrite(bytes, 1, size, file) != size) {
        perror("write_mp4");
        exit(1);
    }
}

static void put_sample(const struct output *output, const struct unit *unit)
{
    struct mp4_sample_reader reader;
    uint8_t piece[PIECE];
    size_t size;

    mp4_sample_begin(&reader, output->codec, unit->bytes, unit->size);
    while ((size = mp4_sample_read(&reader, piece, sizeof piece)) > 0)
        put(output->file, piece, size);
}

static void flush(struct output *output)
{
    g_autoptr(GByteArray) head = g_byte_array_new();
    g_autofree struct mp4_sample *samples = g_new0(struct mp4_sample, output->units->len);
    uint32_t duration = MP4_CLOCK_HZ / output->fps;

    if (output->units->len == 0)
        return;
    for (guint i = 0; i < output->units->len; i++) {
        const struct unit *unit = &g_array_index(output->units, struct unit, i);

        samples[i] = (struct mp4_sample){
            .time = (output->written + i) * duration,
            .duration = duration,
            .size = mp4_sample_size(output->codec, unit->bytes, unit->size),
            .key_frame = nal_is_key_frame(output->codec, unit->bytes, unit->size),
        };
    }
    mp4_writer_fragment(output->writer, samples, output->units->len,
                        CAPTURED_S * NS_PER_S + (int64_t)output->written * NS_PER_S / output->fps,
                        head);
    put(output->file, head->data, head->len);
    for (guint i = 0; i < output->units->len; i++)
        put_sample(output, &g_array_index(output->units, struct unit, i));
    output->written += output->units->len;
    g_array_set_size(output->units, 0);
}

static void begin(struct output *output, const struct unit *unit, const char *name)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    const struct mp4_settings settings = {!output->is_stream, name, CAPTURED_S, 0};
    struct mp4_video video;
    int r = mp4_video_read(&video, output->codec, unit->bytes, unit->size);

    if (r < 0) {
        fprintf(stderr, "write_mp4: %s\n", strerror(-r));
        exit(1);
    }
    puts(video.codecs);
    output->writer = mp4_writer_new(&video, &settings);
    mp4_writer_start(output->writer, bytes);
    put(output->file, bytes->data, bytes->len);
}

static void take(struct output *output, const struct unit *unit, const char *name)
{
    if (!output->writer)
        begin(output, unit, name);
    if (output->is_stream || nal_is_key_frame(output->codec, unit->bytes, unit->size))
        flush(output);
    g_array_append_val(output->units, *unit);
}

static void finish(const struct output *output)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    uint8_t head[MP4_HEAD_SIZE];
    uint64_t offset;

    mp4_writer_finish(output->writer, bytes);
    put(output->file, bytes->data, bytes->len);
    mp4_writer_close_head(output->writer, head, &offset);
    fseek(output->file, (long)offset, SEEK_SET);
    put(output->file, head, sizeof head);
}

int main(int argc, char **argv)
{
    static uint8_t input[16 << 20];
    struct output output = {.units = g_array_new(FALSE, FALSE, sizeof(struct unit))};
    size_t size = fread(input, 1, sizeof input, stdin), begun = 0;
    struct nal_walk walk;

    if (argc != 6)
        return 1;
    output.codec = strcmp(argv[1], "h265") == 0 ? CONFIG_CODEC_H265 : CONFIG_CODEC_H264;
    output.is_stream = strcmp(argv[2], "stream") == 0;
    output.fps = (unsigned)atoi(argv[3]);
    output.file = fopen(argv[5], "we");
    nal_walk_begin(&walk, output.codec, input, size);
    while (nal_walk_next(&walk)) {
        size_t at = (size_t)(walk.nal - input);

        if (walk.type == walk.syntax->delimiter && at > 4) {
            take(&output, &(struct unit){input + begun, at - 3 - begun}, argv[4]);
            begun = at - 3;
        }
    }
    take(&output, &(struct unit){input + begun, size - begun}, argv[4]);
    flush(&output);
    if (strcmp(argv[2], "whole") == 0)
        finish(&output);
    mp4_writer_free(output.writer);
    g_array_unref(output.units);
    return fclose(output.file) == 0 ? 0 : 1;
}
