// Settings laid over a file that was read once: what they change, and which line is named when they
// do not fit.
#include "config/live/live.h"
#include "tests/unit/config/config_folder.h"

#include <errno.h>

static struct config_file *read_file(const char *text)
{
    struct config_file *file = NULL;

    write_file("main.conf", text);
    assert_int_equal(config_file_read("main.conf", NULL, &file), 0);
    unlink("main.conf");
    return file;
}

// Lays settings over the file: paths and values in turn, NULL at their end. *ret_line: the first
// error, owned by the caller; NULL: there is none.
static struct config *lay(const struct config_file *file, const char *const *settings,
                          char **ret_line)
{
    _cleanup_(config_problems_finish) struct config_problems problems = {0};
    _cleanup_(cleanup_overrides) struct config_overrides overrides = {0};
    const struct config_problem *first;
    struct config *config = NULL;

    for (; *settings; settings += 2)
        assert_int_equal(config_overrides_set(&overrides, settings[0], settings[1], NULL), 0);
    int r = config_file_load(file, &overrides, &problems, &config);
    first = config_problems_first_error(&problems, false);
    assert_int_equal(r, first ? -EINVAL : 0);
    *ret_line = first ? config_problem_line(first) : NULL;
    return config;
}

TEST(test_a_setting_changes_what_it_names_and_not_the_file)
{
    struct config_file *file = read_file("cameras = ( { name = \"c\"; controls = { zoom = 2; };\n"
                                         "  views = ( { view = \"edges\"; polygon = ( "
                                         "[0, 0], [1, 0], [1, 1] ); } ); } );\n");
    const struct config_view *plain = config_file_plain(file)->cameras[0].views;
    const char *const settings[] = {"cameras.c.views.edges.view", "\"binary\"",
                                    "cameras.c.views.edges.polygon",
                                    "( [0, 0], [0.5, 0.0], [0.5, 0.5], [0.0, 0.5] )", NULL};
    _cleanup_(cleanup_config) struct config *config = NULL;
    _cleanup_(cleanup_free) char *line = NULL;

    config = lay(file, settings, &line);
    assert_null(line);
    assert_string_equal(config->cameras[0].views[0].name, "edges"); // as the file calls it
    assert_int_equal(config->cameras[0].views[0].view, CONFIG_VIEW_BINARY);
    assert_int_equal(config->cameras[0].views[0].polygon_count, 4);
    assert_int_equal(config->cameras[0].controls[0].value, 2);
    assert_int_equal(plain->view, CONFIG_VIEW_EDGES);
    assert_int_equal(plain->polygon_count, 3);
    assert_number_equal(plain->polygon[1].x, 1);
    config_file_free(file);
}

TEST(test_a_key_of_the_file_keeps_its_line_behind_a_region_that_is_taken_away)
{
    struct config_file *file = read_file("cameras = ( { name = \"c\"; regions = (\n"
                                         "  { name = \"a\"; },\n"
                                         "  { name = \"b\"; start = 9.0; end = 5.0; } ); } );\n");
    const char *const settings[] = {"cameras.c.regions.a", NULL, "cameras.c.regions.b.start", "1.0",
                                    NULL};
    _cleanup_(cleanup_free) char *line = NULL, *origin = NULL;

    assert_null(lay(file, settings, &line));
    assert_string_equal(line, "main.conf:3: error: cameras[0].regions[1].end: got 5, allowed: at "
                              "most start, which is 1 (percent)");
    origin = config_file_origin(file, "cameras.c.regions.b.end");
    assert_string_equal(origin, "main.conf:3");
    assert_null(config_file_origin(file, "cameras.c.regions.a.end"));
    config_file_free(file);
}

TEST(test_a_region_that_a_setting_takes_away_or_makes_is_gone_or_there)
{
    struct config_file *file = read_file(
        "cameras = ( { name = \"c\"; regions = ( { name = \"a\"; }, { name = \"b\"; } ); } );\n");
    const char *const settings[] = {"cameras.c.regions.a", NULL, "cameras.c.regions.door.start",
                                    "7.0", NULL};
    _cleanup_(cleanup_config) struct config *config = NULL;
    _cleanup_(cleanup_free) char *line = NULL;

    config = lay(file, settings, &line);
    assert_null(line);
    assert_int_equal(config->cameras[0].region_count, 2);
    assert_string_equal(config->cameras[0].regions[0].name, "b");
    assert_string_equal(config->cameras[0].regions[1].name, "door");
    assert_number_equal(config->cameras[0].regions[1].end, 3.5); // half of start
    assert_int_equal(config_file_plain(file)->cameras[0].region_count, 2);
    config_file_free(file);
}

TEST(test_a_setting_that_does_not_fit_is_named_by_its_path)
{
    static const struct {
        const char *path, *value, *line;
    } wrong[] = {
        {"cameras.c.fps", "0", "got 0, allowed: an integer from 1 to 240 (frames a second)"},
        {"cameras.c.privacy.p.polygon", "( [0, 0], [1, 0] )", "got 2 corners, allowed: 3 to 64"},
        {"cameras.c.fps", "25;\n@include \"x\"", "got no value"},
        {"cameras.c.fps", "= =", "got no value"},
        {"cameras.d.fps", "25", "no such key, camera or view"},
        {"cameras.c.regions.a b.start", "1.0", "no such key, camera or view"},
        {"cameras.c.views.none.gain", "1.0", "no such key, camera or view"},
        {"cameras.c", NULL, "no such key, camera or view"},
    };
    struct config_file *file = read_file("cameras = ( { name = \"c\"; } );\n");

    for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
        const char *const settings[] = {wrong[i].path, wrong[i].value, NULL};
        _cleanup_(cleanup_free) char *line = NULL, *expected = NULL;

        assert_null(lay(file, settings, &line));
        assert_true(asprintf(&expected, "settings: error: %s: %s", wrong[i].path, wrong[i].line) >
                    0);
        assert_string_equal(line, expected);
    }
    config_file_free(file);
}

RUN_TESTS(make_folder, remove_folder)
