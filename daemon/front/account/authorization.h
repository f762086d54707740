// The header Authorization, Digest (RFC 7616, section 3.4), Basic (RFC 7617) or Bearer (RFC 6750),
// and whether an
// answer to a Digest challenge is right (section 3.4.1; without qop as in RFC 2069, section 2.1.2,
// which is what RTSP's clients send). Anybody may send one, so nothing in it is trusted.
#pragma once

#include "config/users.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Room for a URL of 2 KiB and all the other fields; a longer header is refused.
#define AUTHORIZATION_SIZE 4096

enum authorization_scheme { AUTHORIZATION_DIGEST, AUTHORIZATION_BASIC, AUTHORIZATION_BEARER };

struct authorization {
    enum authorization_scheme scheme;
    const char *username; // in `text`, as all the others; without quotes and escapes
    const char *password; // of BASIC
    const char *token;    // of BEARER, which has nothing else
    // Of DIGEST:
    enum digest_algorithm algorithm; // where it names none, by the digits
    const char *realm, *nonce, *uri, *response;
    const char *qop, *cnonce, *nc; // all NULL: an answer as in RFC 2069
    uint32_t count;                // of `nc`, from 1; 0: none
    char text[AUTHORIZATION_SIZE];
};

// Whether `header` is one of them, whole: no field twice, none missing, none longer than fits; a
// response with as many digits as its algorithm has; no qop but auth, no -sess, no userhash, which
// the challenges do not offer. Fields with other names are passed over. -EINVAL if not.
// authorization_finish() wipes it, after an error, too.
int authorization_parse(const char *header, struct authorization *ret_authorization);
void authorization_finish(struct authorization *authorization);

// The digits an answer has to have, for the user's HA1 of its algorithm.
void authorization_response(const struct authorization *authorization, const char *method,
                            const char *ha1, char ret_hex[DIGEST_HEX_SIZE]);

// Whether the `uri` of an answer is that of the request.
//
// Both are compared byte for byte. But if the request's URI begins with rtsp: or rtsps:, only the
// paths are compared, without slashes at the end, and the request's may have one part more:
// - live555 (VLC, mplayer) signs one URL for all of its requests. It sends DESCRIBE for …/edges,
//   gets the Content-Base …/edges/ and sends SETUP for …/edges/stream=0, and signs one of the first
//   two each time.
// - Clients choose host, port and user: behind a forwarded port, or by another name of the server,
//   they differ from what the server knows. The nonce is this server's alone, so that is harmless.
// - DESCRIBE may have a query, which the URLs that are made from the Content-Base do not have.
// - curl and some recorders sign the path alone.
// So an answer is valid for the same method in the same mount.
bool authorization_uri_matches(const char *uri, const char *request_uri);

// Compares secrets in a time that depends on nothing but their length: looks at every byte,
// whatever the first ones are.
static inline bool bytes_equal(const void *a, const void *b, size_t size)
{
    const volatile unsigned char *one = a, *other = b;
    unsigned difference = 0;

    for (size_t i = 0; i < size; i++)
        difference |= (unsigned)(one[i] ^ other[i]);
    return difference == 0;
}
