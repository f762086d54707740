#include "daemon/common/standard_output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

// The errno of a flush that failed. It is kept, because a later flush has nothing left to write and
// succeeds.
static int problem;

bool standard_output_flush(void)
{
    if (fflush(stdout) != 0 && problem == 0) {
        problem = errno;
    }
    return problem == 0 && !ferror(stdout);
}

int standard_output_finish(const char *program, int status)
{
    if (standard_output_flush()) {
        return status;
    }
    fprintf(stderr, "%s: standard output: %s\n", program,
            problem ? strerror(problem) : "not all of it was written");
    return 1;
}
