#include "daemon/front/supervise/gpu_retry.h"

#include "config/base.h"

#include <string.h>

#define FIRST_MS 1000u
#define LAST_MS 60000u
#define OPENING_MS 12000u // a camera process gives up opening a GPU after 10 s
#define HEALTHY_NS (60 * NS_PER_S)
#define SUSPICIOUS_NS (30 * NS_PER_S) // one that hangs in a driver is killed after 12 s

void gpu_retry_begin(struct gpu_retry *retry, bool wanted)
{
    bool failed = retry->use == GPU_WITHHELD || retry->use == GPU_TRIED;

    retry->use = !wanted ? GPU_UNUSED : failed ? GPU_WITHHELD : GPU_OPENING;
}

static void forget_if_healthy(struct gpu_retry *retry, int64_t now_ns)
{
    if (retry->use == GPU_COMPUTES && now_ns - retry->computes_ns >= HEALTHY_NS)
        retry->next_ms = 0;
}

void gpu_retry_note_backend(struct gpu_retry *retry, const char *backend, int64_t now_ns)
{
    if (strncmp(backend, "CUDA", strlen("CUDA")) != 0) {
        forget_if_healthy(retry, now_ns);
        if (*backend && (retry->use == GPU_OPENING || retry->use == GPU_COMPUTES))
            retry->use = GPU_IDLE;
    } else if (retry->use != GPU_COMPUTES) {
        retry->use = GPU_COMPUTES;
        retry->computes_ns = now_ns;
        retry->replaced = false;
    }
}

bool gpu_retry_note_death(struct gpu_retry *retry, bool by_signal, int64_t now_ns)
{
    int64_t before_ns = retry->died_ns;

    if (retry->use != GPU_COMPUTES && !(retry->use == GPU_OPENING && by_signal))
        return false;
    retry->died_ns = now_ns;
    return before_ns && now_ns - before_ns < SUSPICIOUS_NS;
}

static unsigned advance_ms(struct gpu_retry *retry)
{
    unsigned delay_ms = retry->next_ms ? retry->next_ms : FIRST_MS;

    retry->next_ms = 2 * delay_ms < LAST_MS ? 2 * delay_ms : LAST_MS;
    return delay_ms;
}

unsigned gpu_retry_fail_ms(struct gpu_retry *retry, int64_t now_ns)
{
    forget_if_healthy(retry, now_ns);
    retry->use = retry->use == GPU_COMPUTES ? GPU_IDLE : retry->use;
    retry->died_ns = 0;
    retry->tried = false;
    return advance_ms(retry);
}

unsigned gpu_retry_try_ms(struct gpu_retry *retry)
{
    if (retry->tried)
        advance_ms(retry);
    retry->tried = true;
    retry->use = retry->use == GPU_WITHHELD ? GPU_TRIED : retry->use;
    return retry->next_ms > OPENING_MS ? retry->next_ms : OPENING_MS;
}
