#include "daemon/camera/last_words.h"

#include <errno.h>
#include <poll.h>

#define LAST_WORDS_NS (500 * NS_PER_MS)

void last_words_send(struct link *link, enum link_type type, const void *payload, size_t size)
{
    struct pollfd room = {.fd = link_fd(link), .events = POLLOUT};
    int64_t deadline = clock_now_ns() + LAST_WORDS_NS;

    link_send_bytes(link, type, 0, payload, size);
    while (!link_flush(link) && link_wants_write(link)) {
        int64_t left_ms = (deadline - clock_now_ns()) / NS_PER_MS;

        if (left_ms <= 0 || poll(&room, 1, (int)left_ms) == 0) {
            return;
        }
    }
}

int last_words_if_encoder_hangs(struct link *link, struct encoder_watches *encoders)
{
    uint32_t hung = encoder_watches_look(encoders);

    if (hung == CONFIG_ENCODER_AUTO) {
        return 0;
    }
    last_words_send(link, LINK_ENCODER_HUNG, &hung, sizeof hung);
    return -EDEADLK;
}
