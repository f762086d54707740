// JPEG in RTP packets, RFC 2435. Pictures are libjpeg-turbo's, and what GStreamer's receiver makes
// of the packets has to be the same picture.
#include "tests/unit/daemon/payload.h"

#include <turbojpeg.h>

struct jpeg {
    unsigned char *bytes;
    unsigned long size;
};

// A picture with edges and noise. `variable`: of libjpeg-turbo, set to `value` for this one
// picture; NULL: none.
static struct jpeg compress(int width, int height, int sampling, int quality, const char *variable,
                            const char *value)
{
    uint8_t *pixels = malloc((size_t)width * (size_t)height * 3);
    struct jpeg jpeg = {0};
    uint32_t random = 1;

    for (size_t i = 0; i < (size_t)width * (size_t)height * 3; i++) {
        random = random * 1664525 + 1013904223;
        pixels[i] = (uint8_t)((i / 3 % (size_t)width / 20 % 2) * 180 + (random >> 26));
    }
    if (variable)
        setenv(variable, value, 1);
    tjhandle handle = tjInitCompress();
    assert_int_equal(tjCompress2(handle, pixels, width, 0, height, TJPF_RGB, &jpeg.bytes,
                                 &jpeg.size, sampling, quality, TJFLAG_ACCURATEDCT),
                     0);
    tjDestroy(handle);
    if (variable)
        unsetenv(variable);
    free(pixels);
    return jpeg;
}

// Its pixels, `width` by `height` from the upper left corner of it (free()).
static uint8_t *decompress(const uint8_t *bytes, size_t size, int width, int height)
{
    tjhandle handle = tjInitDecompress();
    int real_width, real_height, sampling, colours;

    assert_int_equal(
        tjDecompressHeader3(handle, bytes, size, &real_width, &real_height, &sampling, &colours),
        0);
    // Sides are sent in units of eight pixels.
    assert_in_range(real_width, width, width + 7);
    assert_in_range(real_height, height, height + 7);
    uint8_t *all = malloc((size_t)real_width * (size_t)real_height * 3);
    uint8_t *pixels = malloc((size_t)width * (size_t)height * 3);
    assert_int_equal(tjDecompress2(handle, bytes, size, all, real_width, 0, real_height, TJPF_RGB,
                                   TJFLAG_ACCURATEDCT),
                     0);
    for (int row = 0; row < height; row++) {
        memcpy(pixels + (ptrdiff_t)row * width * 3, all + (ptrdiff_t)row * real_width * 3,
               (size_t)width * 3);
    }
    tjDestroy(handle);
    free(all);
    return pixels;
}

// Takes over the picture.
static struct unit *make_jpeg_unit(struct jpeg *jpeg)
{
    struct text text = {0};

    append(&text, jpeg->bytes, jpeg->size);
    tjFree(jpeg->bytes);
    return make_unit(&text);
}

// Whether the picture, which it takes over, is refused.
static bool is_refused(struct jpeg jpeg)
{
    struct parameter_sets sets = {0};
    struct unit *unit = make_jpeg_unit(&jpeg);
    int r = payload_jpeg.packetize(unit, &sets);

    assert_true(r == 0 || r == -EBADMSG);
    unit_unref(unit);
    return r < 0;
}

// Where a segment's marker is; the picture has it.
static size_t find_marker(const uint8_t *bytes, size_t size, uint8_t marker)
{
    for (size_t at = 0; at + 1 < size; at++) {
        if (bytes[at] == 0xff && bytes[at + 1] == marker)
            return at;
    }
    fail_msg("no marker %#x", marker);
    return 0;
}

// Sections 3.1 and 3.1.8, byte for byte.
TEST(test_the_headers_are_those_of_the_rfc)
{
    static const uint8_t first[] = {0, 0, 0, 0, 1, 255, 40, 30, 0, 0, 0, 128};
    struct jpeg jpeg = compress(320, 240, TJSAMP_420, 90, NULL, NULL);
    struct unit *unit = make_jpeg_unit(&jpeg);
    struct parameter_sets sets = {0};
    uint8_t bytes[UNIT_PACKET_MAX];
    size_t at = find_marker(unit->bytes, unit->size, 0xda) + 2 + 12;
    size_t scan_size = unit->size - at - 2; // without FF D9
    size_t sent = 0;

    assert_int_equal(payload_jpeg.packetize(unit, &sets), 0);
    assert_true(unit->packet_count > 3);
    for (unsigned i = 0; i < unit->packet_count; i++) {
        size_t size = payload(unit, i, bytes), head = i == 0 ? 8 + 4 + 128 : 8;

        if (i == 0) {
            size_t tables = find_marker(unit->bytes, unit->size, 0xdb);

            assert_memory_equal(bytes, first, sizeof first);
            assert_memory_equal(bytes + 12, unit->bytes + tables + 5, 64);
            assert_int_equal(size, UNIT_PACKET_MAX);
        }
        assert_int_equal(bytes[0], 0);
        assert_int_equal(bytes[1] << 16 | bytes[2] << 8 | bytes[3], sent);
        assert_memory_equal(bytes + 4, first + 4, 4);
        assert_memory_equal(bytes + head, unit->bytes + at + sent, size - head);
        sent += size - head;
    }
    assert_int_equal(sent, scan_size);
    unit_unref(unit);
}

// Section 3.1.7: the interval, then F, L and a count of ones: nothing is said of single intervals.
TEST(test_restart_intervals_have_a_header_of_their_own)
{
    static const uint8_t first[] = {0, 0, 0, 0, 64, 255, 40, 30, 0, 20, 0xff, 0xff, 0, 0, 0, 128};
    struct jpeg jpeg = compress(320, 240, TJSAMP_422, 90, "TJ_RESTART", "1"); // each row of blocks
    struct unit *unit = make_jpeg_unit(&jpeg);
    struct parameter_sets sets = {0};
    uint8_t bytes[UNIT_PACKET_MAX];

    assert_int_equal(payload_jpeg.packetize(unit, &sets), 0);
    payload(unit, 0, bytes);
    assert_memory_equal(bytes, first, sizeof first);
    payload(unit, 1, bytes);
    assert_int_equal(bytes[4], 64);
    assert_memory_equal(bytes + 8, first + 8, 4);
    unit_unref(unit);
}

TEST(test_gstreamer_gets_the_same_picture)
{
    static const struct {
        int width, height, sampling, quality;
        const char *restart; // rows; NULL: none
    } pictures[] = {
        {320, 240, TJSAMP_420, 90, NULL},   {640, 480, TJSAMP_422, 50, NULL},
        {333, 241, TJSAMP_420, 75, NULL},   {331, 7, TJSAMP_422, 75, NULL},
        {1, 1, TJSAMP_420, 100, NULL},      {2040, 2040, TJSAMP_420, 30, NULL},
        {320, 240, TJSAMP_420, 90, "1"},    {1000, 333, TJSAMP_422, 90, "2"},
        {1920, 1080, TJSAMP_422, 100, "1"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(pictures); i++) {
        int width = pictures[i].width, height = pictures[i].height;
        struct jpeg jpeg = compress(width, height, pictures[i].sampling, pictures[i].quality,
                                    pictures[i].restart ? "TJ_RESTART" : NULL, pictures[i].restart);
        struct unit *unit = make_jpeg_unit(&jpeg);
        struct parameter_sets sets = {0};

        assert_int_equal(payload_jpeg.packetize(unit, &sets), 0);
        struct text got = receive(unit, &payload_jpeg, "rtpjpegdepay");
        uint8_t *sent_pixels = decompress(unit->bytes, unit->size, width, height);
        uint8_t *got_pixels = decompress(got.bytes, got.size, width, height);
        assert_memory_equal(sent_pixels, got_pixels, (size_t)width * (size_t)height * 3);
        free(sent_pixels);
        free(got_pixels);
        free(got.bytes);
        unit_unref(unit);
    }
}

TEST(test_what_a_receiver_could_not_know_is_refused)
{
    assert_false(is_refused(compress(64, 64, TJSAMP_420, 90, NULL, NULL)));
    assert_true(is_refused(compress(64, 64, TJSAMP_444, 90, NULL, NULL)));
    assert_true(is_refused(compress(64, 64, TJSAMP_440, 90, NULL, NULL)));
    assert_true(is_refused(compress(64, 64, TJSAMP_GRAY, 90, NULL, NULL)));
    assert_true(is_refused(compress(2048, 64, TJSAMP_420, 90, NULL, NULL)));
    assert_true(is_refused(compress(64, 2041, TJSAMP_420, 90, NULL, NULL)));
    assert_true(is_refused(compress(64, 64, TJSAMP_420, 90, "TJ_OPTIMIZE", "1")));
    assert_true(is_refused(compress(64, 64, TJSAMP_420, 90, "TJ_PROGRESSIVE", "1")));
}

// A segment with less than its table.
TEST(test_a_quantization_table_that_is_cut_is_refused)
{
    struct jpeg jpeg = compress(64, 64, TJSAMP_420, 90, NULL, NULL);
    size_t tables = find_marker(jpeg.bytes, jpeg.size, 0xdb);

    assert_int_equal(jpeg.bytes[tables + 3], 2 + 1 + 64);
    jpeg.bytes[tables + 3]--;
    memmove(jpeg.bytes + tables + 10, jpeg.bytes + tables + 11, jpeg.size - tables - 11);
    jpeg.size--;
    assert_true(is_refused(jpeg));
}

// Cameras' MJPEG often has none, and pads what is behind.
TEST(test_pictures_without_huffman_tables_and_with_padding_are_sent)
{
    struct jpeg jpeg = compress(64, 64, TJSAMP_422, 90, NULL, NULL);
    struct parameter_sets sets = {0};
    struct text text = {0};
    size_t tables = find_marker(jpeg.bytes, jpeg.size, 0xc4);
    size_t scan = find_marker(jpeg.bytes, jpeg.size, 0xda);

    append(&text, jpeg.bytes, tables);
    append(&text, jpeg.bytes + scan, jpeg.size - scan);
    append(&text, (const uint8_t[500]){0}, 500);
    struct unit *unit = make_unit(&text);
    assert_int_equal(payload_jpeg.packetize(unit, &sets), 0);
    struct text got = receive(unit, &payload_jpeg, "rtpjpegdepay");
    uint8_t *sent_pixels = decompress(jpeg.bytes, jpeg.size, 64, 64);
    uint8_t *got_pixels = decompress(got.bytes, got.size, 64, 64);
    assert_memory_equal(sent_pixels, got_pixels, 64 * 64 * 3);
    const struct unit_packet *last = &unit->packets[unit->packet_count - 1];
    assert_int_equal(last->offset + last->size, tables + jpeg.size - scan - 2);
    free(sent_pixels);
    free(got_pixels);
    free(got.bytes);
    tjFree(jpeg.bytes);
    unit_unref(unit);
}

// Cut short anywhere, and with any one byte of its headers changed: nothing is read beyond it.
TEST(test_broken_pictures_are_refused_or_sent_within_their_bounds)
{
    struct jpeg jpeg = compress(32, 32, TJSAMP_420, 50, "TJ_RESTART", "1");
    size_t scan = find_marker(jpeg.bytes, jpeg.size, 0xda) + 14;
    uint32_t random = random_seed();

    for (size_t i = 0; i < jpeg.size * 4; i++) {
        size_t size = i < jpeg.size ? i : jpeg.size;
        struct parameter_sets sets = {0};
        struct text text = {0};

        append(&text, jpeg.bytes, size);
        if (i >= jpeg.size) {
            random = random * 1664525 + 1013904223;
            text.bytes[(i - jpeg.size) % scan] = (uint8_t)(random >> 24);
        }
        struct unit *unit = make_unit(&text);
        int r = payload_jpeg.packetize(unit, &sets);
        assert_true(r == 0 || r == -EBADMSG);
        assert_true(r == -EBADMSG || i > scan);
        for (unsigned packet = 0; r == 0 && packet < unit->packet_count; packet++) {
            const struct unit_packet *at = &unit->packets[packet];

            assert_in_range(at->head_size + at->size, 1, UNIT_PACKET_MAX);
            assert_true(at->offset + at->size <= unit->size);
        }
        unit_unref(unit);
    }
    tjFree(jpeg.bytes);
}

// Bytes behind the offset's 24 bits could not be told from the beginning.
TEST(test_a_scan_of_more_than_16_MB_is_refused)
{
    for (size_t size = (1 << 24) - 1; size <= 1 << 24; size++) {
        struct jpeg jpeg = compress(64, 64, TJSAMP_420, 50, NULL, NULL);
        size_t scan = find_marker(jpeg.bytes, jpeg.size, 0xda) + 14;
        struct parameter_sets sets = {0};
        struct text text = {0};
        uint8_t *more = malloc(size);

        memset(more, 0x55, size);
        append(&text, jpeg.bytes, scan);
        append(&text, more, size);
        struct unit *unit = make_unit(&text);
        assert_int_equal(payload_jpeg.packetize(unit, &sets), size < 1 << 24 ? 0 : -EBADMSG);
        unit_unref(unit);
        free(more);
        tjFree(jpeg.bytes);
    }
}

int main(int argc, char **argv)
{
    gst_init(&argc, &argv);
    return run_unit_tests(NULL, NULL);
}
