// Shared by the parts of bench_gpu: the GPU, its memory, how a launch is timed, how results are
// printed, as a table or as JSON.
#pragma once

#include "kernels/graph/runner.h"
#include "tests/gpu/npp.h"

#include <time.h>

// Bytes of the device memory that frames rotate through.
#define BENCH_ROOM ((size_t)400 << 20)

struct bench {
    struct gpu *gpu;
    const struct cuda_driver *driver;
    uint64_t input, output, between; // device memory
    struct CUevent_st *start, *end;
    struct npp *npp;  // NULL: not installed
    bool json, first; // first result of a list
};

// One thing to time, on a frame of the rotation.
struct bench_job {
    char name[48];
    struct runner *runner; // NULL: NPP or a copy
    // Of NPP; NULL: a runner or a copy. From and to device addresses without gaps between rows.
    int (*npp)(struct bench *bench, uint64_t input, uint64_t output, uint32_t width,
               uint32_t height);
    struct frame_layout input, output;
    size_t bytes; // read and written
};

struct bench_size {
    uint32_t width, height; // pixels
};

int bench_open(struct bench *bench, bool json, struct error *error);
void bench_close(struct bench *bench); // takes half-opened ones

// The middle of `count` values, which are sorted.
double bench_median(double *values, size_t count);
// Begins a list of results: the table's title and columns, or the JSON's key. Ends it.
void bench_begin(struct bench *bench, const char *key, const char *title, const char *columns);
void bench_end(struct bench *bench);
// The same for a list of jobs.
void bench_begin_jobs(struct bench *bench, const char *key, const char *title);
// Between results of a list.
void bench_next(struct bench *bench);

// The time that the thread (CLOCK_THREAD_CPUTIME_ID) or the process has computed.
int64_t bench_cpu_ns(clockid_t clock);
// Runs two ways in turns, `runs` times each: one upon the other, or one every `interval_ns` (0: no
// pauses). The first error ends it, and is returned.
int bench_alternate(unsigned runs, int64_t interval_ns,
                    int (*run)(void *context, unsigned way, unsigned index), void *context);
// Times a job and copies of as many bytes in turns, and prints a line.
int bench_run_job(struct bench *bench, const struct bench_job *job);
// The bytes that a job reads and writes of its two pictures: of each plane 0 alone, or every one.
size_t bench_bytes_moved(const struct bench_job *job, bool every_input, bool every_output);
// The runner of a view from the format `from` to `to`, `name` in its line.
int bench_run_view(struct bench *bench, const struct config_view *settings, const char *name,
                   const char *from, const char *to, const struct bench_size *size);
// Fills the frames that jobs rotate through with noise.
int bench_fill(struct bench *bench, struct error *error);

// Edges, gray and camera of 720p to 8K beside copies of as many bytes, and NPP.
int bench_kernels(struct bench *bench);
// Of one size: views of several kernels; motion; every operator, and every step alone.
int bench_chains(struct bench *bench, const struct bench_size *size);
int bench_motion(struct bench *bench, const struct bench_size *size);
int bench_steps(struct bench *bench, const struct bench_size *size);
// One frame from camera memory to memory an encoder reads, by kind of memory and by explicit
// copies.
int bench_path(struct bench *bench);
// Four views of one camera, queued at once and one after the other.
int bench_camera(struct bench *bench);
// A look of motion events, its cells by the GPU and by the CPU.
int bench_cells(struct bench *bench);
// Canny of noise, discs and a spiral in 1080p to 8K beside copies of as many
// bytes, and NPP.
int bench_canny(struct bench *bench);
