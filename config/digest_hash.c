#include "config/digest_hash.h"

#include <glib.h>
#include <stdio.h>
#include <string.h>

static const GChecksumType types[] = {
    [DIGEST_SHA256] = G_CHECKSUM_SHA256,
    [DIGEST_MD5] = G_CHECKSUM_MD5,
};

size_t digest_hex_length(enum digest_algorithm algorithm)
{
    return 2 * (size_t)g_checksum_type_get_length(types[algorithm]);
}

// GLib wipes nothing of its own: neither the digits nor the last block, which may be a password. A
// whole block would not go through where that lies, a begun one that is filled up does.
static void finish(GChecksum *checksum)
{
    static const guchar block[64];

    char *digits = (char *)g_checksum_get_string(checksum);
    explicit_bzero(digits, strlen(digits));
    g_checksum_reset(checksum);
    g_checksum_update(checksum, block, 1);
    g_checksum_update(checksum, block, sizeof block - 1);
    g_checksum_free(checksum);
}

void digest_hash(enum digest_algorithm algorithm, const char *const *fields, size_t count,
                 char ret_hex[DIGEST_HEX_SIZE])
{
    GChecksum *checksum = g_checksum_new(types[algorithm]);

    for (size_t i = 0; i < count; i++) {
        if (i > 0) {
            g_checksum_update(checksum, (const guchar *)":", 1);
        }
        g_checksum_update(checksum, (const guchar *)fields[i], (gssize)strlen(fields[i]));
    }
    snprintf(ret_hex, DIGEST_HEX_SIZE, "%s", g_checksum_get_string(checksum));
    finish(checksum);
}
