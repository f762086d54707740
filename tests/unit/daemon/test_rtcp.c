// RTCP as it is written and as it comes from a network.
#include "tests/unit/unit.h"

#include "config/base.h"
#include "daemon/front/stream/rtcp.h"

#include <string.h>

// Worked by hand from RFC 3550, sections 6.4.1, 6.5 and 6.6. 1.5 s after 1970 is 2208988801.5 on
// NTP's scale, 0x83aa7e81.80000000.
TEST(test_a_report_names_the_wall_clock_and_what_was_sent)
{
    static const uint8_t expected[] = {
        0x80, 200,  0,    6,    0xca, 0xfe, 0xba, 0xbe, // SR, seven words
        0x83, 0xaa, 0x7e, 0x81, 0x80, 0,    0,    0,    // NTP time
        0x01, 0x02, 0x03, 0x04,                         // RTP time
        0,    0,    0,    5,    0,    0,    0x12, 0x34, // packets, octets
        0x81, 202,  0,    3,    0xca, 0xfe, 0xba, 0xbe, // SDES, four words
        1,    2,    'm',  'e',  0,    0,    0,    0,    // CNAME and the list's end
        0x81, 203,  0,    1,    0xca, 0xfe, 0xba, 0xbe, // BYE
    };
    struct rtcp_sender sender = {.ssrc = 0xcafebabe,
                                 .wall_ns = 1500 * NS_PER_MS,
                                 .timestamp = 0x01020304,
                                 .packets = 5,
                                 .octets = 0x1234,
                                 .cname = "me",
                                 .bye = true};
    uint8_t bytes[RTCP_REPORT_MAX];

    assert_int_equal(rtcp_write(&sender, bytes), sizeof expected);
    assert_memory_equal(bytes, expected, sizeof expected);
    sender.bye = false;
    assert_int_equal(rtcp_write(&sender, bytes), sizeof expected - 8);
    assert_memory_equal(bytes, expected, sizeof expected - 8);
}

// A list of items ends in at least one zero and is filled up to words (section 6.5).
TEST(test_names_of_any_length_end_in_zeros_on_a_word)
{
    char name[65] = "";

    for (size_t length = 0; length <= 64; length++) {
        const struct rtcp_sender sender = {.cname = name};
        uint8_t bytes[RTCP_REPORT_MAX];
        size_t size = rtcp_write(&sender, bytes);

        assert_true(size <= sizeof bytes);
        assert_int_equal(size % 4, 0);
        assert_int_equal(4 * (bytes[30] << 8 | bytes[31]) + 4, size - 28);
        assert_int_equal(bytes[37], length);
        assert_in_range(size - (38 + length), 1, 4);
        for (size_t at = 38 + length; at < size; at++)
            assert_int_equal(bytes[at], 0);
        name[length] = length < 64 ? 'x' : '\0';
    }
}

// RR with a block, SDES, and a PLI: what GStreamer sends.
static const uint8_t compound[] = {
    0x81, 201, 0, 7, 1, 1, 1, 1, 2, 2, 2,   2, 0, 0, 0, 0,
    0,    0,   0, 9, 0, 0, 0, 0, 0, 0, 0,   0, 0, 0, 0, 0, // RR
    0x81, 202, 0, 2, 1, 1, 1, 1, 1, 1, 'a', 0,             // SDES
    0x81, 206, 0, 2, 1, 1, 1, 1, 2, 2, 2,   2,             // PLI (RFC 4585, section 6.3.1)
};

static struct rtcp_feedback feedback;

static bool read_bytes(const uint8_t *bytes, size_t size)
{
    memset(&feedback, 0, sizeof feedback);
    return rtcp_read(bytes, size, &feedback);
}

TEST(test_a_compound_packet_tells_all_that_is_in_it)
{
    assert_true(read_bytes(compound, sizeof compound));
    assert_true(feedback.report);
    assert_true(feedback.key_frame);
    assert_false(feedback.bye);
}

TEST(test_lone_packets_are_read)
{
    static const uint8_t empty_report[] = {0x80, 201, 0, 1, 1, 1, 1, 1};
    static const uint8_t full_intra[] = {0x84, 206, 0, 4, 1, 1, 1, 1, 0, 0, 0, 0, // RFC 5104, 4.3.1
                                         2,    2,   2, 2, 7, 0, 0, 0};
    static const uint8_t slice_lost[] = {0x82, 206, 0, 3, 1, 1, 1, 1, 2, 2, 2, 2, 0, 0, 0, 0};
    static const uint8_t generic_nack[] = {0x81, 205, 0, 3, 1, 1, 1, 1, 2, 2, 2, 2, 0, 9, 0, 0};
    static const uint8_t bye[] = {0x81, 203, 0, 1, 1, 1, 1, 1};

    assert_true(read_bytes(empty_report, sizeof empty_report));
    assert_true(feedback.report && !feedback.key_frame && !feedback.bye);
    assert_true(read_bytes(full_intra, sizeof full_intra));
    assert_true(!feedback.report && feedback.key_frame);
    assert_true(read_bytes(slice_lost, sizeof slice_lost));
    assert_false(feedback.key_frame);
    assert_true(read_bytes(generic_nack, sizeof generic_nack));
    assert_false(feedback.key_frame);
    assert_true(read_bytes(bye, sizeof bye));
    assert_true(feedback.bye);
}

TEST(test_packets_cut_short_are_none)
{
    for (size_t size = 0; size < sizeof compound; size++) {
        // Memory of just that size, which AddressSanitizer watches.
        uint8_t *bytes = malloc(size + !size);
        bool ends = size == 32 || size == 44; // with one of the packets in it

        memcpy(bytes, compound, size);
        assert_int_equal(read_bytes(bytes, size), ends);
        free(bytes);
    }
}

TEST(test_what_is_no_rtcp_is_refused)
{
    static const struct {
        size_t at;
        uint8_t value;
    } changes[] = {
        {0, 0x01},  {0, 0x41}, {0, 0xc1}, // versions 0, 1 and 3
        {1, 96},    {1, 199},             // RTP
        {2, 0xff},  {3, 0xff}, {3, 6},    // lengths
        {32, 0x00}, {33, 0},   {35, 3},   // of the second packet
    };

    for (size_t i = 0; i < ARRAY_LENGTH(changes); i++) {
        uint8_t bytes[sizeof compound];

        memcpy(bytes, compound, sizeof bytes);
        bytes[changes[i].at] = changes[i].value;
        assert_false(read_bytes(bytes, sizeof bytes));
        assert_false(feedback.report || feedback.key_frame || feedback.bye);
    }
}

RUN_TESTS(NULL, NULL)
