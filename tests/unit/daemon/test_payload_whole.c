// H.264 and H.265 in RTP packets, put together again: by GStreamer, and by a slow reader of random
// bytes.
#include "tests/unit/daemon/payload.h"

static const uint8_t sps[] = {0x67, 0x42, 0xc0, 0x1f, 0x99, 0xa0};
static const uint8_t pps[] = {0x68, 0xce, 0x3c, 0x81};

// The NAL units of an access unit, with a start code of 3 bytes each; byte by byte, as annex B
// says it, without delimiters.
static struct text read_slowly(const uint8_t *bytes, size_t size)
{
    struct text nals = {0};
    size_t begin = 0;

    for (size_t at = 0; at <= size; at++) {
        bool is_start = at + 3 <= size && memcmp(bytes + at, "\0\0\1", 3) == 0;

        if (!is_start && at < size)
            continue;
        size_t end = at;
        while (begin > 0 && end > begin && bytes[end - 1] == 0)
            end--;
        if (begin > 0 && end > begin) {
            append_start(&nals, 3);
            append(&nals, bytes + begin, end - begin);
        }
        begin = at + 3;
        at += is_start ? 2 : 0;
    }
    return nals;
}

// The same from the packets (sections 5.6, 5.7.1, 5.8).
static struct text put_together(const struct unit *unit)
{
    struct text nals = {0};
    uint8_t bytes[UNIT_PACKET_MAX];

    for (unsigned i = 0; i < unit->packet_count; i++) {
        size_t size = payload(unit, i, bytes);
        unsigned type = bytes[0] & 0x1f;

        if (type == 28) {
            uint8_t header = (bytes[0] & 0xe0) | (bytes[1] & 0x1f);

            if (bytes[1] & 0x80) {
                append_start(&nals, 3);
                append(&nals, &header, 1);
            }
            append(&nals, bytes + 2, size - 2);
        } else if (type == 24) {
            for (size_t at = 1; at < size;) {
                size_t nal_size = (size_t)bytes[at] << 8 | bytes[at + 1];

                append_start(&nals, 3);
                append(&nals, bytes + at + 2, nal_size);
                at += 2 + nal_size;
            }
        } else {
            append_start(&nals, 3);
            append(&nals, bytes, size);
        }
    }
    return nals;
}

// Mostly zeros and ones, so that there are many start codes, of NAL units of the types 0 to 7.
static void append_random(struct text *text, uint32_t *random, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        *random = *random * 1664525 + 1013904223;
        uint8_t byte = (uint8_t)(*random >> 24);
        byte = byte < 120 ? 0 : byte < 160 ? 1 : byte & 0xe7;
        append(text, &byte, 1);
    }
}

TEST(test_random_bytes_arrive_as_a_slow_reader_finds_them)
{
    uint32_t random = random_seed();
    unsigned good = 0;

    for (int round = 0; round < 3000; round++) {
        struct parameter_sets sets = {0};
        struct text text = {0};

        append(&text, "", 0);
        append_random(&text, &random, (random >> 8) % 60);
        if (round % 10 == 0) { // one that has to be cut
            append_nal(&text, 0x65, 1 + (random >> 8) % 9000);
            append_random(&text, &random, 30);
        }
        struct unit *unit = make_unit(&text);
        struct text expected = read_slowly(unit->bytes, unit->size);
        int r = payload_h264.packetize(unit, &sets);
        assert_int_equal(r, expected.size ? 0 : -EBADMSG);
        if (r == 0) {
            struct text got = put_together(unit);

            assert_int_equal(got.size, expected.size);
            assert_memory_equal(got.bytes, expected.bytes, got.size);
            free(got.bytes);
            good++;
        }
        free(expected.bytes);
        unit_unref(unit);
    }
    assert_in_range(good, 1500, 3000);
}

TEST(test_gstreamer_gets_the_h264_that_went_in)
{
    struct parameter_sets sets = {0};
    struct text text = {0};

    append_start(&text, 4);
    append(&text, sps, sizeof sps);
    append_start(&text, 4);
    append(&text, pps, sizeof pps);
    append_nal(&text, 0x06, 40);
    append_nal(&text, 0x65, 100000);
    append_nal(&text, 0x65, 1400);
    append_nal(&text, 0x65, 1401);
    append_nal(&text, 0x65, 2);
    append_nal(&text, 0x65, 1 + 3 * 1398);
    struct unit *unit = packetize(&payload_h264, &text, &sets);
    struct text got = receive(
        unit, &payload_h264, "rtph264depay ! video/x-h264,stream-format=byte-stream,alignment=nal");
    assert_int_equal(got.size, unit->size);
    assert_memory_equal(got.bytes, unit->bytes, got.size);
    free(got.bytes);
    unit_unref(unit);
}

TEST(test_gstreamer_gets_the_h265_that_went_in)
{
    struct parameter_sets sets = {0};
    struct text text = {0};

    append_nal265(&text, 32, 24);
    append_nal265(&text, 33, 42);
    append_nal265(&text, 34, 7);
    append_nal265(&text, 39, 50);
    append_nal265(&text, 19, 100000);
    append_nal265(&text, 19, 1400);
    append_nal265(&text, 19, 1401);
    append_nal265(&text, 19, 3);
    append_nal265(&text, 19, 2 + 3 * 1397);
    struct unit *unit = packetize(&payload_h265, &text, &sets);
    struct text got = receive(
        unit, &payload_h265, "rtph265depay ! video/x-h265,stream-format=byte-stream,alignment=nal");
    assert_int_equal(got.size, unit->size);
    assert_memory_equal(got.bytes, unit->bytes, got.size);
    free(got.bytes);
    unit_unref(unit);
}

int main(int argc, char **argv)
{
    gst_init(&argc, &argv);
    return run_unit_tests(NULL, NULL);
}
