// The documents in the repository are what the schema says. After a change of the schema,
// EDGED_UPDATE_DOCUMENTS=1 makes this program rewrite them.
#include "config/config.h"
#include "tests/unit/unit.h"

#include <string.h>

typedef int document_writer(FILE *file);

static char *write_to_text(document_writer *writer)
{
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    assert_non_null(file);
    assert_int_equal(writer(file), 0);
    assert_int_equal(fclose(file), 0);
    return text;
}

static char *read_to_text(const char *path)
{
    FILE *file = fopen(path, "re");
    char *text = NULL;
    size_t capacity = 0;

    assert_non_null(file);
    assert_true(getdelim(&text, &capacity, '\0', file) > 0);
    fclose(file);
    return text;
}

static void check_document(const char *path, document_writer *writer)
{
    _cleanup_(cleanup_free) char *expected = write_to_text(writer);
    _cleanup_(cleanup_free) char *found = NULL;

    if (getenv("EDGED_UPDATE_DOCUMENTS")) {
        FILE *file = fopen(path, "we");

        assert_non_null(file);
        fputs(expected, file);
        assert_int_equal(fclose(file), 0);
    }
    found = read_to_text(path);
    assert_string_equal(found, expected);
}

TEST(test_edged_conf_is_what_the_schema_says)
{
    check_document("config/edged.conf", config_write_example);
}

TEST(test_man_page_is_what_the_schema_says)
{
    check_document("config/edged.conf.5", config_write_man_page);
}

TEST(test_edged_conf_loads_without_problems_as_the_defaults)
{
    _cleanup_(cleanup_config) struct config *loaded = NULL;
    _cleanup_(cleanup_config) struct config *defaults = NULL;
    _cleanup_(cleanup_free) char *loaded_text = NULL;
    _cleanup_(cleanup_free) char *default_text = NULL;
    _cleanup_(cleanup_free) char *problem_text = NULL;
    size_t size;
    FILE *problems = open_memstream(&problem_text, &size);

    assert_int_equal(config_load("config/edged.conf", problems, &loaded), 0);
    fclose(problems);
    assert_string_equal(problem_text, "");
    assert_int_equal(config_parse("", "nothing", NULL, &defaults), 0);
    assert_int_equal(config_format(loaded, SIZE_MAX, &loaded_text), 0);
    assert_int_equal(config_format(defaults, SIZE_MAX, &default_text), 0);
    assert_string_equal(loaded_text, default_text);
}

// Keys without a value are there as comments; without the marks they are good examples. The text
// from `begin` to `end`, both lines at `indent`, uncommented.
static char *uncomment(const char *begin_line, const char *end_line)
{
    _cleanup_(cleanup_free) char *document = read_to_text("config/edged.conf");
    char *begin = strstr(document, begin_line);
    char *end = begin ? strstr(begin, end_line) : NULL;
    size_t indent = strspn(begin_line + 1, " ");

    assert_non_null(end);
    end[strlen(end_line)] = '\0';
    for (char *mark = begin; mark; mark = strchr(mark + 1, '\n'))
        mark[1 + indent] = ' ';
    return strdup(begin);
}

TEST(test_the_commented_kernels_are_a_good_example)
{
    _cleanup_(cleanup_free) char *text = uncomment("\n# kernels = {", "\n# };");
    _cleanup_(cleanup_config) struct config *config = NULL;

    assert_int_equal(config_parse(text, "example", stderr, &config), 0);
    for (int i = 0; i < CONFIG_KERNEL_COUNT; i++) {
        assert_int_equal(config->blocks[i].x, 32);
        assert_int_equal(config->blocks[i].y, 8);
    }
}

TEST(test_the_commented_regions_are_a_good_example)
{
    _cleanup_(cleanup_free) char *regions = uncomment("\n    # regions = (", "\n    # );");
    _cleanup_(cleanup_free) char *text = NULL;
    _cleanup_(cleanup_config) struct config *config = NULL;

    assert_true(asprintf(&text, "cameras = ( { %s } );", regions) > 0);
    assert_int_equal(config_parse(text, "example", stderr, &config), 0);
    assert_int_equal(config->cameras[0].region_count, 1);
    assert_int_equal(config->cameras[0].regions[0].polygon_count, 4);
}

RUN_TESTS(NULL, NULL)
