// A libnvbufsurface.so for tests: surfaces with the rules of a Jetson's, so that whoever breaks one
// sees it.
//
// - The CPU has a copy of a plane, as its cache would: it is mapped with old bytes in it, sees the
//   others' after NvBufSurfaceSyncForCpu() alone, and they see its own after SyncForDevice().
// - Planes lie in one buffer, at a pitch that is a multiple of 256, with aligned heights; each is
//   mapped somewhere else.
// - There is no image for the GPU while DISPLAY or WAYLAND_DISPLAY is set.
// - A wrong index, a plane that is not mapped or is mapped twice: -1.
//
// $EDGED_FAKE_NVMM has options between commas, read by the first call:
//
//   jetpack=5        5: SyncForDevice with plane -1 says 0 and does nothing, heights are aligned to
//                    16 and a plane to 64 KiB; 6, without the option: 8 and 4 KiB, and there is an
//                    extension; 7: as 6, but the tag of a request is where JetPack 7 has it
//   fail=SYMBOL:N    the Nth call of a function fails; N+: it and all after it. SYMBOL * counts
//                    all; by_elements: those by which tests/fakes/jetson allocates for itself, in
//                    a thread of its own, which are not counted as NvBufSurfaceAllocate
//   layout=other     the structs lie otherwise than edged knows them
//   planes=1         the GPU sees one plane alone
//   blocks           surfaces are block-linear to the GPU
//   no-sync=cpu      SyncForCpu() says 0 and does nothing; =device: SyncForDevice()
//   report=FILE      appended as surfaces go and at exit: a line with the calls of each function,
//                    and of all, since the one before
//
// What is wrong is told on stderr in lines that begin with "fake_nvmm: ", and what is left at exit.
#pragma once

#include <stdint.h>

#define FAKE_IMAGE_MAGIC 0x65676c31U
// The tag of surfaces that tests/fakes/jetson makes for its elements.
#define FAKE_ELEMENT_TAG 1

// The target of an EGLImage of a surface, for the driver that stands in for CUDA's.
struct fake_image {
    uint32_t magic;
    int fd; // of the buffer
    uint32_t width, height, plane_count;
    uint32_t offset[3], pitch[3], size[3]; // bytes; offsets are of whole pages
    int blocks;                            // not pitch-linear
    int registered;                        // how often CUDA has it
};

// For programs that opened the library themselves; found with dlsym().
// Surfaces, mapped planes and images that are left; tells each on stderr.
unsigned fake_nvmm_leaks(void);
// Calls of all functions, and those by which the CPU gets at pictures, since fake_nvmm_reset().
uint64_t fake_nvmm_calls(void);
uint64_t fake_nvmm_cpu_accesses(void);
// Reads the options again, and counts from 0. Surfaces that are left stay as they are.
void fake_nvmm_reset(void);
