// Configurations from text and back to it.
#pragma once

#include "config/config.h"
#include "tests/unit/unit.h"

#include <string.h>

// Loads text that must be free of problems, warnings included.
static inline struct config *parse(const char *text)
{
    _cleanup_(cleanup_free) char *problem_text = NULL;
    struct config *config = NULL;
    size_t size;
    FILE *problems = open_memstream(&problem_text, &size);

    assert_non_null(problems);
    assert_int_equal(config_parse(text, "test.conf", problems, &config), 0);
    fclose(problems);
    assert_string_equal(problem_text, "");
    return config;
}

static inline char *format(const struct config *config, size_t camera)
{
    char *text = NULL;

    assert_int_equal(config_format(config, camera, &text), 0);
    return text;
}

static inline void assert_number_equal(double got, double wanted)
{
    assert_true(got == wanted);
}
