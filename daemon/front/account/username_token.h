// WS-UsernameToken (OASIS, UsernameToken Profile 1.0), the login that a SOAP request carries: the
// digest Base64(SHA-1(nonce, created, password)), or the password itself.
//
// A digest needs no challenge, so the server remembers those that it has taken, and takes none that
// was made at another time than about now. The same address may send one again within 5 s: libonvif
// has one for all requests of a millisecond. The server remembers nothing of an earlier start:
// whoever listened could send a request again that was made up to 5 minutes before.
#pragma once

#include "daemon/common/peer.h"

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define USERNAME_TOKEN_NONCE_MAX 256
#define USERNAME_TOKENS_KEPT 16384
#define USERNAME_TOKEN_AGAIN_S 5
#define USERNAME_TOKEN_LIFE_S 300 // that the client's clock may differ, either way

struct username_token {
    const char *name, *password, *created; // NULL: not there; the password in Base64, or as text
    bool is_text;
    uint8_t nonce[USERNAME_TOKEN_NONCE_MAX];
    size_t nonce_size;
};

// Whether the digest is that of `password`, in a time that tells nothing of the digits.
bool username_token_matches(const struct username_token *token, const char *password);
// When it was made, in seconds since 1970. -EINVAL: it does not say.
int username_token_created(const struct username_token *token, int64_t *ret_s);

// The digests that were taken; it takes a right password to get in. Zeroes: none yet.
struct username_tokens {
    struct username_token_kept {
        uint64_t digest; // its first bytes
        int64_t created_s, taken_ns;
        int64_t *forgotten_s; // its user's, in `users`
        struct peer from;
    } kept[USERNAME_TOKENS_KEPT];
    size_t count, next; // of `kept`, a ring
    // By name, when the youngest was made that was pushed out of the ring: of this user none is
    // taken that is as old. So a user who fills the ring locks nobody out. NULL: no user yet.
    GHashTable *users;
};

// Takes a token that matches its user's password, made at `created_s`, at `now_ns` of
// CLOCK_MONOTONIC. False: it has been taken before.
bool username_tokens_take(struct username_tokens *tokens, const struct username_token *token,
                          int64_t created_s, const struct peer *from, int64_t now_ns);
void username_tokens_finish(struct username_tokens *tokens);
