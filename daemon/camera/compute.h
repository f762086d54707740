// The means to compute a camera's views: the GPU where one works, else the CPU.
//
// A driver may take seconds to open, or never answer, so it is opened in a thread of its own: what
// that thread brings counts when it comes within 10 s. Each decision is told in the log once, with
// its reason; compute_describe() keeps it for status. The control thread starts, tries and frees;
// the lane asks, gives up, rules out and loses.
#pragma once

#include "capture/frame_pool.h"
#include "config/config.h"
#include "daemon/link/messages.h"
#include "kernels/gpu/gpu_memory.h"
#include "kernels/gpu/gpu_surfaces.h"

#include <stdbool.h>

#define COMPUTE_OPEN_NS (10 * NS_PER_S)

struct compute;

// Means that source and views are made with. All belong to the compute and live as long as it does.
struct compute_means {
    struct gpu *gpu;           // NULL: the CPU computes
    struct gpu_memory *memory; // of the allocator; NULL with the CPU
    const struct frame_allocator *allocator;
    struct gpu_surfaces *surfaces; // for a sensor's pictures and an encoder's; NULL: the allocator
};

// `config` is of one camera, says what is wished for, and outlives the result; `is_jetson`: the
// board has NVMM, which is then the first memory of "auto". `changed` is called in
// any thread, without locks held, when there is something new to ask for. -ENOMEM.
int compute_new(const struct config *config, bool is_jetson, void (*changed)(void *context),
                void *context, struct compute **ret_compute);
// Only when compute_wait() has said 0, or nothing was started. Every frame pool made with its
// allocator is gone. Takes NULL.
void compute_free(struct compute *compute);

// Begins to open the GPU where the settings allow one, else decides on the CPU.
void compute_start(struct compute *compute);
// Opens the GPU as `backend` asks while the CPU computes. Nothing happens where the GPU computes
// already, or is being opened.
void compute_try(struct compute *compute, enum config_backend backend);
// Waits until no thread is in the driver any more. -ETIMEDOUT at `deadline_ns` (CLOCK_MONOTONIC):
// the process can then only end by _exit(), because exit handlers of the driver might wait as well.
int compute_wait(struct compute *compute, int64_t deadline_ns);

// Never waits. `now_ns` is what the deadline is held against. False while nothing is decided.
bool compute_ask(struct compute *compute, int64_t now_ns, struct compute_means *ret_means);
// The GPU cannot make what the views need, as `why` and its errno `code` say: the CPU computes
// until it is tried again, which is never where no try can help (-ENOTSUP, -EINVAL, -ENOENT).
void compute_give_up(struct compute *compute, int code, const struct error *why);
// Whether a failure with the errno `code` while the GPU computed is the GPU's; `why` says what
// failed and gets more. -ENOTRECOVERABLE: it does not answer any more and is to be given up for
// lost. Other errors: it lacked memory, or, if the failure was one of `preparing`, what the views
// need, and is given up. 0: the failure is another's. Waits up to 100 ms for the GPU.
int compute_blame(struct compute *compute, int code, bool preparing, struct error *why);
// The GPU is lost to this process, as `reason` says: nothing calls the driver any more.
void compute_lose(struct compute *compute, const char *reason);
// Whether the GPU is lost: by compute_lose(), or because a self-test did not end when it was
// opened. The process then has to end without the driver's exit handlers.
bool compute_has_lost(struct compute *compute);

// Fills in `backend`, `gpu`, `gpu_may_return` and `gpu_is_refused`. Any thread.
void compute_describe(struct compute *compute, struct link_telemetry *telemetry);
