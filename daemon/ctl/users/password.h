// Reads a password: typed on a terminal, which does not show it, or one line of standard input.
// Never an argument, which every process on the machine could read.
#pragma once

#include "config/base.h"

#define PASSWORD_BYTES_MAX 128 // what ffmpeg takes of a URL's user:password
#define PASSWORD_CHARACTERS_MIN 8

struct password {
    char text[PASSWORD_BYTES_MAX + 1];
};

// Reads one from standard input. On a terminal `prompt` ("Password of anna") is written to standard
// error and the password asked for twice. -EINVAL: none, too long, with control characters, or not
// the same twice; -EINTR: a signal came, which was raised again after the terminal had been reset;
// or an error of reading. Each with its sentence in `error`. The caller wipes it.
int password_read(const char *prompt, struct error *error, struct password *ret_password);
// Whether a user called `user` may have it: -EINVAL, with a sentence that tells the rule, for one
// of fewer than PASSWORD_CHARACTERS_MIN characters, one of the commonest, "edged" or the user's
// name, also with digits and signs around it or said twice.
int password_check(const struct password *password, const char *user, struct error *error);
// What a password has to be, for prompts.
#define PASSWORD_RULE "at least 8 characters, not a common password"
// Reads a password of that user, and checks it. On a terminal one that is not allowed is told and
// asked for again; the prompt has the rule. -ECANCELED: the terminal gave the end of the input.
// Else the errors of password_read() and password_check().
int password_ask(const char *user, struct error *error, struct password *ret_password);
// Reads one from a terminal, which is asked once: it is a password of something else, which edged
// does not choose. The errors of password_read(), and -ECANCELED.
int password_ask_once(const char *prompt, struct error *error, struct password *ret_password);
void password_clear(struct password *password);
