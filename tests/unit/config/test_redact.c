// Texts that config/redact.c hides, and those it leaves.
#include "tests/unit/text_table.h"

#include "config/base.h"
#include "config/redact.h"

#include <string.h>

static void tell(const char *input, GString *output)
{
    g_autofree char *copy = g_strdup(input);

    redact(copy);
    g_string_append(output, copy);
}

TEST(test_secrets_are_hidden_and_nothing_else)
{
    text_table_check("tests/unit/tables/redact.txt", tell);
}

TEST(test_an_error_is_redacted_before_it_is_cut)
{
    struct error error = {0};

    // 512 bytes end, and so do a prefix's 255, between the password and its '@'.
    error_set(&error, -1, "%*srtsp://u:hunter2hunter2@h", 490, "");
    assert_null(strstr(error.text, "hunter2"));
    error_set(&error, -1, "x");
    error_prefix(&error, -1, "%*srtsp://u:hunter2@h", 240, "");
    assert_null(strstr(error.text, "hunter2"));
}

RUN_TESTS(NULL, NULL)
