// Browsers that have logged in: each has a cookie with a secret of 128 bits, and what that stands
// for is kept here, in memory. Main loop only.
//
// A session is of a user, and ends with the user or the password (account_is_still_allowed()),
// after 12 hours, or when the user begins a 17th and it is the one that has asked for nothing for
// longest. Without users it is of whoever opened the link,
// whose secret is made at each start and can be read by those alone who may use the control socket.
#pragma once

#include "daemon/front/account/account.h"

#define SESSIONS_A_USER 16
#define SESSION_S (12 * 60 * 60)
#define SESSION_SECRET_SIZE 33 // 128 bits in hexadecimal digits, and a 0

struct sessions;

// Takes the secret of the link from the kernel; -errno of getrandom().
int sessions_new(struct error *error, struct sessions **ret_sessions);
// Takes NULL.
void sessions_free(struct sessions *sessions);

// The secret of the link; borrowed.
const char *sessions_link(const struct sessions *sessions);
// Whether `text` is that secret, in a time that tells nothing of it. NULL is not.
bool sessions_is_link(const struct sessions *sessions, const char *text);

// Begins a session of the user of `login`, who has just proved it. -errno of getrandom().
int sessions_begin(struct sessions *sessions, const struct account_login *login, int64_t now_ns,
                   char ret_secret[SESSION_SECRET_SIZE]);
// The session of a cookie, if it may still ask by `account`; NULL: there is none. Borrowed until
// the next call.
const struct account_login *sessions_find(struct sessions *sessions, const struct account *account,
                                          const char *secret, int64_t now_ns);
// Whether the session of this number may still ask: for a reply that goes on in it.
bool sessions_go_on(const struct sessions *sessions, const struct account *account, uint64_t number,
                    int64_t now_ns);
// Ends the session of a cookie, if there is one.
void sessions_end(struct sessions *sessions, const char *secret);
