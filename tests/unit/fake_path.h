// Where make puts what is built of tests/fakes, seen from the running test program.
#pragma once

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/unit.h"

// Writes the path of `name`, which is relative to build/tests/fakes, "camera/fake_camera" for one.
static inline void fake_path(const char *name, char path[600])
{
    char program[512] = {0}, *end;

    assert_true(readlink("/proc/self/exe", program, sizeof program - 1) > 0);
    end = strstr(program, "/tests/unit/");
    assert_non_null(end);
    snprintf(path, 600, "%.*s/tests/fakes/%s", (int)(end - program), program, name);
}
