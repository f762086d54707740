// Without a tuner: nobody asks for a tune, and a GPU that is played has no kernels.
#pragma once

#include "daemon/camera/tuner.h"

int tuner_new(void (*tell)(void *context, const struct link_tune_progress *progress),
              void *context, struct tuner **ret_tuner)
{
    (void)tell, (void)context;
    *ret_tuner = NULL;
    return 0;
}

void tuner_free(struct tuner *tuner)
{
    (void)tuner;
}

void tuner_ask(struct tuner *tuner, const struct link_tune *request)
{
    (void)tuner, (void)request;
}

int tuner_turn(struct tuner *tuner, const struct tuner_place *place, struct error *error)
{
    (void)tuner, (void)place, (void)error;
    return 0;
}

void tuner_abandon(struct tuner *tuner)
{
    (void)tuner;
}
