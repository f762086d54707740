#include "daemon/front/stream/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int unit_new(const struct unit_source *source, struct unit **ret_unit)
{
    struct unit *unit = calloc(1, sizeof *unit);

    if (!unit) {
        free(source->memory);
        return -ENOMEM;
    }
    unit->references = 1;
    unit->memory = source->memory;
    unit->bytes = (uint8_t *)source->memory + source->offset;
    unit->size = source->size;
    unit->captured_ns = source->captured_ns;
    unit->key_frame = source->key_frame;
    unit->slate = source->slate;
    unit->number = source->number;
    *ret_unit = unit;
    return 0;
}

int unit_again(struct unit *unit, int64_t captured_ns, struct unit **ret_unit)
{
    struct unit *again = malloc(sizeof *again);

    if (!again)
        return -ENOMEM;
    *again = *unit;
    again->references = 1;
    again->captured_ns = captured_ns;
    again->memory = NULL;
    again->original = unit_ref(unit);
    *ret_unit = again;
    return 0;
}

struct unit *unit_ref(struct unit *unit)
{
    unit->references++;
    return unit;
}

void unit_unref(struct unit *unit)
{
    if (!unit || --unit->references > 0)
        return;
    if (unit->original) {
        unit_unref(unit->original);
    } else {
        free(unit->packets);
        free(unit->heads);
        free(unit->memory);
    }
    free(unit);
}

// Makes room for `more` elements of `size` bytes behind `count`.
static int reserve(void **array, size_t *room, size_t count, size_t more, size_t size)
{
    size_t wanted = *room ? *room : 64;

    if (count + more <= *room)
        return 0;
    while (wanted < count + more)
        wanted *= 2;
    void *larger = realloc(*array, wanted * size);
    if (!larger)
        return -ENOMEM;
    *array = larger;
    *room = wanted;
    return 0;
}

int unit_add_packet(struct unit *unit, const void *head, size_t head_size, size_t offset,
                    size_t size)
{
    int r = reserve((void **)&unit->heads, &unit->head_room, unit->head_size, head_size, 1);

    r = r < 0 ? r
              : reserve((void **)&unit->packets, &unit->packet_room, unit->packet_count, 1,
                        sizeof *unit->packets);
    if (r < 0)
        return r;
    if (head_size)
        memcpy(unit->heads + unit->head_size, head, head_size);
    unit->packets[unit->packet_count++] = (struct unit_packet){
        .offset = (uint32_t)offset,
        .size = (uint16_t)size,
        .head = (uint32_t)unit->head_size,
        .head_size = (uint16_t)head_size,
    };
    unit->head_size += head_size;
    return 0;
}

size_t unit_footprint(const struct unit *unit)
{
    return sizeof *unit + unit->size + unit->head_room + unit->packet_room * sizeof *unit->packets;
}
