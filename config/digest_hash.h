// The hashes of HTTP's and RTSP's Digest authentication (RFC 7616): of fields joined by ':', as
// hexadecimal digits.
#pragma once

#include <stddef.h>

// In the order in which they are offered.
enum digest_algorithm { DIGEST_SHA256, DIGEST_MD5, DIGEST_ALGORITHM_COUNT };

#define DIGEST_HEX_SIZE 65 // of the longest, with its NUL

// Digits of a hash: 64 or 32.
size_t digest_hex_length(enum digest_algorithm algorithm);
// H(fields[0] ":" fields[1] ":" …) of RFC 7616, section 3.4, in lower-case digits. Leaves nothing
// of the fields in memory.
void digest_hash(enum digest_algorithm algorithm, const char *const *fields, size_t count,
                 char ret_hex[DIGEST_HEX_SIZE]);
