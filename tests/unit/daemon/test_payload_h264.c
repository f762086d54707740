// H.264 in RTP packets. Expected bytes are worked out by hand from RFC 6184.
#include "tests/unit/daemon/payload.h"

static const uint8_t sps[] = {0x67, 0x42, 0xc0, 0x1f, 0x99, 0xa0};
static const uint8_t pps[] = {0x68, 0xce, 0x3c, 0x80 | 1};

// Section 5.6: the NAL unit is the payload.
TEST(test_a_slice_that_fits_travels_alone)
{
    static const uint8_t slice[] = {0x41, 0x9a, 0x24, 0x6c};
    struct parameter_sets sets = {0};
    struct text text = {0};

    append_start(&text, 4);
    append(&text, slice, sizeof slice);
    struct unit *unit = packetize(&payload_h264, &text, &sets);
    assert_int_equal(unit->packet_count, 1);
    assert_payload(unit, 0, slice, sizeof slice);
    assert_int_equal(sets.sizes[0], 0);
    unit_unref(unit);
}

TEST(test_the_longest_that_fits_travels_alone)
{
    struct parameter_sets sets = {0};

    for (size_t size = UNIT_PACKET_MAX - 1; size <= UNIT_PACKET_MAX + 1; size++) {
        struct text text = {0};

        append_nal(&text, 0x41, size);
        struct unit *unit = packetize(&payload_h264, &text, &sets);
        assert_int_equal(unit->packet_count, size <= UNIT_PACKET_MAX ? 1 : 2);
        unit_unref(unit);
    }
}

// Section 5.7.1: type 24 with the highest nal_ref_idc inside, then sizes of 16 bits.
TEST(test_parameter_sets_and_sei_travel_in_one_stap_a)
{
    static const uint8_t stap[] = {0x60 | 24, 0,    2,    0x06, 0x05, 0,    6,    0x67, 0x42, 0xc0,
                                   0x1f,      0x99, 0xa0, 0,    4,    0x68, 0xce, 0x3c, 0x81};
    static const uint8_t slice[] = {0x65, 0x88, 0x84};
    struct parameter_sets sets = {0};
    struct text text = {0};

    append_start(&text, 4);
    append(&text, "\x06\x05", 2);
    append_start(&text, 3);
    append(&text, sps, sizeof sps);
    append_start(&text, 4);
    append(&text, pps, sizeof pps);
    append_start(&text, 3);
    append(&text, slice, sizeof slice);
    struct unit *unit = packetize(&payload_h264, &text, &sets);
    assert_int_equal(unit->packet_count, 2);
    assert_payload(unit, 0, stap, sizeof stap);
    assert_payload(unit, 1, slice, sizeof slice);
    assert_int_equal(sets.sizes[0], sizeof sps);
    assert_memory_equal(sets.sets[0], sps, sizeof sps);
    assert_int_equal(sets.sizes[1], sizeof pps);
    assert_memory_equal(sets.sets[1], pps, sizeof pps);
    assert_true(payload_h264.is_described(&sets));
    unit_unref(unit);
}

// Its nal_ref_idc is 0 where all inside have 0.
TEST(test_two_sei_messages_make_a_stap_a_of_no_importance)
{
    static const uint8_t stap[] = {24, 0, 2, 0x06, 0x05, 0, 2, 0x06, 0x01};
    struct parameter_sets sets = {0};
    struct text text = {0};

    append(&text, "\0\0\1\x06\x05\0\0\1\x06\x01\0\0\1\x01\x9a", 16 - 1);
    struct unit *unit = packetize(&payload_h264, &text, &sets);
    assert_int_equal(unit->packet_count, 2);
    assert_payload(unit, 0, stap, sizeof stap);
    assert_payload(unit, 1, "\x01\x9a", 2);
    unit_unref(unit);
}

TEST(test_a_lone_parameter_set_travels_as_it_is)
{
    struct parameter_sets sets = {0};
    struct text text = {0};

    append_start(&text, 3);
    append(&text, pps, sizeof pps);
    struct unit *unit = packetize(&payload_h264, &text, &sets);
    assert_int_equal(unit->packet_count, 1);
    assert_payload(unit, 0, pps, sizeof pps);
    assert_false(payload_h264.is_described(&sets));
    unit_unref(unit);
}

// A NAL unit that does not fit into a STAP-A travels behind it, in the order of the access unit.
TEST(test_a_full_stap_a_is_followed_by_another)
{
    struct parameter_sets sets = {0};
    struct text text = {0};
    uint8_t bytes[UNIT_PACKET_MAX];

    append_nal(&text, 0x06, 600);
    append_nal(&text, 0x06, 600);
    append_nal(&text, 0x06, 195); // 1 + 3 * 2 + 600 + 600 + 195 = 1402
    append_nal(&text, 0x06, 3000);
    append_nal(&text, 0x41, 10);
    struct unit *unit = packetize(&payload_h264, &text, &sets);
    assert_int_equal(unit->packet_count, 1 + 1 + 3 + 1);
    assert_int_equal(payload(unit, 0, bytes), 1 + 2 * 602);
    assert_int_equal(bytes[0], 24);
    assert_int_equal(payload(unit, 1, bytes), 195);
    assert_int_equal(bytes[0], 0x06);
    assert_int_equal(payload(unit, 2, bytes), UNIT_PACKET_MAX);
    assert_int_equal(bytes[0], 28);
    assert_int_equal(bytes[1], 0x80 | 6);
    assert_int_equal(payload(unit, 5, bytes), 10);
    unit_unref(unit);
}

TEST(test_a_stap_a_may_be_full_to_the_last_byte)
{
    struct parameter_sets sets = {0};

    for (size_t size = 193; size <= 194; size++) {
        struct text text = {0};

        append_nal(&text, 0x06, 600);
        append_nal(&text, 0x06, 600);
        append_nal(&text, 0x06, size); // 1 + 3 * 2 + 600 + 600 + 193 = 1400
        struct unit *unit = packetize(&payload_h264, &text, &sets);
        assert_int_equal(unit->packet_count, size == 193 ? 1 : 2);
        unit_unref(unit);
    }
}

// Section 5.8: the FU indicator has F and NRI of the NAL unit and type 28, the FU header S, E and
// its type; the NAL unit's own header is not sent.
TEST(test_a_long_slice_travels_in_fu_a_fragments)
{
    struct parameter_sets sets = {0};
    struct text text = {0};
    uint8_t bytes[UNIT_PACKET_MAX];
    // 1398 of its bytes travel in a packet: the header and 2 * 1398 + 1 bytes.
    append_nal(&text, 0x65, 1 + 2 * 1398 + 1);
    const size_t begin = 4;
    struct unit *unit = packetize(&payload_h264, &text, &sets);

    assert_int_equal(unit->packet_count, 3);
    assert_int_equal(payload(unit, 0, bytes), 1400);
    assert_int_equal(bytes[0], 0x60 | 28);
    assert_int_equal(bytes[1], 0x80 | 5);
    assert_memory_equal(bytes + 2, unit->bytes + begin + 1, 1398);
    assert_int_equal(payload(unit, 1, bytes), 1400);
    assert_int_equal(bytes[0], 0x60 | 28);
    assert_int_equal(bytes[1], 5);
    assert_memory_equal(bytes + 2, unit->bytes + begin + 1 + 1398, 1398);
    assert_int_equal(payload(unit, 2, bytes), 3);
    assert_int_equal(bytes[0], 0x60 | 28);
    assert_int_equal(bytes[1], 0x40 | 5);
    assert_int_equal(bytes[2], unit->bytes[begin + 1 + 2 * 1398]);
    unit_unref(unit);
}

// A fragment must not both begin and end a NAL unit (section 5.8).
TEST(test_no_fragment_is_the_only_one)
{
    struct parameter_sets sets = {0};
    uint8_t bytes[UNIT_PACKET_MAX];

    for (size_t size = UNIT_PACKET_MAX + 1; size < UNIT_PACKET_MAX + 10; size++) {
        struct text text = {0};

        append_nal(&text, 0x21, size);
        struct unit *unit = packetize(&payload_h264, &text, &sets);
        assert_int_equal(unit->packet_count, 2);
        payload(unit, 0, bytes);
        assert_int_equal(bytes[0], 0x20 | 28);
        assert_int_equal(bytes[1], 0x80 | 1);
        payload(unit, 1, bytes);
        assert_int_equal(bytes[1], 0x40 | 1);
        unit_unref(unit);
    }
}

TEST(test_a_picture_of_3_MB_is_cut_to_the_last_byte)
{
    struct parameter_sets sets = {0};
    struct text text = {0};
    uint8_t bytes[UNIT_PACKET_MAX];
    const size_t size = 3 * 1024 * 1024;
    size_t at = 4 + 1;

    append_nal(&text, 0x65, size);
    struct unit *unit = packetize(&payload_h264, &text, &sets);
    assert_int_equal(unit->packet_count, (size - 1 + 1397) / 1398);
    for (unsigned i = 0; i < unit->packet_count; i++) {
        size_t part = payload(unit, i, bytes) - 2;

        assert_int_equal(bytes[1], 5 | (i == 0 ? 0x80 : 0) | (at + part == 4 + size ? 0x40 : 0));
        assert_memory_equal(bytes + 2, unit->bytes + at, part);
        at += part;
    }
    assert_int_equal(at, 4 + size);
    unit_unref(unit);
}

// Annex B: three bytes or four, zeros behind a NAL unit are none of it; empty ones and access unit
// delimiters are left out.
TEST(test_start_codes_of_all_kinds_are_read)
{
    static const uint8_t unit_bytes[] = {
        0,    0, 0, 0,    0,    1, 0x09, 0xf0, 0, // a delimiter behind too many zeros
        0,    0, 1, 0x41, 0x80, 0, 0,    3,    1,
        0xff, 0, 0, 0,    0,                      // emulation prevention, trailing zeros
        0,    0, 1, 0,    0,    1,                // empty
        0,    0, 0, 1,    0x41, 0, 0,    2,       // no start code
        0,    0, 1, 0x41, 1,                      // ends in a 1
        0,    0, 1, 0x09, 0x10, 0, 0,    0,    1, // a delimiter, and nothing
    };
    struct parameter_sets sets = {0};
    struct text text = {0};

    append(&text, unit_bytes, sizeof unit_bytes);
    struct unit *unit = packetize(&payload_h264, &text, &sets);
    assert_int_equal(unit->packet_count, 3);
    assert_payload(unit, 0, "\x41\x80\0\0\3\1\xff", 7);
    assert_payload(unit, 1, "\x41\0\0\2", 4);
    assert_payload(unit, 2, "\x41\1", 2);
    unit_unref(unit);
}

TEST(test_what_has_no_nal_unit_is_refused)
{
    static const struct {
        const char *bytes;
        size_t size;
    } texts[] = {{"", 0},
                 {"\0", 1},
                 {"\1", 1},
                 {"\0\0\1", 3},
                 {"\0\0\0\1", 4},
                 {"\0\0\1\0\0\1", 6},
                 {"\0\0\0\0\0\0\0\0", 8},
                 {"\0\1\0\1\0\1", 6},
                 {"this is no H.264", 16},
                 {"\0\0\1\x09\xf0", 5}, // a delimiter alone is no picture
                 {"\x65\x88\x84", 3}};

    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        struct parameter_sets sets = {0};
        struct text text = {0};

        append(&text, texts[i].bytes, texts[i].size);
        struct unit *unit = make_unit(&text);
        assert_int_equal(payload_h264.packetize(unit, &sets), -EBADMSG);
        unit_unref(unit);
    }
}

// One that is too long for what SDP has room for does not stand for what was there before.
TEST(test_a_parameter_set_that_is_too_long_is_no_description)
{
    struct parameter_sets sets = {0};
    struct text text = {0};

    append_nal(&text, 0x67, 256);
    append_nal(&text, 0x68, 4);
    unit_unref(packetize(&payload_h264, &text, &sets));
    assert_int_equal(sets.sizes[0], 256);
    assert_true(payload_h264.is_described(&sets));
    text = (struct text){0};
    append_nal(&text, 0x67, 257);
    unit_unref(packetize(&payload_h264, &text, &sets));
    assert_int_equal(sets.sizes[0], 0);
    assert_false(payload_h264.is_described(&sets));
}

// Section 8.1; base64 by another program: printf '\x67\x42…' | base64.
TEST(test_sdp_names_profile_and_parameter_sets)
{
    struct parameter_sets sets = {.sizes = {sizeof sps, sizeof pps}};
    struct parameter_sets none = {0};

    memcpy(sets.sets[0], sps, sizeof sps);
    memcpy(sets.sets[1], pps, sizeof pps);
    g_autofree char *text = fmtp(&payload_h264, &sets);
    assert_string_equal(text, "packetization-mode=1;profile-level-id=42C01F;"
                              "sprop-parameter-sets=Z0LAH5mg,aM48gQ==");
    g_autofree char *empty = fmtp(&payload_h264, &none);
    assert_string_equal(empty, "packetization-mode=1");
}

RUN_TESTS(NULL, NULL)
