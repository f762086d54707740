// The nonces of Digest challenges (RFC 7616, section 3.3). A nonce is a random number, the time,
// and an HMAC of both and of the peer's address, so the server recognizes its own without keeping
// them: challenges cost no memory.
//
// Only the nonce counts of logins with qop=auth are kept, in a table of fixed size that takes a
// right password to get into.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NONCE_ID_SIZE 8
#define NONCE_ADDRESS_SIZE 16
#define NONCE_TEXT_SIZE 65 // hexadecimal digits and NUL
#define NONCE_KEPT 512
#define NONCE_LIFE_S 300

// Which nonce counts of one nonce have been seen.
struct nonce_counts {
    uint32_t highest; // 0: none
    uint32_t seen;    // bit i: highest - i
};

// A nonce in use on a connection; all 0: none.
struct nonce_use {
    bool valid;
    uint8_t id[NONCE_ID_SIZE];
    struct nonce_counts counts;
};

struct nonces {
    uint8_t key[32]; // from getrandom()
    uint64_t made;
    struct nonce_kept {
        uint8_t id[NONCE_ID_SIZE];
        int64_t made_ns;
        struct nonce_counts counts; // highest 0: a free place
    } kept[NONCE_KEPT];
    int64_t forgotten_ns; // when the youngest was made that was pushed out of the table
};

// A server's nonces, with a key that nobody knows. -errno of getrandom().
int nonces_init(struct nonces *nonces);
void nonces_finish(struct nonces *nonces); // wipes the key

// A new one for a peer's address.
void nonce_make(struct nonces *nonces, const uint8_t address[NONCE_ADDRESS_SIZE], int64_t now_ns,
                char ret_text[NONCE_TEXT_SIZE]);

// Whether a nonce out of a right answer may be used: it is ours, for that address, at most
// NONCE_LIFE_S old or in use on the connection (`use`, may be NULL), and was not used with that
// count before. `count` is the nonce count, 0 where the answer has none: that can be sent again as
// long as the nonce lives. Notes the count, and the nonce in `use`. A nonce that is not in the
// table is refused where it may have been used and pushed out: its count does not begin with 1, or
// it is older than one that was.
bool nonce_take(struct nonces *nonces, const char *text, const uint8_t address[NONCE_ADDRESS_SIZE],
                uint32_t count, int64_t now_ns, struct nonce_use *use);
