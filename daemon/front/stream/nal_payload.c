#include "daemon/front/stream/nal_payload.h"

#include "daemon/common/annex_b.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

#define HEAD_MAX 3

// NAL units that wait to travel together.
struct aggregate {
    const struct nal_format *format;
    uint8_t bytes[UNIT_PACKET_MAX]; // the packet, from its header on
    size_t size;
    unsigned count;
    size_t offset, nal_size; // of the only one, while count is 1
};

static void note_set(struct parameter_sets *sets, int index, const uint8_t *nal, size_t size)
{
    bool fits = size <= sizeof sets->sets[index];

    memcpy(sets->sets[index], nal, fits ? size : 0);
    sets->sizes[index] = fits ? size : 0;
}

static bool has_room(const struct aggregate *aggregate, size_t size)
{
    size_t used = aggregate->count ? aggregate->size : aggregate->format->header_size;

    return used + 2 + size <= sizeof aggregate->bytes;
}

static void add(struct aggregate *aggregate, const uint8_t *bytes, size_t offset, size_t size)
{
    if (aggregate->count++ == 0) {
        aggregate->size = aggregate->format->header_size;
        memset(aggregate->bytes, 0, aggregate->size);
    }
    aggregate->format->aggregate(aggregate->bytes, bytes + offset);
    aggregate->bytes[aggregate->size] = (uint8_t)(size >> 8);
    aggregate->bytes[aggregate->size + 1] = (uint8_t)size;
    memcpy(aggregate->bytes + aggregate->size + 2, bytes + offset, size);
    aggregate->size += 2 + size;
    aggregate->offset = offset;
    aggregate->nal_size = size;
}

static int flush(struct unit *unit, struct aggregate *aggregate)
{
    unsigned count = aggregate->count;

    aggregate->count = 0;
    if (count == 0) {
        return 0;
    }
    return count == 1 ? unit_add_packet(unit, NULL, 0, aggregate->offset, aggregate->nal_size)
                      : unit_add_packet(unit, aggregate->bytes, aggregate->size, 0, 0);
}

static int add_fragments(const struct nal_format *format, struct unit *unit, size_t offset,
                         size_t size)
{
    const uint8_t *nal = unit->bytes + offset;
    size_t begin = offset + format->header_size, end = offset + size;
    int r = 0;

    for (size_t at = begin; at < end && r == 0;) {
        size_t part = MIN(UNIT_PACKET_MAX - format->fragment_head, end - at);
        uint8_t head[HEAD_MAX];

        format->fragment(head, nal, at == begin, at + part == end);
        r = unit_add_packet(unit, head, format->fragment_head, at, part);
        at += part;
    }
    return r;
}

static int add_nal(struct unit *unit, struct aggregate *aggregate, size_t offset, size_t size)
{
    const struct nal_format *format = aggregate->format;
    bool small = format->is_small(format->type(unit->bytes + offset));
    int r = small && has_room(aggregate, size) ? 0 : flush(unit, aggregate);

    if (r < 0) {
        return r;
    }
    if (small && has_room(aggregate, size)) {
        add(aggregate, unit->bytes, offset, size);
        return 0;
    }
    return size <= UNIT_PACKET_MAX ? unit_add_packet(unit, NULL, 0, offset, size)
                                   : add_fragments(format, unit, offset, size);
}

int nal_packetize(const struct nal_format *format, struct unit *unit, struct parameter_sets *sets)
{
    struct aggregate aggregate = {.format = format};
    size_t next = 0, offset, size;
    int r = 0;

    while (r == 0 && (next = annex_b_next(unit->bytes, unit->size, next, &offset, &size)) > 0) {
        unsigned type = format->type(unit->bytes + offset);
        int set = format->parameter_set(type);

        if (set >= 0) {
            note_set(sets, set, unit->bytes + offset, size);
        }
        if (!format->is_delimiter(type) && size >= format->header_size) {
            r = add_nal(unit, &aggregate, offset, size);
        }
    }
    r = r < 0 ? r : flush(unit, &aggregate);
    return r < 0 ? r : unit->packet_count > 0 ? 0 : -EBADMSG;
}
