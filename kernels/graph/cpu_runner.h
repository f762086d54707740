// Runs nodes on the CPU, each of which reads what the one before it makes: from a plane of gray or
// of the camera's picture to a plane.
//
// Row stages follow one another on rows in the cache. Where one has to look at its whole input
// first, the rows before it are made for that look alone and those from it on afterwards, so a
// plane lies in between only where a stage keeps one itself.
#pragma once

#include "kernels/graph/node.h"

struct cpu_runner;

// For `count` nodes (1..PLAN_STEPS_MAX), which outlive the runner. -ENOMEM.
int cpu_runner_new(struct node *const *nodes, unsigned count, struct pool *pool,
                   struct error *error, struct cpu_runner **ret_runner);
void cpu_runner_free(struct cpu_runner *runner); // takes NULL

// One picture. `input` is row 0 of a plane, `output` row 0 of the one that the last node writes,
// strides in bytes. `camera` is the camera's picture and `picture` the view's for stages that look
// at all of them; `picture` is NULL where no view's is written.
void cpu_runner_run(struct cpu_runner *runner, const uint8_t *input, size_t input_stride,
                    uint8_t *output, size_t output_stride, const struct frame *camera,
                    struct frame *picture);
