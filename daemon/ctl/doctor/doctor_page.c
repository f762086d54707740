#include "daemon/ctl/doctor/doctor_page.h"

#include "board/board.h"
#include "daemon/common/standard_output.h"

#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

// The first line of a file, NULL where there is none. The caller frees it.
static char *read_line(const char *path)
{
    char *text = NULL;

    if (!g_file_get_contents(path, &text, NULL, NULL)) {
        return NULL;
    }
    text[strcspn(text, "\n")] = '\0';
    return text;
}

// A cell, in which a '|' would begin the next one and a line end the row.
static void print_cell(const char *text)
{
    for (; *text; text++) {
        if (*text == '|') {
            putchar('\\');
        }
        putchar(*text == '\n' ? ' ' : *text);
    }
}

void doctor_page_begin(void)
{
    g_autofree char *l4t = read_line("/etc/nv_tegra_release");
    g_autofree char *driver = read_line("/proc/driver/nvidia/version");
    g_autofree char *system = g_get_os_info(G_OS_INFO_KEY_PRETTY_NAME);
    struct utsname kernel;
    struct board board;

    board_read("", &board);
    printf("# edged " EDGED_VERSION " on %s\n\n| machine | |\n|---|---|\n",
           board.model[0] ? board.model : "an unnamed machine");
    const char *const rows[][2] = {{"system", system}, {"L4T", l4t}, {"driver", driver}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        if (rows[i][1]) {
            printf("| %s | ", rows[i][0]);
            print_cell(rows[i][1]);
            puts(" |");
        }
    }
    if (uname(&kernel) == 0) {
        printf("| kernel | %s %s %s |\n", kernel.sysname, kernel.release, kernel.machine);
    }
    printf("| processors | %u |\n\n| verdict | check | |\n|---|---|---|\n", g_get_num_processors());
}

void doctor_page_add_row(const char *verdict, const char *subject, const char *text)
{
    printf("| %s | ", verdict);
    print_cell(subject);
    fputs(" | ", stdout);
    print_cell(text);
    puts(" |");
    standard_output_flush();
}
