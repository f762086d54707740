// Tables of text in, text out, in tests/unit/tables: a line a case, `input => output`, both with
// C's escapes; empty lines and those that begin with # say what the cases below them show.
#pragma once

#include "tests/unit/unit.h"

#include <glib.h>

// Writes to `output` what comes of the input.
typedef void text_table_run(const char *input, GString *output);

// Runs all of a table's cases, and tells every one that gives something else.
static inline void text_table_check(const char *path, text_table_run *run)
{
    g_autofree char *text = NULL;
    unsigned cases = 0, wrong = 0;

    assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (unsigned i = 0; lines[i]; i++) {
        g_auto(GStrv) sides = g_strsplit(lines[i], "=>", 2);
        g_autoptr(GString) output = g_string_new(NULL);

        if (lines[i][0] == '#' || !lines[i][0])
            continue;
        assert_int_equal(g_strv_length(sides), 2);
        g_autofree char *input = g_strcompress(g_strstrip(sides[0]));
        g_autofree char *expected = g_strcompress(g_strstrip(sides[1]));
        run(input, output);
        cases++;
        if (strcmp(g_strchomp(output->str), expected) != 0) {
            print_error("%s:%u: got \"%s\"\n", path, i + 1, output->str);
            wrong++;
        }
    }
    assert_true(cases > 0);
    assert_int_equal(wrong, 0);
}
