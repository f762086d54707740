// What `edgectl setup` asks on a terminal: all that the command line has not answered.
#pragma once

#include "daemon/ctl/setup/setup_config.h"

// Fills in what is NULL in `answers` and may be asked. -ECANCELED: the input ended.
int setup_questions_ask(const struct setup_config *config, struct setup_answers *answers,
                        struct error *error);
// Asks a question. Returns whether the answer is yes, or only Enter; at the end of the input it is
// no.
bool setup_questions_confirm(const char *question);
