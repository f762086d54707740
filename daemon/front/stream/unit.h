// One access unit of a stream, kept once for all who read it: its bytes as they came from the
// camera process, and how they are cut into RTP packets.
//
// Immutable once made and counted by reference; main loop only. No byte of a picture is copied: a
// packet is a few bytes of its own (its head, as an FU-A header) and a part of the unit's bytes.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Bytes of a packet behind the RTP header, at most: with RTP, UDP and IPv6 headers and a tunnel's
// they fit into 1500.
#define UNIT_PACKET_MAX 1400u

// A packet's payload: `head_size` bytes at `head` of the unit's heads, then `size` bytes at
// `offset` of its bytes. Either may be empty.
struct unit_packet {
    uint32_t offset, head;
    uint16_t size, head_size;
};

struct unit {
    int64_t captured_ns; // CLOCK_MONOTONIC
    bool key_frame;      // a decoder can begin with it
    bool slate;          // NO SIGNAL, not a picture of the camera
    uint64_t number;     // one more than the camera's unit before, in the ring or not; 0 of a slate
    uint8_t *bytes;      // of the access unit, as encoded (H.264 in Annex B form)
    size_t size;
    struct unit_packet *packets; // the last one ends the access unit (the RTP marker)
    unsigned packet_count;
    uint8_t *heads;

    // The rest belongs to unit.c.
    int references;
    void *memory;          // what `bytes` lies in; NULL: the original's
    struct unit *original; // a reference; NULL: none
    size_t head_size, head_room, packet_room;
};

// The parts that a unit is made of.
struct unit_source {
    void *memory;  // malloc'd
    size_t offset; // of the access unit in it
    size_t size;   // of the access unit in bytes
    int64_t captured_ns;
    bool key_frame, slate;
    uint64_t number; // as in struct unit
};

// Takes over `source->memory`, whatever it returns. The unit has no packets yet; its maker's
// payloader adds them. 0 or -ENOMEM.
int unit_new(const struct unit_source *source, struct unit **ret_unit);
// Makes a unit that shows the same picture at another time, and shares everything else. 0 or
// -ENOMEM.
int unit_again(struct unit *unit, int64_t captured_ns, struct unit **ret_unit);
struct unit *unit_ref(struct unit *unit);
// Takes NULL.
void unit_unref(struct unit *unit);

// For payloaders. Adds a packet of `head_size` bytes copied from `head` (NULL: none) and of `size`
// bytes at `offset` of the unit's bytes. 0 or -ENOMEM.
int unit_add_packet(struct unit *unit, const void *head, size_t head_size, size_t offset,
                    size_t size);

// The bytes of a packet's head; NULL: it has none.
static inline void *unit_packet_head(const struct unit *unit, const struct unit_packet *packet)
{
    return packet->head_size ? unit->heads + packet->head : NULL;
}

// Bytes of memory that it holds.
size_t unit_footprint(const struct unit *unit);

static inline void cleanup_unit(struct unit **unit)
{
    unit_unref(*unit);
}
