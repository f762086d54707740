// Encoders that hung: the next processes try them last, for a while.
#include "daemon/front/supervise/supervisor_private.h"

#define PASSED_OVER_NS (600 * NS_PER_S)

void supervisor_encoder_hung(struct supervisor *supervisor, enum config_encoder encoder)
{
    supervisor->explained = true;
    supervisor->encoder_hangs++;
    supervisor->passed_over |= 1u << encoder;
    supervisor->passed_over_ns = clock_now_ns();
    error_set(&supervisor->error, 0,
              "the encoder %s hung; views whose encoder is \"auto\" try it last for 10 minutes",
              config_encoder_name(encoder));
}

uint32_t supervisor_encoders_passed_over(const struct supervisor *supervisor)
{
    bool recent = clock_now_ns() - supervisor->passed_over_ns < PASSED_OVER_NS;

    return recent ? supervisor->passed_over : 0;
}
