// Users and their rights: users with passwords, programs with tokens, their roles, and how often
// one may try. Asked by every request of every protocol (RTSP, HTTP), on the main loop.
//
// A request proves its user by Digest (RFC 7616: SHA-256 or MD5, qop=auth, or none as in RFC 2069)
// or, over TLS alone, by Basic (RFC 7617). A program sends its token (Bearer, RFC 6750) over TLS or
// on loopback; a wrong one counts as a wrong password. Nothing is kept for a challenge that is not
// answered: the server knows its nonces by their HMAC. An address may try five wrong passwords,
// then one a second. Without users a client on a loopback address may do everything, and with auth
// = "none" so may any client.
#pragma once

#include "config/users.h"
#include "daemon/front/account/nonce.h"
#include "daemon/front/account/username_token.h"

#include <stdbool.h>
#include <sys/socket.h>

struct account;

struct account_request {
    const char *method; // "DESCRIBE", "GET"
    // As the request line has it, with its query. Digest compares it with the URI that the client
    // signed.
    const char *uri;
    // The value of the header Authorization, without its name; NULL: none. A request that has two
    // is malformed, and so is a header with a byte 0: refuse it before this.
    const char *authorization;
    const struct sockaddr *peer; // AF_INET or AF_INET6
    bool encrypted;              // it came over TLS
    enum config_role role; // the least that may do it: config_view_role(), or CONFIG_ROLE_VIEWER
};

// How a request has proved its user.
enum account_way {
    ACCOUNT_UNKNOWN, // nothing
    ACCOUNT_UNASKED, // there are no users
    ACCOUNT_PASSWORD,
    ACCOUNT_TOKEN,
    ACCOUNT_LINK, // the secret that the control socket tells (sessions.h), where there are no users
};

// The user that a connection has proved to be; all 0 before its first request. It belongs to one
// connection. The nonce in use there stays valid as long as the connection lasts, because clients
// do not expect another challenge in the middle of a stream (rtspsrc does not read the replies to
// its keep-alives).
struct account_login {
    enum account_way way;
    char name[USERS_NAME_MAX + 1]; // of the user or the program; "": there is none
    enum config_role role;
    bool allowed;    // some request of the connection was allowed
    bool failed;     // since the last one that was allowed, a password was wrong
    bool is_local;   // the peer has a loopback address
    uint64_t secret; // differs after a change of password, and tells nothing of it
    struct nonce_use nonce;
    uint64_t session; // the number of its browser's (sessions.h); 0: none
};

enum account_verdict {
    ACCOUNT_ALLOWED,
    ACCOUNT_CHALLENGE, // 401, with each of the challenges as a header WWW-Authenticate, in order
    ACCOUNT_FORBIDDEN, // 403: the role, or the address of a server without users
    ACCOUNT_THROTTLED, // 503 (RTSP) or 429 (HTTP), with Retry-After: no password was checked
};

#define ACCOUNT_CHALLENGES_MAX 3
#define ACCOUNT_CHALLENGE_SIZE 192

struct account_answer {
    enum account_verdict verdict;
    size_t challenge_count; // of CHALLENGE
    char challenges[ACCOUNT_CHALLENGES_MAX][ACCOUNT_CHALLENGE_SIZE];
    int retry_after_s;     // of THROTTLED
    int64_t clock_ahead_s; // of CHALLENGE: the only fault of a username token; 0: it has another
};

// Counts of requests since the start, for status and metrics.
struct account_counters {
    uint64_t failed;    // a wrong user or password
    uint64_t throttled; // not checked, because too many had failed before
};

// Reads the users, tokens and ONVIF's passwords of `config`, read from `config_path`
// (users_path()). Errors of users_read(), or -ENOMEM, with the sentence in `error`. The caller owns
// the result: account_free().
int account_new(const struct config *config, const char *config_path, struct error *error,
                struct account **ret_account);
// Takes NULL.
void account_free(struct account *account);

// A reload in two steps, so that one that is refused changes nothing: reads the users of `config`
// (NULL: it has none), as account_new() does, and then puts them in the place of the old ones.
// Nonces and what is known of addresses stay. account_take_users() takes over `users`; whoever was
// logged in is asked again at the next request, see account_is_still_allowed().
// account_take_tokens() and account_take_onvif() do the same with USERS_TOKENS and USERS_ONVIF.
int account_read_users(enum users_kind kind, const struct config *config, const char *config_path,
                       struct error *error, struct users **ret_users);
void account_take_users(struct account *account, const struct config *config, struct users *users);
void account_take_tokens(struct account *account, struct users *tokens);
void account_take_onvif(struct account *account, struct users *onvif);
// Whether `users` (NULL: none) are those of the kind that it has already.
bool account_has(const struct account *account, enum users_kind kind, const struct users *users);

// Decides whether a request may be done. `login` is that of the connection; NULL: there is none.
// `now_ns` is of CLOCK_MONOTONIC. Never blocks, and holds a constant amount of memory.
void account_check(struct account *account, const struct account_request *request, int64_t now_ns,
                   struct account_login *login, struct account_answer *ret_answer);
// Decides about what stands in another place than the header Authorization. A name and a password:
// they are checked as if they came by Basic over TLS. Something else that is secret, of which the
// caller knows whether it `is_right`: if not it counts as a wrong password, and is
// ACCOUNT_FORBIDDEN or ACCOUNT_THROTTLED.
void account_check_password(struct account *account, const struct account_request *request,
                            const char *name, const char *password, int64_t now_ns,
                            struct account_login *login, struct account_answer *ret_answer);
void account_check_secret(struct account *account, const struct sockaddr *from, bool is_right,
                          int64_t now_ns, struct account_answer *ret_answer);
// Decides by a SOAP request's username token. A digest proves a user of rtsp.users whose password
// stands in onvif.passwords, too; a password as text proves any user, over TLS alone. A digest
// whose clock differs by more than USERNAME_TOKEN_LIFE_S, or that came before, is challenged.
void account_check_username_token(struct account *account, const struct account_request *request,
                                  const struct username_token *token, int64_t now_ns,
                                  struct account_login *login, struct account_answer *ret_answer);
// Whether, after account_take_users(), `login` may still do what wants at least `role`: the user is
// still there with the same password, and has the role. For sessions that play and send no
// requests.
bool account_is_still_allowed(const struct account *account, const struct account_login *login,
                              enum config_role role);

// The role by which a connection may watch whose last request was allowed: its user's, and the
// highest where nobody is asked for a user.
enum config_role account_role(const struct account *account, const struct account_login *login);

// Whether requests need a user; and whether nobody is asked for one, from whatever address.
bool account_has_users(const struct account *account);
bool account_is_open(const struct account *account);
void account_count(const struct account *account, struct account_counters *ret_counters);
