// Reads a password: typed on a terminal, which does not show it, or one line of standard input.
// Never an argument, which every process on the machine could read.
#pragma once

#include "config/base.h"

#define PASSWORD_BYTES_MAX 128 // what ffmpeg takes of a URL's user:password
#define PASSWORD_CHARACTERS_MIN 8

struct password {
    char text[PASSWORD_BYTES_MAX + 1];
};

// Checks a password for the user. -EINVAL, with a sentence in `error` that tells the rule: fewer
// than PASSWORD_CHARACTERS_MIN characters, one of the commonest, "edged" or the user's name, also
// with digits and signs around it or said twice.
int password_check(const struct password *password, const char *user, struct error *error);
// Reads a password for the user, and checks it. A terminal is asked twice, is told what is allowed,
// and is asked again for one that is not. -EINVAL, with a sentence in `error` that tells the rule:
// none, too long, with control characters, or as password_check() says.
// -EINTR: a signal came, which was raised again after the terminal had been reset; -ECANCELED: the
// input ended; or an error of reading. The caller wipes it.
int password_ask(const char *user, struct error *error, struct password *ret_password);
// Reads a password of something else, which edged does not choose, from a terminal, which is asked
// once. -EINVAL (none, too long, with control characters), -EINTR, -ECANCELED, an error of reading.
int password_ask_once(const char *prompt, struct error *error, struct password *ret_password);
void password_clear(struct password *password);
