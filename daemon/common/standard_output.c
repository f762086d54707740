#include "daemon/common/standard_output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

// The errno of a flush that failed. It is kept, because a later flush has nothing left to write and
// succeeds.
static int problem;
// The stream of standard_output_keep().
static FILE *kept;

FILE *standard_output_keep(void)
{
    int fd = kept ? -1 : fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    FILE *own = fd < 0 ? NULL : fdopen(fd, "w");

    if (own && standard_output_flush() && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
        kept = own;
    else if (own)
        fclose(own);
    return kept ? kept : stdout;
}

bool standard_output_flush(void)
{
    FILE *stream = kept ? kept : stdout;

    if (fflush(stream) != 0 && problem == 0)
        problem = errno;
    // A write that failed earlier, as a long text filled the buffer, left no reason: another write
    // tells it.
    if (ferror(stream) && problem == 0 && write(fileno(stream), "\n", 1) < 0)
        problem = errno;
    return problem == 0 && !ferror(stream);
}

int standard_output_finish(const char *program, int status)
{
    if (standard_output_flush())
        return status;
    fprintf(stderr, "%s: standard output: %s\n", program,
            problem ? strerror(problem) : "not all of it was written");
    return 1;
}
