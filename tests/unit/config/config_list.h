// A folder of the test's own to read from, and all that is said of one list of a camera.
#pragma once

#include "tests/unit/config/config_text.h"

#include <sys/stat.h>

static char folder[] = "/tmp/edged-test-config-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return chdir("/") == 0 ? rmdir(folder) : -1;
}

// All lines of problems of `body`, the inside of the camera's list `name`, of which config_parse()
// says `result`.
static void check_list(const char *name, const char *body, int result, const char *expected)
{
    _cleanup_(cleanup_config) struct config *config = NULL;
    _cleanup_(cleanup_free) char *text = NULL;
    _cleanup_(cleanup_free) char *found = NULL;
    size_t size;
    FILE *problems = open_memstream(&found, &size);

    assert_true(asprintf(&text, "cameras = ( { %s = ( %s ); } );", name, body) > 0);
    assert_int_equal(config_parse(text, "t", problems, &config), result);
    fclose(problems);
    assert_string_equal(found, expected);
}
