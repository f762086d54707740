// `edgectl setup --answers FILE`: the answers to its questions as a file, for images and fleets.
//
// The file is an object of JSON with a member for each answer; the table in setup_answers.c has
// them. A new question of setup is a new row there. Each answer passes the check that its question
// has.
#pragma once

#include "daemon/ctl/setup/setup_config.h"

// Reads the answers of the file `path`, "-": of standard input, into what is not set in `answers`
// yet. A file has to be its owner's alone, because it may have passwords. -EINVAL, with the file,
// the line, the answer and what is allowed in `error`; other errors are those of
// private_file_read().
int setup_answers_read(const char *path, const struct setup_config *config,
                       struct setup_answers *answers, struct error *error);
// Clears the answers, passwords included. Takes zeroed ones.
void setup_answers_finish(struct setup_answers *answers);
