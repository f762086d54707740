// For tests on the library that stands in for libnvbufsurface (tests/fakes/nvmm): loads it in front
// of any other, and gives it its options.
#pragma once

#include "tests/unit/fake_path.h"
#include "tests/unit/unit.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

static void *fake_nvmm_library;

// Opens it by its path; whoever opens it by its name afterwards gets the same.
static inline void *fake_nvmm_find(const char *name)
{
    char path[600];

    if (!fake_nvmm_library) {
        fake_path("nvmm/libnvbufsurface.so.1.0.0", path);
        fake_nvmm_library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!fake_nvmm_library)
            fail_msg("%s", dlerror());
    }
    return dlsym(fake_nvmm_library, name);
}

// A new process's library with these options. Surfaces that are left stay as they are.
static inline void fake_nvmm_play(const char *options)
{
    void (*reset)(void) = fake_nvmm_find("fake_nvmm_reset");

    setenv("EDGED_FAKE_NVMM", options, 1);
    reset();
}

// Counts of the fake library: surfaces that are left; calls, and those by which the CPU gets at
// pictures, since fake_nvmm_play().
static inline unsigned fake_nvmm_left(void)
{
    unsigned (*leaks)(void) = fake_nvmm_find("fake_nvmm_leaks");

    return leaks();
}

static inline uint64_t fake_nvmm_count(const char *name)
{
    uint64_t (*count)(void) = fake_nvmm_find(name);

    return count();
}
