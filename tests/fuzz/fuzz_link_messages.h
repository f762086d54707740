// Whole messages of a link out of a fuzzer's bytes. Each is its type, its view, two bytes of size
// (little endian) and the payload; with the highest bit of the size, zeros fill the payload up to
// the size of the type's struct, so that few bytes make a message that is taken.
#pragma once

#include "tests/fuzz/fuzz.h"

#include "daemon/link/messages.h"

#include <sys/socket.h>

#define FUZZ_FILLED 0x8000u

static inline size_t fuzz_struct_size(uint8_t type)
{
    switch (type) {
    case LINK_CONFIGURE:
        return sizeof(struct link_configuration);
    case LINK_ACCESS_UNIT:
        return sizeof(struct link_access_unit);
    case LINK_TELEMETRY:
        return sizeof(struct link_telemetry);
    case LINK_EVENT:
        return sizeof(struct link_event);
    case LINK_JPEG:
        return sizeof(struct link_jpeg);
    case LINK_SNAPSHOT:
    case LINK_ENCODER_HUNG:
        return sizeof(uint32_t);
    default:
        return 0;
    }
}

// Sends the next message. False: there is none, or the socket is full.
static inline bool fuzz_send_message(int fd, const uint8_t **data, size_t *size)
{
    if (*size < 4)
        return false;
    const uint8_t *bytes = *data;
    unsigned field = bytes[2] | (unsigned)bytes[3] << 8;
    size_t given = field & ~FUZZ_FILLED, least = fuzz_struct_size(bytes[0]);

    given = given < *size - 4 ? given : *size - 4;
    size_t payload = field & FUZZ_FILLED && given < least ? least : given;
    struct link_header header = {.type = bytes[0], .view = bytes[1], .size = (uint32_t)payload};
    uint8_t *message = calloc(1, sizeof header + payload);

    fuzz_claim(message != NULL);
    memcpy(message, &header, sizeof header);
    memcpy(message + sizeof header, bytes + 4, given);
    ssize_t sent = send(fd, message, sizeof header + payload, MSG_DONTWAIT | MSG_NOSIGNAL);
    free(message);
    *data += 4 + given;
    *size -= 4 + given;
    return sent == (ssize_t)(sizeof header + payload);
}
