#include "daemon/ctl/gpu_session.h"

#include "daemon/common/mask_file.h"
#include "kernels/selftest/gpu_selftest.h"

#include <errno.h>
#include <stdio.h>

// One that is written, and one that a view passes on.
#define FLIP_FRAMES 2

static bool was_lost;

static int open_gpu(struct gpu_session *session, enum config_memory memory, struct error *why)
{
    struct error passed_over = {0};
    int r = gpu_new(why, &session->gpu);

    if (r == 0) {
        r = gpu_selftest_start(session->gpu, why);
        was_lost |= gpu_is_lost(session->gpu);
    }
    if (r == 0)
        r = gpu_memory_new(session->gpu, memory, &passed_over, &session->memory);
    if (r == 0 && gpu_memory_kind(session->memory) == CONFIG_MEMORY_HOST) {
        r = error_set(why, -ENOTSUP, "the GPU cannot use host memory%s%s",
                      passed_over.text[0] ? ": " : "", passed_over.text);
    }
    return r;
}

int gpu_session_open(struct gpu_session *session, enum config_backend wanted,
                     enum config_memory memory, struct error *why)
{
    int r = 0;

    *session = (struct gpu_session){0};
    if (wanted != CONFIG_BACKEND_CPU) {
        r = open_gpu(session, memory, why);
        if (r == 0)
            return 0;
        gpu_session_close(session);
        session->refused = r;
        if (wanted == CONFIG_BACKEND_CUDA)
            return r;
    }
    return gpu_memory_new(NULL, CONFIG_MEMORY_HOST, why, &session->memory);
}

void gpu_session_close(struct gpu_session *session)
{
    pool_free(session->pool);
    gpu_memory_free(session->memory);
    gpu_free(session->gpu);
    *session = (struct gpu_session){0};
}

const struct frame_allocator *gpu_session_allocator(const struct gpu_session *session)
{
    return gpu_memory_allocator(session->memory);
}

int gpu_session_view_new(struct gpu_session *session, const struct view_setup *setup,
                         struct error *error, struct view **ret_view)
{
    struct view_setup mine = *setup;
    int r;

    mine.gpu = session->gpu;
    mine.pool = session->pool;
    mine.allocator = gpu_session_allocator(session);
    mine.read_mask = mask_file_read;
    r = view_new(&mine, error, ret_view);
    session->failed |= r < 0 && session->gpu;
    return r;
}

int gpu_session_view_run(struct gpu_session *session, struct view *view, struct frame *input,
                         struct error *error, struct frame **ret_output)
{
    int r = view_run(view, input, error, ret_output);

    if (r < 0 && r != -ENOBUFS && session->gpu)
        gpu_session_lose(session);
    return r;
}

int gpu_session_start_threads(struct gpu_session *session, unsigned threads, struct error *error)
{
    struct error fewer = {0};
    int r = pool_new(threads, &fewer, &session->pool);

    if (r < 0)
        return error_set(error, r, "%s", fewer.text);
    if (fewer.text[0])
        fprintf(stderr, "edgectl: %s\n", fewer.text);
    return 0;
}

int gpu_session_flip_new(struct gpu_session *session, enum config_flip flip,
                         const struct frame_layout *input, struct error *error,
                         struct flip **ret_flip)
{
    const struct flip_setup setup = {.flip = flip,
                                     .input = input,
                                     .frames = FLIP_FRAMES,
                                     .allocator = gpu_session_allocator(session),
                                     .gpu = session->gpu,
                                     .pool = session->pool};
    int r;

    *ret_flip = NULL;
    r = flip == CONFIG_FLIP_NONE ? 0 : flip_new(&setup, error, ret_flip);
    session->failed |= r < 0 && session->gpu;
    return r;
}

int gpu_session_flip_run(struct gpu_session *session, struct flip *flip, struct error *error,
                         struct frame **frame)
{
    _cleanup_(cleanup_frame) struct frame *flipped = NULL;
    int r = 0;

    if (!flip)
        return 0;
    r = flip_run(flip, *frame, error, &flipped);
    if (r == 0)
        r = frame_to_cpu(*frame, error);
    if (r == 0)
        r = frame_to_cpu(flipped, error);
    if (r < 0 && session->gpu)
        gpu_session_lose(session);
    if (r == 0) {
        frame_unref(*frame);
        *frame = TAKE(flipped);
    }
    return r;
}

void gpu_session_lose(struct gpu_session *session)
{
    gpu_lose(session->gpu);
    session->failed = true;
    was_lost = true;
}

bool gpu_session_was_lost(void)
{
    return was_lost;
}
