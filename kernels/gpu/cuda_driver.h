// The CUDA driver, libcuda.so.1, opened when it is there: nothing of CUDA is needed to build edged
// or to run it on a machine without a GPU.
//
// One list names every function edged calls: our name, the symbol with its version spelled out
// (what cuda.h hides behind macros), the parameters. Results are CUresult: 0 is success.
#pragma once

#include "config/base.h"

#include <stddef.h>
#include <stdint.h>

struct CUctx_st;
struct CUmod_st;
struct CUfunc_st;
struct CUstream_st;
struct CUevent_st;
struct CUgraph_st;
struct CUgraphNode_st;
struct CUgraphExec_st;
struct CUgraphicsResource_st;

#define CUDA_SUCCESS 0
#define CUDA_ERROR_NOT_READY 600

// cuDeviceGetAttribute
enum {
    CUDA_ATTRIBUTE_MAX_BLOCK_DIM_X = 2,
    CUDA_ATTRIBUTE_MAX_BLOCK_DIM_Y = 3,
    CUDA_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
    CUDA_ATTRIBUTE_INTEGRATED = 18,
    CUDA_ATTRIBUTE_CAN_MAP_HOST_MEMORY = 19,
    CUDA_ATTRIBUTE_L2_CACHE_SIZE = 38,
    CUDA_ATTRIBUTE_MULTIPROCESSOR_THREADS = 39,
    CUDA_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
    CUDA_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
    CUDA_ATTRIBUTE_MANAGED_MEMORY = 83,
    CUDA_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS = 89,
    CUDA_ATTRIBUTE_HOST_REGISTER_SUPPORTED = 99,
};

// cuFuncGetAttribute
enum { CUDA_FUNCTION_MAX_THREADS = 0, CUDA_FUNCTION_LOCAL_BYTES = 3, CUDA_FUNCTION_REGISTERS = 4 };

enum { CUDA_STREAM_NON_BLOCKING = 1 };
enum { CUDA_EVENT_BLOCKING_SYNC = 1, CUDA_EVENT_DISABLE_TIMING = 2 };
enum { CUDA_HOST_DEVICEMAP = 2 }; // of cuMemHostRegister and cuMemHostAlloc
enum { CUDA_ATTACH_GLOBAL = 1, CUDA_ATTACH_HOST = 2, CUDA_ATTACH_SINGLE = 4 };

// CUDA_KERNEL_NODE_PARAMS as CUDA 11 has it, which the symbols without a version keep taking.
struct cuda_kernel_node {
    struct CUfunc_st *function;
    unsigned grid_x, grid_y, grid_z;
    unsigned block_x, block_y, block_z;
    unsigned shared_bytes;
    void **parameters;
    void **extra;
};

// CUeglFrame of cudaEGL.h: a picture of another part of the chip. `planes` are addresses where
// `type` is CUDA_EGL_PITCH, else CUarrays.
enum { CUDA_EGL_ARRAY = 0, CUDA_EGL_PITCH = 1 };
struct cuda_egl_frame {
    void *planes[3];
    unsigned width, height, depth, pitch;
    unsigned plane_count, channels;
    unsigned type, colour, element;
};

#define CUDA_DRIVER_NEEDED(X)                                                                      \
    X(init, cuInit, (unsigned flags))                                                              \
    X(driver_version, cuDriverGetVersion, (int *version))                                          \
    X(error_name, cuGetErrorName, (int result, const char **name))                                 \
    X(error_string, cuGetErrorString, (int result, const char **text))                             \
    X(device_get, cuDeviceGet, (int *device, int ordinal))                                         \
    X(device_name, cuDeviceGetName, (char *name, int size, int device))                            \
    X(device_attribute, cuDeviceGetAttribute, (int *value, int attribute, int device))             \
    X(context_retain, cuDevicePrimaryCtxRetain, (struct CUctx_st * *context, int device))          \
    X(context_release, cuDevicePrimaryCtxRelease_v2, (int device))                                 \
    X(context_set, cuCtxSetCurrent, (struct CUctx_st * context))                                   \
    X(module_load, cuModuleLoadData, (struct CUmod_st * *module, const void *image))               \
    X(module_unload, cuModuleUnload, (struct CUmod_st * module))                                   \
    X(module_function, cuModuleGetFunction,                                                        \
      (struct CUfunc_st * *function, struct CUmod_st * module, const char *name))                  \
    X(function_attribute, cuFuncGetAttribute,                                                      \
      (int *value, int attribute, struct CUfunc_st *function))                                     \
    X(occupancy, cuOccupancyMaxActiveBlocksPerMultiprocessor,                                      \
      (int *blocks, struct CUfunc_st *function, int threads, size_t shared_bytes))                 \
    X(launch, cuLaunchKernel,                                                                      \
      (struct CUfunc_st * function, unsigned grid_x, unsigned grid_y, unsigned grid_z,             \
       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,                \
       struct CUstream_st *stream, void **parameters, void **extra))                               \
    X(stream_create, cuStreamCreate, (struct CUstream_st * *stream, unsigned flags))               \
    X(stream_destroy, cuStreamDestroy_v2, (struct CUstream_st * stream))                           \
    X(stream_attach, cuStreamAttachMemAsync,                                                       \
      (struct CUstream_st * stream, uint64_t address, size_t bytes, unsigned flags))               \
    X(event_create, cuEventCreate, (struct CUevent_st * *event, unsigned flags))                   \
    X(event_destroy, cuEventDestroy_v2, (struct CUevent_st * event))                               \
    X(stream_wait_event, cuStreamWaitEvent,                                                        \
      (struct CUstream_st * stream, struct CUevent_st * event, unsigned flags))                    \
    X(event_record, cuEventRecord, (struct CUevent_st * event, struct CUstream_st * stream))       \
    X(event_query, cuEventQuery, (struct CUevent_st * event))                                      \
    X(event_synchronize, cuEventSynchronize, (struct CUevent_st * event))                          \
    X(event_elapsed, cuEventElapsedTime,                                                           \
      (float *milliseconds, struct CUevent_st *start, struct CUevent_st *end))                     \
    X(mem_alloc, cuMemAlloc_v2, (uint64_t * address, size_t bytes))                                \
    X(mem_free, cuMemFree_v2, (uint64_t address))                                                  \
    X(mem_clear, cuMemsetD8Async,                                                                  \
      (uint64_t address, unsigned char value, size_t bytes, struct CUstream_st *stream))           \
    X(mem_alloc_managed, cuMemAllocManaged, (uint64_t * address, size_t bytes, unsigned flags))    \
    X(host_alloc, cuMemHostAlloc, (void **memory, size_t bytes, unsigned flags))                   \
    X(host_free, cuMemFreeHost, (void *memory))                                                    \
    X(host_register, cuMemHostRegister_v2, (void *memory, size_t bytes, unsigned flags))           \
    X(host_unregister, cuMemHostUnregister, (void *memory))                                        \
    X(host_address, cuMemHostGetDevicePointer_v2,                                                  \
      (uint64_t * address, void *memory, unsigned flags))                                          \
    X(copy_to_device, cuMemcpyHtoDAsync_v2,                                                        \
      (uint64_t to, const void *from, size_t bytes, struct CUstream_st *stream))                   \
    X(copy_to_host, cuMemcpyDtoH_v2, (void *to, uint64_t from, size_t bytes))                      \
    X(copy_async, cuMemcpyDtoDAsync_v2,                                                            \
      (uint64_t to, uint64_t from, size_t bytes, struct CUstream_st * stream))

// Optional functions: where one is missing, the member is NULL and edged does without.
#define CUDA_DRIVER_OPTIONAL(X)                                                                    \
    X(graph_create, cuGraphCreate, (struct CUgraph_st * *graph, unsigned flags))                   \
    X(graph_destroy, cuGraphDestroy, (struct CUgraph_st * graph))                                  \
    X(graph_add_kernel, cuGraphAddKernelNode,                                                      \
      (struct CUgraphNode_st * *node, struct CUgraph_st * graph,                                   \
       struct CUgraphNode_st *const *after, size_t after_count,                                    \
       const struct cuda_kernel_node *kernel))                                                     \
    X(graph_instantiate, cuGraphInstantiateWithFlags,                                              \
      (struct CUgraphExec_st * *exec, struct CUgraph_st * graph, unsigned long long flags))        \
    X(graph_set_kernel, cuGraphExecKernelNodeSetParams,                                            \
      (struct CUgraphExec_st * exec, struct CUgraphNode_st * node,                                 \
       const struct cuda_kernel_node *kernel))                                                     \
    X(graph_launch, cuGraphLaunch, (struct CUgraphExec_st * exec, struct CUstream_st * stream))    \
    X(graph_exec_destroy, cuGraphExecDestroy, (struct CUgraphExec_st * exec))                      \
    X(image_register, cuGraphicsEGLRegisterImage,                                                  \
      (struct CUgraphicsResource_st * *resource, void *image, unsigned flags))                     \
    X(image_frame, cuGraphicsResourceGetMappedEglFrame,                                            \
      (struct cuda_egl_frame * frame, struct CUgraphicsResource_st * resource, unsigned index,     \
       unsigned level))                                                                            \
    X(image_unregister, cuGraphicsUnregisterResource, (struct CUgraphicsResource_st * resource))

#define CUDA_DRIVER_FUNCTIONS(X) CUDA_DRIVER_NEEDED(X) CUDA_DRIVER_OPTIONAL(X)

// NOLINTNEXTLINE(bugprone-macro-parentheses): a declarator and its list of parameters
#define CUDA_DRIVER_MEMBER(name, symbol, parameters) int(*name) parameters;
struct cuda_driver {
    void *library; // owned, of dlopen()
    CUDA_DRIVER_FUNCTIONS(CUDA_DRIVER_MEMBER)
};
#undef CUDA_DRIVER_MEMBER

// Opens the library and finds its functions. -ENODEV: no libcuda.so.1; -ENOSYS: it lacks one that
// is needed, named in `error`. End it with cuda_driver_finish().
int cuda_driver_init(struct cuda_driver *driver, struct error *error);
// Takes zeroed and half-built drivers.
void cuda_driver_finish(struct cuda_driver *driver);

// 0 for success, else the negative errno nearest to `result`, with "doing: CUDA's text (NAME)" in
// `error`. -ENOMEM, -ENODEV, -EINVAL, -ENOTSUP (no code for this GPU, or not supported here),
// -EBUSY (not ready), -ETIMEDOUT, otherwise -EIO, after which the context may be lost.
int cuda_driver_check(const struct cuda_driver *driver, int result, const char *doing,
                      struct error *error);
