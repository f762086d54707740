// stderr, caught in a file: what the log said.
#pragma once

#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static FILE *caught;
static int stderr_before;

static inline void catch_stderr(void)
{
    caught = tmpfile();
    assert_non_null(caught);
    fflush(stderr);
    stderr_before = dup(2);
    assert_int_equal(dup2(fileno(caught), 2), 2);
}

static inline void release_stderr(void)
{
    dup2(stderr_before, 2);
    close(stderr_before);
    fclose(caught);
}

// Where memory cannot be locked, as in a container, libgcrypt says so when plugins load it.
static inline const char *skip_libgcrypt(const char *text)
{
    static const char warning[] = "Warning: using insecure memory!\n";

    while (strncmp(text, warning, strlen(warning)) == 0)
        text += strlen(warning);
    return text;
}
