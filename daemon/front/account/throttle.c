#include "daemon/front/account/throttle.h"

#include "config/base.h"

#include <string.h>

#define INTERVAL_NS (THROTTLE_INTERVAL_MS * NS_PER_MS)
#define INTERVAL_ALL_NS (THROTTLE_INTERVAL_ALL_MS * NS_PER_MS)

// How long until a bucket of `tries` holds a whole try.
static int64_t bucket_wait_ns(int64_t full_ns, int tries, int64_t interval_ns, int64_t now_ns)
{
    int64_t wait_ns = full_ns - now_ns - (tries - 1) * interval_ns;

    return wait_ns > 0 ? wait_ns : 0;
}

static void bucket_take(int64_t *full_ns, int64_t interval_ns, int64_t now_ns)
{
    *full_ns = (*full_ns > now_ns ? *full_ns : now_ns) + interval_ns;
}

static const struct throttle_address *find(const struct throttle *throttle,
                                           const struct peer *network)
{
    for (size_t i = 0; i < THROTTLE_ADDRESSES; i++) {
        if (memcmp(&throttle->addresses[i].network, network, sizeof *network) == 0)
            return &throttle->addresses[i];
    }
    return NULL;
}

static struct throttle_address *find_or_add(struct throttle *throttle, const struct peer *network)
{
    struct throttle_address *first = &throttle->addresses[0];

    for (size_t i = 0; i < THROTTLE_ADDRESSES; i++) {
        struct throttle_address *address = &throttle->addresses[i];

        if (memcmp(&address->network, network, sizeof *network) == 0)
            return address;
        first = address->full_ns < first->full_ns ? address : first;
    }
    *first = (struct throttle_address){.network = *network};
    return first;
}

static bool is_trusted(const struct throttle *throttle, const struct peer *network, int64_t now_ns)
{
    for (size_t i = 0; i < THROTTLE_TRUSTED; i++) {
        const struct throttle_trusted *trusted = &throttle->trusted[i];

        if (trusted->login_ns && now_ns - trusted->login_ns <= THROTTLE_TRUSTED_S * NS_PER_S &&
            memcmp(&trusted->network, network, sizeof *network) == 0) {
            return true;
        }
    }
    return false;
}

static bool has_failed(const struct throttle_address *address, int64_t now_ns)
{
    return address && address->failed_ns &&
           now_ns - address->failed_ns < THROTTLE_REMEMBERED_S * NS_PER_S;
}

int64_t throttle_wait_ns(const struct throttle *throttle, const struct peer *peer, int64_t now_ns)
{
    const struct peer network = peer_network(peer);
    const struct throttle_address *address = find(throttle, &network);
    int64_t own_ns =
        address ? bucket_wait_ns(address->full_ns, THROTTLE_TRIES, INTERVAL_NS, now_ns) : 0;
    int tries = has_failed(address, now_ns) ? THROTTLE_TRIES_ALL / 2 : THROTTLE_TRIES_ALL;
    int64_t all_ns = bucket_wait_ns(throttle->full_ns, tries, INTERVAL_ALL_NS, now_ns);

    return own_ns >= all_ns || is_trusted(throttle, &network, now_ns) ? own_ns : all_ns;
}

enum throttle_news throttle_count_failure(struct throttle *throttle, const struct peer *peer,
                                          int64_t now_ns)
{
    const struct peer network = peer_network(peer);
    struct throttle_address *address = find_or_add(throttle, &network);
    bool was_waiting = address->is_waiting && address->full_ns > now_ns;
    bool had_failed = has_failed(address, now_ns);

    if (!is_trusted(throttle, &network, now_ns))
        bucket_take(&throttle->full_ns, INTERVAL_ALL_NS, now_ns);
    bucket_take(&address->full_ns, INTERVAL_NS, now_ns);
    address->failed_ns = now_ns;
    address->is_waiting =
        was_waiting || bucket_wait_ns(address->full_ns, THROTTLE_TRIES, INTERVAL_NS, now_ns) > 0;
    return address->is_waiting && !was_waiting ? THROTTLE_WAITS
           : had_failed                        ? THROTTLE_MORE_OF_IT
                                               : THROTTLE_FIRST;
}

void throttle_trust(struct throttle *throttle, const struct peer *peer, int64_t now_ns)
{
    const struct peer network = peer_network(peer);
    struct throttle_trusted *oldest = &throttle->trusted[0];

    for (size_t i = 0; i < THROTTLE_TRUSTED; i++) {
        struct throttle_trusted *trusted = &throttle->trusted[i];

        if (memcmp(&trusted->network, &network, sizeof network) == 0) {
            trusted->login_ns = now_ns;
            return;
        }
        oldest = trusted->login_ns < oldest->login_ns ? trusted : oldest;
    }
    *oldest = (struct throttle_trusted){network, now_ns};
}
