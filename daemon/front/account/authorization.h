// Parses the header Authorization, Digest (RFC 7616, section 3.4) or Basic (RFC 7617). Anybody may
// send one, so nothing in it is trusted.
#pragma once

#include "config/digest_hash.h"

#include <stdbool.h>
#include <stdint.h>

// Room for a URL of 2 KiB and all the other fields; a longer header is refused.
#define AUTHORIZATION_SIZE 4096

enum authorization_scheme { AUTHORIZATION_DIGEST, AUTHORIZATION_BASIC };

struct authorization {
    enum authorization_scheme scheme;
    const char *username; // in `text`, as all the others; without quotes and escapes
    const char *password; // of BASIC; NULL: DIGEST
    // Of DIGEST:
    enum digest_algorithm algorithm; // where it names none, by the digits
    const char *realm, *nonce, *uri, *response;
    const char *qop, *cnonce, *nc; // all NULL: an answer as in RFC 2069
    uint32_t count;                // of `nc`, from 1; 0: none
    char text[AUTHORIZATION_SIZE];
};

// Whether `header` is one of them, whole: no field twice, none missing, none longer than fits; a
// response with as many digits as its algorithm has; no qop but auth, no -sess, no userhash, which
// the challenges do not offer. Fields with other names are passed over. -EINVAL if not. What is
// there is wiped by authorization_finish(), after an error, too.
int authorization_parse(const char *header, struct authorization *ret_authorization);
void authorization_finish(struct authorization *authorization);
