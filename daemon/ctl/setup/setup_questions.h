// What `edgectl setup` asks on a terminal: whatever the command line has not answered.
#pragma once

#include "daemon/ctl/setup/setup_config.h"

// Fills in what is NULL in `answers` and may be asked. -ECANCELED: the input ended.
int setup_questions_ask(const struct setup_config *config, struct setup_answers *answers,
                        struct error *error);
// Whether the answer is yes, which Enter is, too. Not at the end of the input.
bool setup_questions_confirm(const char *question);
