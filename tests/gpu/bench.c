#include "tests/gpu/bench.h"

#include <errno.h>
#include <stdio.h>

#define CHUNK ((size_t)16 << 20)

int bench_fill(struct bench *bench, struct error *error)
{
    _cleanup_(cleanup_free) uint8_t *noise = malloc(CHUNK);
    uint32_t state = 1;
    int r = noise ? 0 : error_set(error, -ENOMEM, "no memory");

    for (size_t i = 0; i < CHUNK && r == 0; i++) {
        state = state * 1664525 + 1013904223;
        noise[i] = (uint8_t)(state >> 24);
    }
    for (size_t at = 0; at < BENCH_ROOM && r == 0; at += CHUNK) {
        r = cuda_driver_check(
            bench->driver,
            bench->driver->copy_to_device(bench->input + at, noise, CHUNK, gpu_stream(bench->gpu)),
            "copying to the GPU", error);
    }
    return r < 0 ? r : gpu_wait(bench->gpu, clock_now_ns() + 10 * NS_PER_S, error);
}

int bench_open(struct bench *bench, bool json, struct error *error)
{
    int r;

    *bench = (struct bench){.json = json};
    r = gpu_new(error, &bench->gpu);
    if (r < 0)
        return r;
    bench->driver = gpu_driver(bench->gpu);
    bench->npp = npp_open(bench->gpu);
    if (bench->driver->mem_alloc(&bench->input, BENCH_ROOM) ||
        bench->driver->mem_alloc(&bench->output, BENCH_ROOM) ||
        bench->driver->mem_alloc(&bench->between, (size_t)2 * 7680 * 4320) ||
        bench->driver->event_create(&bench->start, 0) ||
        bench->driver->event_create(&bench->end, 0)) {
        return error_set(error, -ENOMEM, "no memory on the GPU");
    }
    return bench_fill(bench, error);
}

void bench_close(struct bench *bench)
{
    npp_close(bench->npp);
    gpu_free(bench->gpu);
}

static int compare_values(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double bench_median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare_values);
    return values[count / 2];
}

int64_t bench_cpu_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

int bench_alternate(unsigned runs, int64_t interval_ns,
                    int (*run)(void *context, unsigned way, unsigned index), void *context)
{
    int64_t next_ns = clock_now_ns();
    int r = 0;

    for (unsigned i = 0; i < 2 * runs && r == 0; i++) {
        if (interval_ns > 0)
            clock_sleep_until_ns(next_ns);
        next_ns += interval_ns;
        r = run(context, i % 2, i / 2);
    }
    return r;
}

void bench_begin(struct bench *bench, const char *key, const char *title, const char *columns)
{
    bench->first = true;
    if (bench->json)
        printf(",\n\"%s\": [", key);
    else
        printf("\n%s\n%s\n", title, columns);
}

void bench_next(struct bench *bench)
{
    if (bench->json)
        printf(bench->first ? "\n " : ",\n ");
    bench->first = false;
}

void bench_end(struct bench *bench)
{
    printf(bench->json ? "\n]" : "");
    fflush(stdout);
}
