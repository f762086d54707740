// The GPU for a command of edgectl: opened, with memory for frames, or the reason why there is
// none.
#pragma once

#include "kernels/flip/flip.h"
#include "kernels/gpu/gpu_memory.h"
#include "kernels/graph/view.h"

struct gpu_session {
    struct gpu *gpu;           // owned; NULL: the CPU computes
    struct gpu_memory *memory; // owned; of frames, "host" without a GPU
    struct pool *pool;         // owned; of views that the CPU computes; NULL: one thread
    bool failed;               // the GPU did not do what it was asked to
    int refused;               // the errno why a GPU that was looked for is not used, or 0
};

// Opens what `wanted` asks for. cpu: no GPU. auto: the GPU, if it passes its self-tests, and the
// first kind from `memory` on that passes its test, or no GPU with the reason in `why`. cuda: the
// same, but no GPU is an error. -ENODEV, -ENOSYS, -ENOTSUP (no kernels, or memory that no GPU
// uses), -EBADMSG (it computes wrongly), -ENOMEM, -ETIMEDOUT, -EIO.
int gpu_session_open(struct gpu_session *session, enum config_backend wanted,
                     enum config_memory memory, struct error *why);
// Takes zeroed sessions. All frames and views made with the session have been freed.
void gpu_session_close(struct gpu_session *session);

// Has `threads` (1..POOL_THREADS_MAX) threads share what the CPU computes, once; says on stderr if
// the system starts fewer. -ENOMEM.
int gpu_session_start_threads(struct gpu_session *session, unsigned threads, struct error *error);
const struct frame_allocator *gpu_session_allocator(const struct gpu_session *session);
// view_new() with the session's GPU, memory and pool for those of `setup`, and masks out of files;
// an error marks the session.
int gpu_session_view_new(struct gpu_session *session, const struct view_setup *setup,
                         struct error *error, struct view **ret_view);
// view_run() of such a view; an error of the GPU marks the session, whose GPU is then lost.
int gpu_session_view_run(struct gpu_session *session, struct view *view, struct frame *input,
                         struct error *error, struct frame **ret_output);

// A flip for pictures of `input` with the session's memory and pool; none, and *ret_flip NULL,
// where pictures are the right way up.
int gpu_session_flip_new(struct gpu_session *session, enum config_flip flip,
                         const struct frame_layout *input, struct error *error,
                         struct flip **ret_flip);
// Puts the flipped picture in place of *frame, which is unreferenced; `flip` NULL: it stays.
int gpu_session_flip_run(struct gpu_session *session, struct flip *flip, struct error *error,
                         struct frame **frame);

// The session's GPU does not answer, and is not used any more.
void gpu_session_lose(struct gpu_session *session);
// Whether any session was lost: then the process has to end without the GPU's library, which may
// wait for a kernel that never ends.
bool gpu_session_was_lost(void);
