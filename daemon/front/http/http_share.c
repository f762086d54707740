#include "daemon/front/http/http_share.h"

#include <glib.h>
#include <time.h>

#define SHARE 5

struct http_share {
    GSource base;
    int (*next_run_ms)(void *server);
    void (*run)(void *server);
    void *server;           // borrowed
    void *tag;              // of the descriptor
    int64_t spent_ns;       // time on the main loop that has not been earned yet
    int64_t counted_ns;     // when `spent_ns` was that
    int64_t rests_until_ns; // 0: it does not rest
};

static gboolean prepare(GSource *base, int *ret_timeout_ms)
{
    const struct http_share *share = (struct http_share *)base;

    *ret_timeout_ms = share->rests_until_ns ? -1 : share->next_run_ms(share->server);
    return *ret_timeout_ms == 0;
}

static gboolean check(GSource *base)
{
    struct http_share *share = (struct http_share *)base;

    return !share->rests_until_ns && (g_source_query_unix_fd(base, share->tag) != 0 ||
                                      share->next_run_ms(share->server) == 0);
}

// Counts what a run has cost. One SHARE-th of the time that passes is earned; a server that has
// spent a burst more than that rests until half of the burst is earned.
static void pay(struct http_share *share, int64_t spent_ns)
{
    int64_t now_ns = clock_now_ns(), earned_ns = (now_ns - share->counted_ns) / SHARE;

    share->spent_ns = MAX(share->spent_ns - earned_ns, 0) + spent_ns;
    share->counted_ns = now_ns;
    if (share->spent_ns > HTTP_SHARE_BURST_NS) {
        share->rests_until_ns = now_ns + (share->spent_ns - HTTP_SHARE_BURST_NS / 2) * SHARE;
        g_source_modify_unix_fd(&share->base, share->tag, 0);
        g_source_set_ready_time(&share->base, share->rests_until_ns / NS_PER_US);
    }
}

static gboolean dispatch(GSource *base, GSourceFunc callback, void *context)
{
    struct http_share *share = (struct http_share *)base;
    int64_t begin_ns;

    (void)callback, (void)context;
    if (clock_now_ns() < share->rests_until_ns) { // it was woken
        g_source_set_ready_time(base, share->rests_until_ns / NS_PER_US);
        return G_SOURCE_CONTINUE;
    }
    if (share->rests_until_ns) {
        share->rests_until_ns = 0;
        g_source_modify_unix_fd(base, share->tag, G_IO_IN);
    }
    begin_ns = http_share_computed_ns();
    g_source_set_ready_time(base, -1);
    share->run(share->server);
    pay(share, http_share_computed_ns() - begin_ns);
    return G_SOURCE_CONTINUE;
}

struct http_share *http_share_new(const char *name, int fd, int (*next_run_ms)(void *server),
                                  void (*run)(void *server), void *server)
{
    static GSourceFuncs functions = {.prepare = prepare, .check = check, .dispatch = dispatch};
    GSource *base = g_source_new(&functions, sizeof(struct http_share));
    struct http_share *share = (struct http_share *)base;

    g_source_set_name(base, name);
    share->next_run_ms = next_run_ms;
    share->run = run;
    share->server = server;
    share->tag = g_source_add_unix_fd(base, fd, G_IO_IN);
    g_source_attach(base, NULL);
    return share;
}

void http_share_wake(struct http_share *share, int64_t at_ns)
{
    int64_t set_us = g_source_get_ready_time(&share->base), at_us = at_ns / NS_PER_US;

    if (set_us < 0 || at_us < set_us)
        g_source_set_ready_time(&share->base, at_us);
}

void http_share_charge(struct http_share *share, int64_t spent_ns)
{
    share->spent_ns += spent_ns;
}

int64_t http_share_computed_ns(void)
{
    struct timespec time;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * NS_PER_S + time.tv_nsec;
}

void http_share_free(struct http_share *share)
{
    if (share) {
        g_source_destroy(&share->base);
        g_source_unref(&share->base);
    }
}
