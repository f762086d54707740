#include "daemon/front/supervise/encoder_hangs.h"

#define RECENT_NS (600 * NS_PER_S)

void encoder_hangs_note(struct encoder_hangs *hangs, enum config_encoder encoder)
{
    hangs->count++;
    hangs->encoders |= 1u << encoder;
    hangs->last_ns = clock_now_ns();
}

uint32_t encoder_hangs_recent(const struct encoder_hangs *hangs)
{
    return clock_now_ns() - hangs->last_ns < RECENT_NS ? hangs->encoders : 0;
}
