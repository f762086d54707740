// H.265 in RTP packets. Expected bytes are worked out by hand from RFC 7798.
#include "tests/unit/daemon/payload.h"

static const uint8_t vps[] = {0x40, 0x01, 0x0c, 0x01};
static const uint8_t sps[] = {0x42, 0x01, 0x01, 0x21, 0x60};
static const uint8_t pps[] = {0x44, 0x01, 0xc1};

static void append_sets(struct text *text)
{
    append_start(text, 4);
    append(text, vps, sizeof vps);
    append_start(text, 3);
    append(text, sps, sizeof sps);
    append_start(text, 4);
    append(text, pps, sizeof pps);
}

// Section 4.4.2: a header of type 48, then sizes of 16 bits. A delimiter (type 35) is left out.
TEST(test_parameter_sets_travel_in_one_aggregation_packet)
{
    static const uint8_t aggregation[] = {48 << 1, 1, 0, 4,    0x40, 0x01, 0x0c,
                                          0x01,    0, 5, 0x42, 0x01, 0x01, 0x21,
                                          0x60,    0, 3, 0x44, 0x01, 0xc1};
    static const uint8_t slice[] = {0x26, 0x01, 0xaf};
    struct parameter_sets sets = {0};
    struct text text = {0};

    append_start(&text, 4);
    append(&text, "\x46\x01\x50", 3);
    append_sets(&text);
    assert_false(payload_h265.is_described(&sets));
    append_start(&text, 3);
    append(&text, slice, sizeof slice);
    struct unit *unit = packetize(&payload_h265, &text, &sets);
    assert_int_equal(unit->packet_count, 2);
    assert_payload(unit, 0, aggregation, sizeof aggregation);
    assert_payload(unit, 1, slice, sizeof slice);
    assert_true(payload_h265.is_described(&sets));
    assert_int_equal(sets.sizes[0], sizeof vps);
    assert_memory_equal(sets.sets[0], vps, sizeof vps);
    assert_int_equal(sets.sizes[1], sizeof sps);
    assert_memory_equal(sets.sets[1], sps, sizeof sps);
    assert_int_equal(sets.sizes[2], sizeof pps);
    assert_memory_equal(sets.sets[2], pps, sizeof pps);
    unit_unref(unit);
}

// Section 4.4.2: LayerId and TID are the lowest of those inside.
TEST(test_an_aggregation_packet_has_the_lowest_layer_and_temporal_id)
{
    // Prefix SEI (39): layer 33 and ID 3, layer 2 and ID 5.
    static const uint8_t first[] = {39 << 1 | 1, 1 << 3 | 3, 0x11};
    static const uint8_t second[] = {39 << 1, 2 << 3 | 5, 0x12};
    static const uint8_t header[] = {48 << 1, 2 << 3 | 3, 0, 3};

    for (int turned = 0; turned < 2; turned++) {
        struct parameter_sets sets = {0};
        struct text text = {0};
        uint8_t bytes[UNIT_PACKET_MAX];

        append_start(&text, 4);
        append(&text, turned ? second : first, 3);
        append_start(&text, 4);
        append(&text, turned ? first : second, 3);
        struct unit *unit = packetize(&payload_h265, &text, &sets);
        assert_int_equal(unit->packet_count, 1);
        assert_int_equal(payload(unit, 0, bytes), 2 + 2 * (2 + 3));
        assert_memory_equal(bytes, header, sizeof header);
        unit_unref(unit);
    }
}

// Section 4.4.3: a payload header of type 49 with layer and temporal ID of the NAL unit, then S, E
// and its type; its own two bytes of header are not sent.
TEST(test_a_long_slice_travels_in_fragmentation_units)
{
    struct parameter_sets sets = {0};
    struct text text = {0};
    uint8_t bytes[UNIT_PACKET_MAX];
    const size_t begin = 4;

    append_nal265(&text, 19, 2 + 2 * 1397 + 1); // IDR_W_RADL
    text.bytes[begin + 1] = 2 << 3 | 5;
    struct unit *unit = packetize(&payload_h265, &text, &sets);
    assert_int_equal(unit->packet_count, 3);
    for (unsigned i = 0; i < 3; i++) {
        size_t size = payload(unit, i, bytes);

        assert_int_equal(size, i < 2 ? 1400 : 4);
        assert_int_equal(bytes[0], 49 << 1);
        assert_int_equal(bytes[1], 2 << 3 | 5);
        assert_int_equal(bytes[2], 19 | (i == 0 ? 0x80 : 0) | (i == 2 ? 0x40 : 0));
        assert_memory_equal(bytes + 3, unit->bytes + begin + 2 + (size_t)i * 1397, size - 3);
    }
    unit_unref(unit);
}

TEST(test_the_longest_that_fits_travels_alone)
{
    struct parameter_sets sets = {0};

    for (size_t size = UNIT_PACKET_MAX - 1; size <= UNIT_PACKET_MAX + 3; size++) {
        struct text text = {0};

        append_nal265(&text, 1, size);
        struct unit *unit = packetize(&payload_h265, &text, &sets);
        assert_int_equal(unit->packet_count, size <= UNIT_PACKET_MAX ? 1 : 2);
        unit_unref(unit);
    }
}

// The end of a sequence (36) is a header alone; half a header is no NAL unit.
TEST(test_a_header_alone_is_sent)
{
    struct parameter_sets sets = {0};
    struct text text = {0};

    append(&text, "\0\0\1\x02\1\xaf\0\0\1\x42\0\0\1\x48\1", 15);
    struct unit *unit = packetize(&payload_h265, &text, &sets);
    assert_int_equal(unit->packet_count, 2);
    assert_payload(unit, 0, "\x02\1\xaf", 3);
    assert_payload(unit, 1, "\x48\1", 2);
    unit_unref(unit);
}

TEST(test_what_has_no_nal_unit_is_refused)
{
    static const struct {
        const char *bytes;
        size_t size;
    } texts[] = {{"", 0},         {"\0\0\1", 3},           {"\0\0\1\x26", 4},
                 {"no H.265", 8}, {"\0\0\1\x46\1\x50", 6}, {"\0\0\0\0\0\0\1\0\0\1", 10}};

    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        struct parameter_sets sets = {0};
        struct text text = {0};

        append(&text, texts[i].bytes, texts[i].size);
        struct unit *unit = make_unit(&text);
        assert_int_equal(payload_h265.packetize(unit, &sets), -EBADMSG);
        assert_false(payload_h265.is_described(&sets));
        unit_unref(unit);
    }
}

// Section 7.1; base64 by another program.
TEST(test_sdp_names_the_parameter_sets)
{
    struct parameter_sets sets = {0};
    struct text text = {0};

    append_sets(&text);
    unit_unref(packetize(&payload_h265, &text, &sets));
    g_autofree char *sdp = fmtp(&payload_h265, &sets);
    assert_string_equal(sdp, "sprop-vps=QAEMAQ==;sprop-sps=QgEBIWA=;sprop-pps=RAHB");
}

RUN_TESTS(NULL, NULL)
