// The questions of `edgectl setup` on a terminal: those that the command line has not answered.
// Each answer, also one of the command line, is checked by itself before anything else is asked or
// written.
#pragma once

#include "daemon/ctl/setup/setup_config.h"

// Checks what the command line has answered, and takes the user and password out of the URL of a
// camera. -EINVAL, with what is allowed in `error`.
int setup_questions_check(const struct setup_config *config, struct setup_answers *answers,
                          struct error *error);
// Fills in what is NULL in `answers` and may be asked. An answer that is not allowed is asked for
// again. -ECANCELED: the input ended.
int setup_questions_ask(const struct setup_config *config, struct setup_answers *answers,
                        struct error *error);
#define SETUP_ANSWER_BYTES 256
struct setup_answer {
    char text[SETUP_ANSWER_BYTES];
};

// Asks a question. The answer is what is typed, without spaces around it, or `usual` if nothing is
// typed. -ECANCELED at the end of the input.
int setup_ask(const char *question, const char *usual, struct setup_answer *ret_answer);
// Asks a question. Returns whether the answer is yes, or only Enter; at the end of the input it is
// no.
bool setup_questions_confirm(const char *question);
