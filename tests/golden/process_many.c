// `edgectl process` again and again in one process, which starts faster than a thousand: a line of
// standard input holds its words, separated by tabs, and is answered by a line with the exit
// status.
#include "daemon/ctl/commands.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 100

int main(void)
{
    char *line = NULL;
    size_t size = 0;

    while (getline(&line, &size, stdin) > 0) {
        char *words[WORDS_MAX + 1], *rest = line, *word;
        int count = 0;

        line[strcspn(line, "\n")] = '\0';
        while (count < WORDS_MAX && (word = strsep(&rest, "\t")))
            words[count++] = word;
        words[count] = NULL;
        optind = 0; // getopt_long() begins anew
        printf("%d\n", ctl_process(count, words));
        fflush(stdout);
    }
    free(line);
    return 0;
}
