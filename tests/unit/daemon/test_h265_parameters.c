// Parameter sets in front of key frames of H.265, and what they say of the order of pictures.
#include "daemon/common/unit_probe.h"
#include "daemon/video/h265_parameters.h"

#include "config/base.h"
#include "tests/unit/unit.h"

// As x265 writes them where pictures may be reordered, and with sps_max_num_reorder_pics 0 where
// FFmpeg's trace_headers finds it.
static const struct set {
    const char *before, *after;
} sets[] = {
    // 320x240
    {"4201010408000003009e0800000300003c90014101e2cb2b349265780b7020200040000003004000000782",
     "4201010408000003009e0800000300003c90014101e2cb2cd24995e02dc08080010000030001000003001e08"},
    // 322x242, cropped, two temporal sub-layers
    {"42010201600000030090000003000003003c0000a00a480f9c92659598acd24995e02d010000030001000003001e0"
     "8",
     "42010201600000030090000003000003003c0000a00a480f9c92659662cd24995e02d010000003001000000301e08"
     "0"},
};

static GByteArray *bytes_of(const char *hex)
{
    GByteArray *bytes = g_byte_array_new();

    for (; *hex; hex += 2) {
        unsigned byte;

        sscanf(hex, "%2x", &byte);
        g_byte_array_append(bytes, &(uint8_t){(uint8_t)byte}, 1);
    }
    return bytes;
}

static void assert_same(const GByteArray *found, const GByteArray *expected)
{
    assert_non_null(found);
    assert_int_equal(found->len, expected->len);
    assert_memory_equal(found->data, expected->data, expected->len);
}

TEST(test_pictures_are_said_to_be_in_order_and_nothing_else_changes)
{
    for (size_t i = 0; i < ARRAY_LENGTH(sets); i++) {
        g_autoptr(GByteArray) before = bytes_of(sets[i].before), after = bytes_of(sets[i].after);
        g_autoptr(GByteArray) once = h265_sps_rewrite(before->data, before->len);
        g_autoptr(GByteArray) twice = h265_sps_rewrite(after->data, after->len);

        assert_same(once, after);
        assert_same(twice, after);
    }
}

TEST(test_what_breaks_off_or_is_no_sequence_set_is_left_alone)
{
    g_autoptr(GByteArray) sps = bytes_of(sets[1].before);

    for (size_t length = 0; length < 24; length++) { // to its order
        uint8_t *copy = malloc(length ? length : 1); // a sanitizer sees what is read behind it

        memcpy(copy, sps->data, length);
        assert_null(h265_sps_rewrite(copy, length));
        free(copy);
    }
    sps->data[0] = 0x44;
    assert_null(h265_sps_rewrite(sps->data, sps->len));
    sps->data[0] = 0x42;
    sps->data[2] |= 0x0e; // eight sub-layers
    assert_null(h265_sps_rewrite(sps->data, sps->len));
}

// A pad whose buffers get the stream's parameter sets.
static int setup(void **state)
{
    GstPad *pad;

    gst_init(NULL, NULL);
    pad = gst_object_ref_sink(gst_pad_new("pad", GST_PAD_SRC));
    gst_pad_set_active(pad, TRUE);
    unit_probe_h265(pad);
    *state = pad;
    return 0;
}

static int teardown(void **state)
{
    gst_object_unref(*state);
    return 0;
}

static GstPadProbeReturn keep(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    (void)pad;
    *(GstBuffer **)data = gst_buffer_ref(GST_PAD_PROBE_INFO_BUFFER(info));
    return GST_PAD_PROBE_OK;
}

// Asserts that an access unit becomes `expected`; NULL: it is kept back.
static void assert_becomes(GstPad *pad, const char *unit, const char *expected)
{
    g_autoptr(GByteArray) bytes = bytes_of(unit);
    GstBuffer *passed = NULL, *buffer = gst_buffer_new_allocate(NULL, bytes->len, NULL);
    gulong probe = gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, keep, &passed, NULL);
    GstMapInfo map;

    gst_buffer_fill(buffer, 0, bytes->data, bytes->len);
    GST_BUFFER_PTS(buffer) = 7;
    gst_pad_push_event(pad, gst_event_new_stream_start("test"));
    gst_pad_push_event(
        pad,
        gst_event_new_segment(&(GstSegment){
            .rate = 1, .applied_rate = 1, .format = GST_FORMAT_TIME, .stop = -1, .duration = -1}));
    gst_pad_push(pad, buffer);
    gst_pad_remove_probe(pad, probe);
    assert_int_equal(passed != NULL, expected != NULL);
    if (passed) {
        g_autoptr(GByteArray) wanted = bytes_of(expected);

        assert_int_equal(GST_BUFFER_PTS(passed), 7);
        assert_true(gst_buffer_map(passed, &map, GST_MAP_READ));
        assert_int_equal(map.size, wanted->len);
        assert_memory_equal(map.data, wanted->data, map.size);
        gst_buffer_unmap(passed, &map);
        gst_buffer_unref(passed);
    }
}

// Of a few bytes each: an access unit delimiter, VPS, PPS, SEI, an IDR picture, and one that is
// none.
#define AUD                                                                                        \
    "00000001"                                                                                     \
    "460150"
#define VPS                                                                                        \
    "00000001"                                                                                     \
    "40010c01"
#define PPS                                                                                        \
    "00000001"                                                                                     \
    "4401c172"
#define SEI                                                                                        \
    "00000001"                                                                                     \
    "4e010504"
#define IDR                                                                                        \
    "000001"                                                                                       \
    "2601afcc"
#define OTHER                                                                                      \
    "000001"                                                                                       \
    "0201d0a9"

TEST(test_key_frames_get_the_sets_that_the_encoder_wrote_once, setup, teardown)
{
    g_autofree char *written = g_strconcat(VPS "000001", sets[0].before, PPS, NULL);
    g_autofree char *known = g_strconcat(VPS "00000001", sets[0].after, PPS, NULL);
    g_autofree char *first = g_strconcat(AUD, written, SEI IDR, NULL);
    g_autofree char *first_after = g_strconcat(AUD, known, SEI IDR, NULL);
    g_autofree char *bare_after = g_strconcat(known, IDR, NULL);
    g_autofree char *later_after = g_strconcat(AUD, known, SEI IDR OTHER, NULL);

    assert_becomes(*state, IDR, IDR); // nobody knows any yet
    assert_becomes(*state, first, first_after);
    assert_becomes(*state, OTHER, OTHER);
    assert_becomes(*state, IDR, bare_after);
    assert_becomes(*state, AUD SEI IDR OTHER, later_after);
}

TEST(test_sets_alone_are_kept_for_the_next_key_frame, setup, teardown)
{
    g_autofree char *alone = g_strconcat(VPS "00000001", sets[1].before, PPS, NULL);
    g_autofree char *after = g_strconcat(VPS "00000001", sets[1].after, PPS IDR, NULL);

    assert_becomes(*state, alone, NULL);
    assert_becomes(*state, IDR, after);
}

RUN_TESTS(NULL, NULL)
