#include "daemon/front/account/nonce.h"

#include "config/base.h"
#include "daemon/front/account/authorization.h"

#include <errno.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define TAG_SIZE 16
#define HMAC_SIZE 32
#define COUNTS_SEEN 32

// The bytes that the digits of a nonce stand for.
struct nonce {
    uint8_t id[NONCE_ID_SIZE];
    uint8_t made_ns[sizeof(int64_t)];
    uint8_t tag[TAG_SIZE];
};
_Static_assert(2 * sizeof(struct nonce) + 1 == NONCE_TEXT_SIZE, "two digits a byte");

int nonces_init(struct nonces *nonces)
{
    *nonces = (struct nonces){.forgotten_ns = INT64_MIN};
    return getrandom(nonces->key, sizeof nonces->key, 0) == sizeof nonces->key ? 0 : -errno;
}

void nonces_finish(struct nonces *nonces)
{
    explicit_bzero(nonces->key, sizeof nonces->key);
}

static void authenticate(const struct nonces *nonces, const void *first, size_t first_size,
                         const void *second, size_t second_size, uint8_t ret_hmac[HMAC_SIZE])
{
    GHmac *hmac = g_hmac_new(G_CHECKSUM_SHA256, nonces->key, sizeof nonces->key);
    gsize size = HMAC_SIZE;

    g_hmac_update(hmac, first, (gssize)first_size);
    g_hmac_update(hmac, second, (gssize)second_size);
    g_hmac_get_digest(hmac, ret_hmac, &size);
    g_hmac_unref(hmac);
}

static void tag(const struct nonces *nonces, const struct nonce *nonce,
                const uint8_t address[NONCE_ADDRESS_SIZE], uint8_t ret_hmac[HMAC_SIZE])
{
    authenticate(nonces, nonce, offsetof(struct nonce, tag), address, NONCE_ADDRESS_SIZE, ret_hmac);
}

void nonce_make(struct nonces *nonces, const uint8_t address[NONCE_ADDRESS_SIZE], int64_t now_ns,
                char ret_text[NONCE_TEXT_SIZE])
{
    uint64_t number = nonces->made++;
    uint8_t hmac[HMAC_SIZE], bytes[sizeof(struct nonce)];
    struct nonce nonce;

    authenticate(nonces, "number", strlen("number"), &number, sizeof number, hmac);
    memcpy(nonce.id, hmac, sizeof nonce.id);
    memcpy(nonce.made_ns, &now_ns, sizeof nonce.made_ns);
    tag(nonces, &nonce, address, hmac);
    memcpy(nonce.tag, hmac, sizeof nonce.tag);
    memcpy(bytes, &nonce, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(ret_text + 2 * i, 3, "%02x", bytes[i]);
}

static bool parse(const char *text, struct nonce *ret_nonce)
{
    uint8_t bytes[sizeof *ret_nonce];

    if (strlen(text) != 2 * sizeof bytes)
        return false;
    for (size_t i = 0; i < sizeof bytes; i++) {
        int high = g_ascii_xdigit_value(text[2 * i]), low = g_ascii_xdigit_value(text[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        bytes[i] = (uint8_t)(high << 4 | low);
    }
    memcpy(ret_nonce, bytes, sizeof *ret_nonce);
    return true;
}

// Notes a count; whether it was not seen before. Requests of several connections overtake each
// other, so the last 32 are told apart.
static bool take_count(struct nonce_counts *counts, uint32_t count)
{
    if (count > counts->highest) {
        uint32_t distance = count - counts->highest;

        counts->seen = distance < COUNTS_SEEN ? counts->seen << distance | 1 : 1;
        counts->highest = count;
        return true;
    }
    uint32_t age = counts->highest - count;
    bool is_new = count > 0 && age < COUNTS_SEEN && !(counts->seen & UINT32_C(1) << age);

    counts->seen |= is_new ? UINT32_C(1) << age : 0;
    return is_new;
}

static struct nonce_kept *find(struct nonces *nonces, const struct nonce *nonce)
{
    for (size_t i = 0; i < NONCE_KEPT; i++) {
        struct nonce_kept *kept = &nonces->kept[i];

        if (kept->counts.highest > 0 && memcmp(kept->id, nonce->id, sizeof kept->id) == 0)
            return kept;
    }
    return NULL;
}

// A free place in the table, or else that of the oldest nonce.
static struct nonce_kept *keep(struct nonces *nonces, const struct nonce *nonce, int64_t made_ns)
{
    struct nonce_kept *place = &nonces->kept[0];

    for (size_t i = 0; i < NONCE_KEPT && place->counts.highest > 0; i++) {
        struct nonce_kept *kept = &nonces->kept[i];

        if (kept->counts.highest == 0 || kept->made_ns < place->made_ns)
            place = kept;
    }
    if (place->counts.highest > 0)
        nonces->forgotten_ns = MAX(nonces->forgotten_ns, place->made_ns);
    *place = (struct nonce_kept){.made_ns = made_ns};
    memcpy(place->id, nonce->id, sizeof place->id);
    return place;
}

// Takes the count of a nonce that this connection uses. Counts that other connections took are in
// the table.
static bool take_in_use(struct nonces *nonces, const struct nonce *nonce, uint32_t count,
                        struct nonce_use *use)
{
    struct nonce_kept *kept = count > 0 ? find(nonces, nonce) : NULL;

    if (count == 0)
        return true;
    return take_count(&use->counts, count) && (!kept || take_count(&kept->counts, count));
}

bool nonce_take(struct nonces *nonces, const char *text, const uint8_t address[NONCE_ADDRESS_SIZE],
                uint32_t count, int64_t now_ns, struct nonce_use *use)
{
    struct nonce_kept *kept;
    uint8_t hmac[HMAC_SIZE];
    struct nonce nonce;
    int64_t made_ns;

    if (!parse(text, &nonce))
        return false;
    tag(nonces, &nonce, address, hmac);
    if (!bytes_equal(hmac, nonce.tag, sizeof nonce.tag))
        return false;
    if (use && use->valid && memcmp(use->id, nonce.id, sizeof use->id) == 0)
        return take_in_use(nonces, &nonce, count, use);
    memcpy(&made_ns, nonce.made_ns, sizeof made_ns);
    if (now_ns - made_ns > NONCE_LIFE_S * NS_PER_S)
        return false;
    kept = count > 0 ? find(nonces, &nonce) : NULL;
    if (!kept && count == 1 && made_ns > nonces->forgotten_ns)
        kept = keep(nonces, &nonce, made_ns);
    if (count > 0 && (!kept || !take_count(&kept->counts, count)))
        return false;
    if (use) {
        *use = (struct nonce_use){.valid = true};
        memcpy(use->id, nonce.id, sizeof use->id);
        use->counts = kept ? kept->counts : (struct nonce_counts){0};
    }
    return true;
}
