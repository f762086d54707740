// Copies between host and device, and inside it; and clearing.
#include "tests/fakes/cuda/memory.h"

#include <stdlib.h>
#include <string.h>

struct copy {
    uint64_t to, from; // device addresses; `from` 0: `bytes`
    const void *host;  // read when the copy runs; NULL: it was read when it was queued
    size_t size;
    uint8_t bytes[];
};

static int run(struct CUstream_st *stream, void *payload)
{
    const struct copy *copy = payload;
    uint8_t *to = memory_touch(stream, "a copy", copy->to, copy->size);
    const void *from = copy->host ? copy->host : copy->bytes;

    if (copy->from)
        from = memory_touch(stream, "a copy", copy->from, copy->size);
    if (!to || !from)
        return RESULT_ILLEGAL_ADDRESS;
    memcpy(to, from, copy->size);
    return 0;
}

// Host memory that the device knows is read when the copy's turn comes; other memory at once, into
// the driver's own.
static bool is_known(const uint8_t *host, size_t size)
{
    for (const struct memory *m = memory_blocks; m < memory_blocks + MEMORY_BLOCKS_MAX; m++) {
        if ((m->kind == MEMORY_PINNED || m->kind == MEMORY_REGISTERED) && host >= m->cpu &&
            host + size <= m->cpu + m->size) {
            return true;
        }
    }
    return false;
}

static int queue(struct CUstream_st *stream, const struct copy *what, const void *host)
{
    size_t staged = host && !what->host ? what->size : 0;
    struct copy *copy = malloc(sizeof *copy + staged);
    int r;

    if (!copy)
        return RESULT_OUT_OF_MEMORY;
    *copy = *what;
    if (staged > 0)
        memcpy(copy->bytes, host, staged);
    r = stream_queue(stream, run, copy, sizeof *copy + staged, NULL);
    free(copy);
    return r;
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, struct CUstream_st *handle)
{
    int r = call_begin(CALL_cuMemcpyHtoDAsync_v2);
    struct CUstream_st *stream = r == 0 ? stream_find(handle) : NULL;
    struct copy copy = {.to = to, .host = is_known(from, bytes) ? from : NULL, .size = bytes};

    if (r == 0 && (!stream || !from || !memory_at(to)))
        r = RESULT_INVALID_VALUE;
    return call_end(r == 0 ? queue(stream, &copy, from) : r);
}

int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, struct CUstream_st *handle)
{
    int r = call_begin(CALL_cuMemcpyDtoDAsync_v2);
    struct CUstream_st *stream = r == 0 ? stream_find(handle) : NULL;
    struct copy copy = {.to = to, .from = from, .size = bytes};

    if (r == 0 && (!stream || !memory_at(from) || !memory_at(to)))
        r = RESULT_INVALID_VALUE;
    return call_end(r == 0 ? queue(stream, &copy, NULL) : r);
}

struct fill {
    uint64_t address;
    unsigned char value;
    size_t size;
};

static int run_fill(struct CUstream_st *stream, void *payload)
{
    const struct fill *fill = payload;
    uint8_t *to = memory_touch(stream, "a fill", fill->address, fill->size);

    if (!to)
        return RESULT_ILLEGAL_ADDRESS;
    memset(to, fill->value, fill->size);
    return 0;
}

int cuMemsetD8Async(uint64_t address, unsigned char value, size_t bytes, struct CUstream_st *handle)
{
    int r = call_begin(CALL_cuMemsetD8Async);
    struct CUstream_st *stream = r == 0 ? stream_find(handle) : NULL;
    struct fill fill = {address, value, bytes};

    if (r == 0 && (!stream || !memory_at(address)))
        r = RESULT_INVALID_VALUE;
    return call_end(r == 0 ? stream_queue(stream, run_fill, &fill, sizeof fill, NULL) : r);
}

// In the default stream's order; streams that do not block for it, as edged's, go on beside it.
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes)
{
    int r = call_begin(CALL_cuMemcpyDtoH_v2);
    const struct memory *memory = memory_at(from);

    if (r == 0 && (!to || !memory || bytes > memory->size - (from - memory->address)))
        r = RESULT_INVALID_VALUE;
    if (r == 0)
        memcpy(to, memory->bytes + (from - memory->address), bytes);
    return call_end(r);
}
