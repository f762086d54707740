// Access units being written, their packets being read, and GStreamer's receivers of them.
#pragma once

#include "tests/unit/unit.h"

#include "daemon/front/stream/payloader.h"
#include "daemon/front/stream/rtp.h"

#include <errno.h>
#include <glib.h>
#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>
#include <gst/gst.h>
#include <string.h>

// An access unit being written.
struct text {
    uint8_t *bytes;
    size_t size, room;
};

static inline void append(struct text *text, const void *bytes, size_t size)
{
    if (text->size + size >= text->room) {
        text->room = 2 * (text->size + size) + 1;
        text->bytes = realloc(text->bytes, text->room);
    }
    if (size > 0)
        memcpy(text->bytes + text->size, bytes, size);
    text->size += size;
}

static inline void append_start(struct text *text, size_t size)
{
    const uint8_t start[] = {0, 0, 0, 1};

    append(text, start + (4 - size), size);
}

// Bytes that hold no start code, different ones for each seed.
static inline void fill(uint8_t *bytes, size_t size, uint8_t header, unsigned seed)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(0x10 + (i * 31 + i / 251 + seed) % 0xe0);
    bytes[0] = header;
}

// Adds a NAL unit of `size` bytes behind a start code of 4 bytes.
static inline void append_nal(struct text *text, uint8_t header, size_t size)
{
    uint8_t *nal = malloc(size);

    fill(nal, size, header, (unsigned)text->size);
    append_start(text, 4);
    append(text, nal, size);
    free(nal);
}

// The same of H.265, with the two bytes of a header of the lowest layer and temporal ID.
static inline void append_nal265(struct text *text, unsigned type, size_t size)
{
    append_nal(text, (uint8_t)(type << 1), size);
    text->bytes[text->size - size + 1] = 1;
}

// Takes over the text's bytes. They lie so that a read beyond them is one beyond their memory.
static inline struct unit *make_unit(struct text *text)
{
    uint8_t *memory = malloc(text->size ? text->size : 1);
    struct unit *unit;

    memcpy(memory, text->bytes, text->size);
    free(text->bytes);
    const struct unit_source source = {.memory = memory, .size = text->size};
    assert_int_equal(unit_new(&source, &unit), 0);
    return unit;
}

static inline struct unit *packetize(const struct payloader_ops *payloader, struct text *text,
                                     struct parameter_sets *sets)
{
    struct unit *unit = make_unit(text);

    assert_int_equal(payloader->packetize(unit, sets), 0);
    return unit;
}

// The payload of a packet; `ret_bytes` has room for UNIT_PACKET_MAX bytes. Returns its size.
static inline size_t payload(const struct unit *unit, unsigned packet, uint8_t *ret_bytes)
{
    const struct unit_packet *at = &unit->packets[packet];

    assert_in_range(packet, 0, unit->packet_count - 1);
    assert_in_range(at->head_size + at->size, 1, UNIT_PACKET_MAX);
    if (at->head_size)
        memcpy(ret_bytes, unit_packet_head(unit, at), at->head_size);
    memcpy(ret_bytes + at->head_size, unit->bytes + at->offset, at->size);
    return at->head_size + at->size;
}

static inline void assert_payload(const struct unit *unit, unsigned packet, const void *expected,
                                  size_t size)
{
    uint8_t bytes[UNIT_PACKET_MAX];

    assert_int_equal(payload(unit, packet, bytes), size);
    assert_memory_equal(bytes, expected, size);
}

// The caller g_free()s it.
static inline char *fmtp(const struct payloader_ops *payloader, const struct parameter_sets *sets)
{
    GString *text = g_string_new(NULL);

    payloader->write_fmtp(sets, text);
    return g_string_free(text, FALSE);
}

// Puts the unit's packets into `source` as RTP.
static inline void push_packets(GstElement *source, const struct unit *unit,
                                struct rtp_header *header)
{
    for (unsigned i = 0; i < unit->packet_count; i++) {
        uint8_t bytes[RTP_HEADER_SIZE + UNIT_PACKET_MAX];
        size_t size = payload(unit, i, bytes + RTP_HEADER_SIZE);

        rtp_write_header(header, i + 1 == unit->packet_count, bytes);
        header->sequence++;
        GstBuffer *buffer = gst_buffer_new_allocate(NULL, RTP_HEADER_SIZE + size, NULL);
        gst_buffer_fill(buffer, 0, bytes, RTP_HEADER_SIZE + size);
        assert_int_equal(gst_app_src_push_buffer(GST_APP_SRC(source), buffer), GST_FLOW_OK);
    }
}

// The stream that GStreamer's receiver of that encoding, whose elements are `receiver`, makes of
// the packets.
static inline struct text receive(const struct unit *unit, const struct payloader_ops *payloader,
                                  const char *receiver)
{
    g_autofree char *description = g_strdup_printf(
        "appsrc name=source format=time caps=\"application/x-rtp,media=video,clock-rate=90000,"
        "encoding-name=%s,payload=%d\" ! %s ! appsink name=sink sync=false",
        payloader->encoding, payloader->payload_type, receiver);
    GstElement *pipeline = gst_parse_launch(description, NULL);
    GstElement *source = gst_bin_get_by_name(GST_BIN(pipeline), "source");
    GstElement *sink = gst_bin_get_by_name(GST_BIN(pipeline), "sink");
    // The sequence number passes its end.
    struct rtp_header header = {.ssrc = 0x12345678,
                                .timestamp = 0xfffffff0,
                                .sequence = 65530,
                                .payload_type = payloader->payload_type};
    struct text text = {0};
    GstSample *sample;

    gst_element_set_state(pipeline, GST_STATE_PLAYING);
    push_packets(source, unit, &header);
    gst_app_src_end_of_stream(GST_APP_SRC(source));
    while ((sample = gst_app_sink_try_pull_sample(GST_APP_SINK(sink), 60 * NS_PER_S))) {
        GstMapInfo map;

        assert_true(gst_buffer_map(gst_sample_get_buffer(sample), &map, GST_MAP_READ));
        append(&text, map.data, map.size);
        gst_buffer_unmap(gst_sample_get_buffer(sample), &map);
        gst_sample_unref(sample);
    }
    gst_element_set_state(pipeline, GST_STATE_NULL);
    gst_object_unref(source);
    gst_object_unref(sink);
    gst_object_unref(pipeline);
    return text;
}
