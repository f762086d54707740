// Limits of views and regions to a part of the picture, and the files that a configuration names.
#include "tests/unit/config/config_folder.h"

#include <errno.h>

#define SQUARE "polygon = ( [0, 0], [1, 0], [1, 1], [0, 1] );"

TEST(test_a_view_looks_at_the_whole_picture_unless_it_is_limited)
{
    _cleanup_(cleanup_config) struct config *config =
        parse("cameras = ( { views = ( { name = \"a\"; }, { name = \"b\"; mask = \"m.png\"; }, "
              "{ name = \"c\"; " SQUARE " } ); } );");
    const struct config_view *views = config->cameras[0].views;

    assert_string_equal(views[0].mask, "");
    assert_int_equal(views[0].polygon_count, 0);
    assert_false(config_view_is_masked(&views[0]));
    assert_true(config_view_is_masked(&views[1]));
    assert_true(config_view_is_masked(&views[2]));
}

TEST(test_corners_are_taken_from_text)
{
    static const char *const wrong[] = {
        "",          "0:0,1:0",         "0:0,1:0,1",   "0:0,1:0,1:2",
        "0:0,1:0,:", "0:0,1:0,nan:0.5", "0,0,1,0,1,1", "0:0,,1:0"};
    struct config_view *view = NULL;
    struct error error = {0};

    assert_int_equal(config_view_new("edges", NULL, &view), 0);
    assert_int_equal(config_view_set(view, "polygon", "0:0.5,1:0,1:1,0.25:1", &error), 0);
    assert_int_equal(config_view_set(view, "polygon", "0:0.5,1:0,0.125:1", &error), 0);
    for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
        assert_int_equal(config_view_set(view, "polygon", wrong[i], &error), -EINVAL);
        assert_non_null(strstr(error.text, ", allowed: 3 to 64 corners X:Y with commas between"));
    }
    assert_int_equal(view->polygon_count, 3); // as it was
    assert_number_equal(view->polygon[0].y, 0.5);
    assert_number_equal(view->polygon[2].x, 0.125);
    config_view_free(view);
}

static struct config *load(const char *path, int result, char **ret_problems)
{
    struct config *config = NULL;
    size_t size;
    FILE *problems = open_memstream(ret_problems, &size);

    assert_int_equal(config_load(path, problems, &config), result);
    fclose(problems);
    return config;
}

TEST(test_a_mask_lies_beside_the_file_that_names_it)
{
    _cleanup_(cleanup_config) struct config *config = NULL;
    _cleanup_(cleanup_free) char *problems = NULL, *path = NULL, *mask = NULL;

    assert_int_equal(mkdir("sub", 0700), 0);
    write_file("sub/m.pgm", "P5 1 1 255 \xff");
    write_file("sub/views.conf", "views = ( { mask = \"m.pgm\"; }, { name = \"b\"; } );\n"
                                 "regions = ( { mask = \"m.pgm\"; } );\n");
    write_file("main.conf", "cameras = ( {\n@include \"sub/views.conf\"\n} );\n");
    assert_true(asprintf(&path, "%s/main.conf", folder) > 0);
    assert_true(asprintf(&mask, "%s/sub/m.pgm", folder) > 0);
    config = load(path, 0, &problems);
    assert_string_equal(problems, "");
    assert_string_equal(config->cameras[0].views[0].mask, mask);
    assert_string_equal(config->cameras[0].views[1].mask, "");
    assert_string_equal(config->cameras[0].regions[0].mask, mask);
    unlink("sub/m.pgm");
    unlink("sub/views.conf");
    unlink("main.conf");
    rmdir("sub");
}

// And stays there in the text for the camera's process, which reads it from no file.
TEST(test_a_clip_lies_beside_the_file_that_names_it)
{
    _cleanup_(cleanup_config) struct config *config = NULL, *again = NULL;
    _cleanup_(cleanup_free) char *problems = NULL, *path = NULL, *clip = NULL, *text = NULL;

    assert_int_equal(mkdir("sub", 0700), 0);
    write_file("sub/clip.conf", "{ source = \"file\"; path = \"a/c.mp4\"; }\n");
    write_file("main.conf", "cameras = (\n@include \"sub/clip.conf\"\n"
                            ", { source = \"file\"; path = \"/srv/c.mp4\"; } );\n");
    assert_true(asprintf(&path, "%s/main.conf", folder) > 0);
    assert_true(asprintf(&clip, "%s/sub/a/c.mp4", folder) > 0);
    config = load(path, 0, &problems);
    assert_non_null(strstr(problems, clip)); // it is not there
    assert_string_equal(config->cameras[0].path, clip);
    assert_string_equal(config->cameras[1].path, "/srv/c.mp4");
    assert_int_equal(config_format(config, 0, &text), 0);
    assert_int_equal(config_parse(text, "camera", stderr, &again), 0);
    assert_string_equal(again->cameras[0].path, clip);
    unlink("sub/clip.conf");
    unlink("main.conf");
    rmdir("sub");
}

// Of a region a reload may find it later.
TEST(test_a_mask_that_cannot_be_read_is_an_error_of_a_view_and_a_warning_of_a_region)
{
    static const struct {
        const char *mask, *why;
    } wrong[] = {
        {"none.pgm", "No such file or directory"},
        {".", "no regular file"},
        {"text.png", "neither a PGM (P5) nor a PNG"},
        {"empty.pgm", "neither a PGM (P5) nor a PNG"},
    };

    write_file("text.png", "no picture at all\n");
    write_file("empty.pgm", "");
    for (size_t i = 0; i < 2 * ARRAY_LENGTH(wrong); i++) {
        const char *mask = wrong[i / 2].mask, *list = i % 2 ? "regions" : "views";
        _cleanup_(cleanup_free) char *text = NULL, *expected = NULL, *problems = NULL;

        assert_true(
            asprintf(&text, "cameras = ( { %s = ( {\n mask = \"%s\"; } ); } );", list, mask) > 0);
        assert_true(asprintf(&expected,
                             "v.conf:2: %s: cameras[0].%s[0].mask: cannot read \"%s\": %s; "
                             "allowed: a .pgm or .png%s\n",
                             i % 2 ? "warning" : "error", list, mask, wrong[i / 2].why,
                             i % 2 ? "; until then the region has no events" : "") > 0);
        write_file("v.conf", text);
        config_free(load("v.conf", i % 2 ? 0 : -EINVAL, &problems));
        assert_string_equal(problems, expected);
    }
    unlink("v.conf");
    unlink("text.png");
    unlink("empty.pgm");
}

RUN_TESTS(make_folder, remove_folder)
