#include "tests/fakes/nvmm/calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME(name, symbol, parameters) #symbol,
static const char *const names[CALL_COUNT] = {NVBUFSURFACE_FUNCTIONS(NAME) "by_elements"};
#undef NAME

struct fake fake = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void read_fail(const char *value)
{
    char symbol[64], plus = 0;
    unsigned long long nth;

    if (sscanf(value, "%63[^:]:%llu%c", symbol, &nth, &plus) < 2) {
        fprintf(stderr, "fake_nvmm: fail=%s is not understood\n", value);
        abort();
    }
    fake.failing = 0;
    while (fake.failing < CALL_COUNT && strcmp(names[fake.failing], symbol) != 0)
        fake.failing++;
    fake.fail_nth = nth;
    fake.fail_onward = plus == '+';
}

static void read_options(void)
{
    char copy[1024], *rest = NULL;
    const char *text = getenv("EDGED_FAKE_NVMM");

    snprintf(copy, sizeof copy, "%s", text ? text : "");
    for (char *word = strtok_r(copy, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        fake.jetpack5 |= strcmp(word, "jetpack=5") == 0;
        fake.jetpack7 |= strcmp(word, "jetpack=7") == 0;
        fake.other_layout |= strcmp(word, "layout=other") == 0;
        fake.one_plane |= strcmp(word, "planes=1") == 0;
        fake.blocks |= strcmp(word, "blocks") == 0;
        fake.no_sync[0] |= strcmp(word, "no-sync=device") == 0;
        fake.no_sync[1] |= strcmp(word, "no-sync=cpu") == 0;
        if (strncmp(word, "fail=", 5) == 0)
            read_fail(word + 5);
        else if (strncmp(word, "report=", 7) == 0)
            snprintf(fake.report, sizeof fake.report, "%s", word + 7);
    }
    fake.was_read = true;
}

bool call_begin(enum call call)
{
    pthread_mutex_lock(&fake.lock);
    if (!fake.was_read)
        read_options();
    fake.calls[call]++;
    fake.total++;
    uint64_t count = fake.failing == CALL_COUNT ? fake.total : fake.calls[call];
    bool concerned = fake.failing == CALL_COUNT || fake.failing == call;
    return !concerned || fake.fail_nth == 0 ||
           (count != fake.fail_nth && !(fake.fail_onward && count > fake.fail_nth));
}

int call_end(bool done)
{
    pthread_mutex_unlock(&fake.lock);
    return done ? 0 : -1;
}

uint64_t fake_nvmm_calls(void)
{
    pthread_mutex_lock(&fake.lock);
    uint64_t calls = fake.total;
    pthread_mutex_unlock(&fake.lock);
    return calls;
}

uint64_t fake_nvmm_cpu_accesses(void)
{
    pthread_mutex_lock(&fake.lock);
    uint64_t count = fake.calls[CALL_NvBufSurfaceMap] + fake.calls[CALL_NvBufSurfaceSyncForCpu] +
                     fake.calls[CALL_NvBufSurfaceSyncForDevice];
    pthread_mutex_unlock(&fake.lock);
    return count;
}

void fake_nvmm_reset(void)
{
    pthread_mutex_lock(&fake.lock);
    fake.was_read = fake.jetpack5 = fake.jetpack7 = fake.other_layout = fake.one_plane =
        fake.blocks = false;
    fake.no_sync[0] = fake.no_sync[1] = false;
    fake.fail_nth = fake.total = fake.told_total = 0;
    memset(fake.calls, 0, sizeof fake.calls);
    memset(fake.told, 0, sizeof fake.told);
    pthread_mutex_unlock(&fake.lock);
}

void calls_report(void)
{
    FILE *file = fake.report[0] ? fopen(fake.report, "ae") : NULL;

    if (file) {
        fprintf(file, "calls=%llu", (unsigned long long)(fake.total - fake.told_total));
        for (enum call call = 0; call < CALL_COUNT; call++) {
            fprintf(file, " %s=%llu", names[call],
                    (unsigned long long)(fake.calls[call] - fake.told[call]));
        }
        fputc('\n', file);
        fclose(file);
        fake.told_total = fake.total;
        memcpy(fake.told, fake.calls, sizeof fake.told);
    }
}

static __attribute__((destructor)) void tell_at_exit(void)
{
    calls_report();
    fake_nvmm_leaks();
}
