#include "tests/fakes/cuda/device.h"

#include "tests/fakes/cuda/fake_cuda.h"
#include "tests/fakes/cuda/graph.h"
#include "tests/fakes/cuda/memory.h"
#include "tests/fakes/cuda/module.h"
#include "tests/fakes/cuda/stream.h"

#include <stdio.h>
#include <string.h>

struct device device = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

// The primary context's handle points here.
static char context;
static _Thread_local struct CUctx_st *current;
static _Thread_local bool was_told;
static _Thread_local enum call last = CALL_COUNT; // the call before
static bool was_read;
static char options_text[2048];

static bool needs_context(enum call call)
{
    switch (call) {
    case CALL_cuInit:
    case CALL_cuDriverGetVersion:
    case CALL_cuGetErrorName:
    case CALL_cuGetErrorString:
    case CALL_cuDeviceGet:
    case CALL_cuDeviceGetName:
    case CALL_cuDeviceGetAttribute:
    case CALL_cuDevicePrimaryCtxRetain:
    case CALL_cuDevicePrimaryCtxRelease_v2:
    case CALL_cuCtxSetCurrent:
        return false;
    default:
        return true;
    }
}

static bool needs_init(enum call call)
{
    return call != CALL_cuInit && call != CALL_cuDriverGetVersion && call != CALL_cuGetErrorName &&
           call != CALL_cuGetErrorString;
}

// `again`: the call goes on with what the one before it asked, and has no number of its own.
static int told_to_fail(enum call call, bool again)
{
    for (unsigned i = 0; i < device.options.fail_count; i++) {
        const struct options_fail *fail = &device.options.fails[i];
        uint64_t count = fail->call == CALL_COUNT ? device.total : device.calls[call];

        if ((fail->call == CALL_COUNT || fail->call == call) &&
            ((count == fail->nth && !(again && fail->call == CALL_COUNT)) ||
             (fail->onward && count >= fail->nth))) {
            return fail->result;
        }
    }
    return 0;
}

// The first function anybody calls reads the options.
static void read_options(void)
{
    const char *text = getenv("EDGED_FAKE_CUDA");

    if (!was_read) {
        options_read(text, &device.options);
        snprintf(options_text, sizeof options_text, "%s", text ? text : "");
        was_read = true;
    }
}

static void wait_if_told(enum call call, uint64_t nth)
{
    device.waiting++;
    while (device.options.wait.nth == nth && device.options.wait.call == call)
        pthread_cond_wait(&device.changed, &device.lock);
    device.waiting--;
}

int call_begin(enum call call)
{
    bool again = call == CALL_cuEventQuery && last == call;
    int told;

    pthread_mutex_lock(&device.lock);
    read_options();
    last = call;
    device.calls[call]++;
    device.total += !again;
    wait_if_told(call, device.calls[call]);
    told = told_to_fail(call, again);
    was_told = told != 0;
    if (told != 0)
        return told;
    if (needs_init(call) && !device.initialized)
        return RESULT_NOT_INITIALIZED;
    if (needs_context(call) && (!current || device.retained == 0))
        return RESULT_INVALID_CONTEXT;
    return needs_context(call) ? device.lost : 0;
}

bool call_was_told(void)
{
    return was_told;
}

int call_end(int result)
{
    pthread_mutex_unlock(&device.lock);
    return result;
}

void device_wait_idle(void)
{
    while (device.lost == 0 && !streams_are_idle())
        pthread_cond_wait(&device.changed, &device.lock);
}

int cuInit(unsigned flags)
{
    int r = call_begin(CALL_cuInit);

    if (r == 0 && flags != 0)
        r = RESULT_INVALID_VALUE;
    if (r == 0) {
        memory_guard();
        device.initialized = true;
    }
    return call_end(r);
}

int cuDriverGetVersion(int *version)
{
    int r = call_begin(CALL_cuDriverGetVersion);

    if (r == 0)
        *version = device.options.driver_version;
    return call_end(r);
}

int cuDeviceGet(int *number, int ordinal)
{
    int r = call_begin(CALL_cuDeviceGet);

    if (r == 0 && ordinal != 0)
        r = RESULT_INVALID_DEVICE;
    if (r == 0)
        *number = 0;
    return call_end(r);
}

int cuDeviceGetName(char *name, int size, int number)
{
    int r = call_begin(CALL_cuDeviceGetName);

    if (r == 0 && (number != 0 || size < 1))
        r = RESULT_INVALID_VALUE;
    if (r == 0)
        snprintf(name, (size_t)size, "%s", device.options.board->name);
    return call_end(r);
}

int cuDeviceGetAttribute(int *value, int attribute, int number)
{
    int r = call_begin(CALL_cuDeviceGetAttribute);
    int found = board_attribute(device.options.board, attribute);

    if (r == 0 && (number != 0 || found < 0))
        r = RESULT_INVALID_VALUE;
    if (r == 0)
        *value = found;
    return call_end(r);
}

int cuDevicePrimaryCtxRetain(struct CUctx_st **ret_context, int number)
{
    int r = call_begin(CALL_cuDevicePrimaryCtxRetain);

    if (r == 0 && number != 0)
        r = RESULT_INVALID_DEVICE;
    if (r == 0) {
        device.retained++;
        *ret_context = (struct CUctx_st *)&context;
    }
    return call_end(r);
}

int cuDevicePrimaryCtxRelease_v2(int number)
{
    int r = call_begin(CALL_cuDevicePrimaryCtxRelease_v2);

    if ((r == 0 || call_was_told()) && (number != 0 || device.retained == 0)) {
        r = RESULT_INVALID_CONTEXT;
    } else if (r == 0 || call_was_told()) {
        device_wait_idle();
        device.retained--;
        if (device.retained == 0)
            streams_end_usual();
    }
    return call_end(r);
}

int cuCtxSetCurrent(struct CUctx_st *wanted)
{
    int r = call_begin(CALL_cuCtxSetCurrent);

    if (r == 0 && wanted && (wanted != (struct CUctx_st *)&context || device.retained == 0))
        r = RESULT_INVALID_CONTEXT;
    if (r == 0) {
        current = wanted;
        r = wanted ? device.lost : 0;
    }
    return call_end(r);
}

unsigned fake_cuda_leaks(void)
{
    unsigned leaks;

    pthread_mutex_lock(&device.lock);
    if (device.retained > 0)
        fprintf(stderr, "fake_cuda: leaked: the context, retained %u times\n", device.retained);
    leaks = device.retained + memory_leaks() + images_leaks() + modules_leaks() + streams_leaks() +
            graphs_leaks();
    pthread_mutex_unlock(&device.lock);
    return leaks;
}

uint64_t fake_cuda_calls(void)
{
    uint64_t calls;

    pthread_mutex_lock(&device.lock);
    calls = device.total;
    pthread_mutex_unlock(&device.lock);
    return calls;
}

unsigned fake_cuda_waiting(void)
{
    unsigned waiting;

    pthread_mutex_lock(&device.lock);
    waiting = device.waiting;
    pthread_mutex_unlock(&device.lock);
    return waiting;
}

void fake_cuda_change(const char *options)
{
    pthread_mutex_lock(&device.lock);
    options_read(options, &device.options);
    pthread_cond_broadcast(&device.changed);
    pthread_mutex_unlock(&device.lock);
}

void fake_cuda_reset(void)
{
    streams_abandon();
    pthread_mutex_lock(&device.lock);
    graphs_forget();
    modules_forget();
    images_forget();
    memory_forget();
    device.initialized = false;
    device.retained = 0;
    device.lost = 0;
    device.total = 0;
    memset(device.calls, 0, sizeof device.calls);
    was_read = false;
    current = NULL;
    pthread_mutex_unlock(&device.lock);
}

static void write_report(void)
{
    FILE *file = fopen(device.options.report, "ae");

    if (!file)
        return;
    fprintf(file, "calls=%llu", (unsigned long long)device.total);
    for (enum call call = 0; call < CALL_COUNT; call++)
        fprintf(file, " %s=%llu", options_call_name(call), (unsigned long long)device.calls[call]);
    fputc('\n', file);
    fclose(file);
}

static __attribute__((destructor)) void tell_at_exit(void)
{
    if (device.options.report[0])
        write_report();
    if (device.lost == 0 && streams_are_idle())
        fake_cuda_leaks();
}
