#include "daemon/front/account/username_token.h"

#include "config/base.h"
#include "daemon/front/account/authorization.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

#define SHA1_SIZE 20
#define BASE64_MAX 64 // of a digest, with room for line ends

// The digest that the token says; whether it is one.
static bool read_digest(const struct username_token *token, uint8_t ret_digest[SHA1_SIZE])
{
    g_autofree guchar *bytes = NULL;
    gsize size;

    if (!token->password || token->is_text || strlen(token->password) > BASE64_MAX)
        return false;
    bytes = g_base64_decode(token->password, &size);
    if (size != SHA1_SIZE)
        return false;
    memcpy(ret_digest, bytes, SHA1_SIZE);
    return true;
}

bool username_token_matches(const struct username_token *token, const char *password)
{
    uint8_t given[SHA1_SIZE], own[SHA1_SIZE];
    gsize size = sizeof own;

    if (!token->created || !read_digest(token, given))
        return false;
    GChecksum *checksum = g_checksum_new(G_CHECKSUM_SHA1);
    g_checksum_update(checksum, token->nonce, (gssize)token->nonce_size);
    g_checksum_update(checksum, (const guchar *)token->created, (gssize)strlen(token->created));
    g_checksum_update(checksum, (const guchar *)password, (gssize)strlen(password));
    g_checksum_get_digest(checksum, own, &size);
    g_checksum_free(checksum);
    return bytes_equal(given, own, sizeof own);
}

int username_token_created(const struct username_token *token, int64_t *ret_s)
{
    g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
    g_autoptr(GDateTime) time =
        token->created ? g_date_time_new_from_iso8601(token->created, utc) : NULL;

    if (!time)
        return -EINVAL;
    *ret_s = g_date_time_to_unix(time);
    return 0;
}

static const struct username_token_kept *find(const struct username_tokens *tokens, uint64_t digest)
{
    for (size_t i = 0; i < tokens->count; i++) {
        if (tokens->kept[i].digest == digest)
            return &tokens->kept[i];
    }
    return NULL;
}

// When the youngest digest of the user was made that was forgotten; 0: none was.
static int64_t *forgotten_of(struct username_tokens *tokens, const char *name)
{
    int64_t *forgotten_s;

    if (!tokens->users)
        tokens->users = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    forgotten_s = g_hash_table_lookup(tokens->users, name);
    if (!forgotten_s) {
        forgotten_s = g_new0(int64_t, 1);
        g_hash_table_insert(tokens->users, g_strdup(name), forgotten_s);
    }
    return forgotten_s;
}

bool username_tokens_take(struct username_tokens *tokens, const struct username_token *token,
                          int64_t created_s, const struct peer *from, int64_t now_ns)
{
    struct username_token_kept *place = &tokens->kept[tokens->next];
    int64_t *forgotten_s = forgotten_of(tokens, token->name);
    const struct username_token_kept *before;
    uint8_t digest[SHA1_SIZE];
    uint64_t first;

    // Both were within USERNAME_TOKEN_LIFE_S of this server's clock when they came: it has been set
    // back in between.
    if (*forgotten_s - created_s > 2 * USERNAME_TOKEN_LIFE_S)
        *forgotten_s = 0;
    if (!read_digest(token, digest) || (*forgotten_s && created_s <= *forgotten_s))
        return false;
    memcpy(&first, digest, sizeof first);
    before = find(tokens, first);
    if (before) {
        return memcmp(&before->from, from, sizeof *from) == 0 &&
               now_ns - before->taken_ns <= USERNAME_TOKEN_AGAIN_S * NS_PER_S;
    }
    if (tokens->count < USERNAME_TOKENS_KEPT)
        tokens->count++;
    else
        *place->forgotten_s = MAX(*place->forgotten_s, place->created_s);
    *place = (struct username_token_kept){first, created_s, now_ns, forgotten_s, *from};
    tokens->next = (tokens->next + 1) % USERNAME_TOKENS_KEPT;
    return true;
}

void username_tokens_finish(struct username_tokens *tokens)
{
    g_clear_pointer(&tokens->users, g_hash_table_destroy);
}
