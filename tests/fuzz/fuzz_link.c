// Frames of a link, whichever end reads them: the first byte says after how many bytes each the
// other end pauses.
//
// Parsers: daemon/link/link.c
#include "tests/fuzz/fuzz.h"

#include "daemon/link/link.h"

#include <sys/socket.h>

static int on_message(void *context, struct link_message *message)
{
    unsigned *count = context;

    fuzz_claim(message->header.size <= LINK_PAYLOAD_MAX);
    fuzz_claim(message->header.view < LINK_VIEWS_MAX);
    fuzz_claim(message->payload[message->header.size] == 0);
    if (++*count % 2) {
        free(TAKE(message->payload));
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct link *link;
    unsigned count = 0;
    int fds[2], r = 0;

    if (size < 1) {
        return -1;
    }
    fuzz_claim(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    fuzz_claim(link_new(fds[0], 1024, &link) == 0);
    for (size_t at = 1, step = data[0] ? data[0] : size; at < size && r == 0; at += step) {
        step = step < size - at ? step : size - at;
        if (send(fds[1], data + at, step, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)step) {
            break; // more than a socket holds
        }
        r = link_receive(link, on_message, &count);
    }
    link_free(link);
    close(fds[1]);
    return 0;
}
