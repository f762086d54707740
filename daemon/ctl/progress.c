#include "daemon/ctl/progress.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#define BAR_CELLS 30

static volatile sig_atomic_t interrupted;

void progress_start(struct progress *progress, const char *what, size_t steps)
{
    *progress = (struct progress){.what = what, .steps = steps, .percent = -1};
}

void progress_reach(struct progress *progress, size_t done)
{
    int percent;
    int cells;

    progress->done = done < progress->steps ? done : progress->steps;
    percent = (int)(100 * progress->done / progress->steps);
    cells = percent * BAR_CELLS / 100;
    if (percent == progress->percent || !isatty(STDERR_FILENO))
        return;
    progress->percent = percent;
    fprintf(stderr, "\r%s [%.*s%*s] %3d %%", progress->what, cells,
            "##############################", BAR_CELLS - cells, "", percent);
    fflush(stderr);
}

void progress_end(struct progress *progress)
{
    if (progress->percent >= 0) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
}

static void note(int number)
{
    (void)number;
    interrupted = 1;
}

void interrupt_watch(void)
{
    const struct sigaction action = {.sa_handler = note, .sa_flags = SA_RESETHAND | SA_RESTART};

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

bool interrupt_seen(void)
{
    return interrupted;
}

int progress_run(const char *what, size_t steps, int (*step)(void *context, struct error *error),
                 void *context, struct error *error)
{
    struct progress progress;
    int r = 1;

    progress_start(&progress, what, steps);
    for (size_t i = 0; i < steps && r > 0 && !interrupt_seen(); i++) {
        r = step(context, error);
        progress_reach(&progress, i + 1);
    }
    progress_end(&progress);
    return r < 0 ? r : 0;
}
