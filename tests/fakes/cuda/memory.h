// Memory the device can reach: what was allocated from the driver, and what was made known to it.
//
// The device has a view of its own of every block, so that the CPU's can be closed:
//
//   device      the address is reserved, and not for the CPU to touch
//   managed     mapped twice; the CPU's view is closed while a kernel may use the block, on boards
//               where the two may not use it at once
//   pinned      the CPU's own
//   registered  mapped a second time, as the pages stay the device's when the CPU unmaps them; on
//               boards with addresses of its own at a reserved one, too
//   surface     a plane of an image, at a reserved address
#pragma once

#include "tests/fakes/cuda/stream.h"

#define MEMORY_BLOCKS_MAX 1024

enum memory_kind {
    MEMORY_NONE,
    MEMORY_DEVICE,
    MEMORY_PINNED,
    MEMORY_MANAGED,
    MEMORY_REGISTERED,
    MEMORY_SURFACE,
};

// The owner of a managed block: CUDA_ATTACH_*, and the stream when it is a single one.
struct memory_owner {
    unsigned attached;
    struct CUstream_st *stream;
};

struct memory {
    enum memory_kind kind;
    uint64_t address; // on the device
    uint8_t *bytes;   // where the fake finds them
    uint8_t *cpu;     // where the CPU does; NULL: nowhere
    size_t size, mapped_bytes;
    size_t offset;                      // registered: of the first byte in its page
    bool device_mapped;                 // pinned, registered: has an address on the device
    struct memory_owner asked, applied; // managed: when the attachment was queued; when it was done
    struct CUstream_st *asked_in;       // the stream it was queued in
    uint64_t asked_at;                  // the number of that work
    bool closed;                        // to the CPU
};

extern struct memory memory_blocks[MEMORY_BLOCKS_MAX];

// All are called with the lock held unless they say otherwise.

// The block that `address` lies in; NULL: none.
struct memory *memory_at(uint64_t address);
// Where the device finds `size` bytes at `address`, for a kernel that runs in `stream`. NULL: it
// may not touch them all, which is told on stderr. Without the lock.
void *memory_touch(const struct CUstream_st *stream, const char *kernel, uint64_t address,
                   size_t size);
// A new block. CUresult.
int memory_allocate(enum memory_kind kind, size_t size, struct memory **ret_memory);
// Ends a block, once all that is queued is done: it may be used. `result` is what call_begin()
// said, `otherwise` the answer when there is no block. Returns what is to be answered.
int memory_release(int result, struct memory *memory, int otherwise);
// A place in the table, NULL: it is full.
struct memory *memory_find_free(void);
size_t memory_pages(size_t size);              // rounded up to whole pages
void *memory_map(size_t size, int protection); // NULL: none left
// Objects that are left. Tells each.
unsigned memory_leaks(void);
void memory_forget(void);

// image.c
unsigned images_leaks(void); // as above
void images_forget(void);

// managed.c
// Opens and closes managed memory to the CPU, by what runs now.
void memory_protect(void);
// A stream that ends leaves what was attached to it to all.
void memory_forget_stream(const struct CUstream_st *stream);
// From now on a touch of closed memory is told, and ends the process.
void memory_guard(void);
// The reason why a kernel in `stream` must not touch managed memory; NULL: it may.
const char *memory_forbidden(const struct memory *memory, const struct CUstream_st *stream);
