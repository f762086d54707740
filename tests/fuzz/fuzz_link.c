// Frames of a link, whichever end reads them: the first byte says after how many bytes each the
// other end pauses, and, if it is odd, lets it read nothing of what is sent back.
//
// Parsers: daemon/link/link.c
#include "tests/fuzz/fuzz.h"

#include "daemon/link/link.h"

#include <sys/socket.h>

struct end {
    struct link *link;
    unsigned count; // of messages
    bool woken;
};

static void on_wake(void *context)
{
    ((struct end *)context)->woken = true;
}

// Every message is sent back, and every second payload is taken over.
static int on_message(void *context, struct link_message *message)
{
    struct end *end = context;

    fuzz_claim(message->header.size <= LINK_PAYLOAD_MAX);
    fuzz_claim(message->payload[message->header.size] == 0);
    link_send_bytes(end->link, message->header.type, message->header.view, message->payload,
                    message->header.size);
    if (++end->count % 2)
        free(TAKE(message->payload));
    return 0;
}

// The other end reads all that waits, or nothing.
static void check_flush(struct end *end, int fd, bool reads)
{
    static uint8_t bytes[1 << 16];
    int r;

    fuzz_claim(!link_wants_write(end->link) || end->woken);
    do {
        r = link_flush(end->link);
    } while (reads && recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0);
    fuzz_claim(r == 0);
    fuzz_claim(!reads || !link_wants_write(end->link));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct end end = {0};
    int fds[2], r = 0, smallest = 1;

    if (size < 1)
        return -1;
    fuzz_claim(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    fuzz_claim(link_new(fds[0], 1024, &end.link) == 0);
    link_set_wake(end.link, on_wake, &end);
    fuzz_claim(setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &smallest, sizeof smallest) == 0);
    for (size_t at = 1, step = data[0] ? data[0] : size; at < size && r == 0; at += step) {
        step = step < size - at ? step : size - at;
        if (send(fds[1], data + at, step, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)step) {
            break; // more than a socket holds
        }
        r = link_receive(end.link, on_message, &end);
    }
    check_flush(&end, fds[1], data[0] % 2 == 0);
    link_free(end.link);
    close(fds[1]);
    return 0;
}
