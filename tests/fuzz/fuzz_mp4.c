// Access units as cameras' encoders write them, made samples of MP4: the description of their
// parameter sets, and their bytes, in one piece and byte by byte.
//
// Parsers: daemon/video/mp4_video.c daemon/video/h265_parameters.c daemon/video/h264_sps.c
// Parsers: daemon/video/nal.c
#include "tests/fuzz/fuzz.h"

#include "daemon/video/mp4_video.h"

static size_t read_all(enum config_codec codec, const uint8_t *bytes, size_t size, uint8_t *to,
                       size_t piece)
{
    struct mp4_sample_reader reader;
    size_t written = 0, more;

    mp4_sample_begin(&reader, codec, bytes, size);
    while ((more = mp4_sample_read(&reader, to + written, piece)) > 0) {
        fuzz_claim(more <= piece);
        written += more;
    }
    return written;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mp4_video video, again;

    for (enum config_codec codec = CONFIG_CODEC_H264; codec <= CONFIG_CODEC_H265; codec++) {
        uint8_t *bytes = (uint8_t *)fuzz_text(data, size); // so that its end is found out
        size_t expected = mp4_sample_size(codec, bytes, size);
        uint8_t *once = malloc(expected + 1), *bytewise = malloc(expected + 1);

        if (mp4_video_read(&video, codec, bytes, size) == 0) {
            fuzz_claim(video.configuration_size <= MP4_CONFIGURATION_MAX);
            fuzz_claim(mp4_video_read(&again, codec, bytes, size) == 0);
            fuzz_claim(mp4_video_is_same(&video, &again));
        }
        fuzz_claim(once && bytewise);
        fuzz_claim(read_all(codec, bytes, size, once, expected + 1) == expected);
        fuzz_claim(read_all(codec, bytes, size, bytewise, 1) == expected);
        fuzz_claim(memcmp(once, bytewise, expected) == 0);
        free(once);
        free(bytewise);
        free(bytes);
    }
    return 0;
}
