// A folder of the test's own to read from.
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
