#include "daemon/ctl/doctor/doctor_page.h"

#include "board/board.h"

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
static void print_cell(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '|') {
            fputc('\\', out);
        }
        fputc(*text == '\n' ? ' ' : *text, out);
    }
}

void doctor_page_begin(FILE *out)
{
    g_autofree char *l4t = read_line("/etc/nv_tegra_release");
    g_autofree char *driver = read_line("/proc/driver/nvidia/version");
    g_autofree char *system = g_get_os_info(G_OS_INFO_KEY_PRETTY_NAME);
    struct utsname kernel;
    struct board board;

    board_read("", &board);
    fprintf(out, "# edged " EDGED_VERSION " on %s\n\n| machine | |\n|---|---|\n",
            board.model[0] ? board.model : "an unnamed machine");
    const char *const rows[][2] = {{"system", system}, {"L4T", l4t}, {"driver", driver}};
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        if (rows[i][1]) {
            fprintf(out, "| %s | ", rows[i][0]);
            print_cell(out, rows[i][1]);
            fputs(" |\n", out);
        }
    }
    if (uname(&kernel) == 0) {
        fprintf(out, "| kernel | %s %s %s |\n", kernel.sysname, kernel.release, kernel.machine);
    }
    fprintf(out, "| processors | %u |\n\n| verdict | check | |\n|---|---|---|\n",
            g_get_num_processors());
}

void doctor_page_add_row(FILE *out, const char *verdict, const char *subject, const char *text)
{
    fprintf(out, "| %s | ", verdict);
    print_cell(out, subject);
    fputs(" | ", out);
    print_cell(out, text);
    fputs(" |\n", out);
}
