// Regions in a configuration: defaults, the way back to text, every mistake, and pictures on disk.
#include "config/config.h"
#include "tests/unit/config/config_list.h"

#include <errno.h>

#define POINT "[x, y], two numbers from 0.0 to 1.0 (shares of the picture's width and height)"
#define POLYGON "a list ( [x, y], … ) of 3 to 64 corners, x and y from 0.0 to 1.0"
#define SQUARE "polygon = ( [0, 0], [1, 0], [1, 1], [0, 1] );"

static void check(const char *body, int result, const char *expected)
{
    check_list("regions", body, result, expected);
}

TEST(test_a_region_has_the_documented_defaults)
{
    _cleanup_(cleanup_config) struct config *config =
        parse("cameras = ( { regions = ( { name = \"gate\"; }, { start = 4; } ); } );");
    const struct config_region *region = config->cameras[0].regions;

    assert_int_equal(config->cameras[0].region_count, 2);
    assert_string_equal(region->name, "gate");
    assert_int_equal(region->polygon_count, 0);
    assert_string_equal(region->mask, "");
    assert_int_equal(region->threshold, 25);
    assert_int_equal(region->erode, 1);
    assert_number_equal(region->start, 1);
    assert_number_equal(region->end, 0.5);
    assert_number_equal(region->duration_s, 0.2);
    assert_number_equal(region->cooldown_s, 2);
    assert_string_equal(region[1].name, "region1");
    assert_number_equal(region[1].end, 2);
}

TEST(test_a_polygon_is_read_from_arrays_and_lists_of_any_numbers)
{
    _cleanup_(cleanup_config) struct config *config = parse(
        "cameras = ( { regions = ( { polygon = ( [0, 1], [0.25, 0.5], (1, 0.75) ); } ); } );");
    const struct config_region *region = config->cameras[0].regions;
    static const double corners[][2] = {{0, 1}, {0.25, 0.5}, {1, 0.75}};

    assert_int_equal(region->polygon_count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_number_equal(region->polygon[i].x, corners[i][0]);
        assert_number_equal(region->polygon[i].y, corners[i][1]);
    }
}

TEST(test_regions_come_back_from_their_text)
{
    _cleanup_(cleanup_config) struct config *config = parse(
        "cameras = ( { regions = ( { name = \"a\"; polygon = ( [0.1, 0.0], [1.0, 0.3], [0, 1] "
        "); threshold = 7; erode = 0; start = 3; end = 0.125; duration_s = 1; cooldown_s = "
        "0.5; }, { mask = \"/m \\\"x\\\".png\"; } ); } );");
    _cleanup_(cleanup_free) char *text = format(config, 0);
    _cleanup_(cleanup_config) struct config *again = parse(text);
    _cleanup_(cleanup_free) char *text_again = format(again, 0);
    const struct config_region *region = again->cameras[0].regions;

    assert_string_equal(text_again, text);
    assert_non_null(strstr(text, "polygon = ([0.1, 0.0], [1.0, 0.3], [0.0, 1.0]);"));
    assert_int_equal(region[0].threshold, 7);
    assert_int_equal(region[0].erode, 0);
    assert_number_equal(region[0].polygon[1].y, 0.3);
    assert_number_equal(region[0].end, 0.125);
    assert_number_equal(region[0].duration_s, 1);
    assert_number_equal(region[0].cooldown_s, 0.5);
    assert_string_equal(region[1].mask, "/m \"x\".png");
    assert_int_equal(region[1].polygon_count, 0);
}

TEST(test_half_of_the_least_start_is_an_end)
{
    _cleanup_(cleanup_config) struct config *config =
        parse("cameras = ( { regions = ( { start = 0.001; } ); } );");
    _cleanup_(cleanup_free) char *text = format(config, 0);
    _cleanup_(cleanup_config) struct config *again = parse(text);

    assert_number_equal(again->cameras[0].regions[0].end, 0.0005);
}

TEST(test_cameras_without_regions_say_nothing_of_them)
{
    _cleanup_(cleanup_config) struct config *config = parse("");
    _cleanup_(cleanup_free) char *text = format(config, 0);

    assert_null(strstr(text, "regions"));
}

TEST(test_corners_that_are_none_are_refused_each)
{
    check(
        "{ polygon = ( [0.5, 1.5], [0.5, 0.5, 0.5], 7, (0.1, \"x\"), [], [0.1, -0.1], { }, (true, "
        "0), ([0], 1) ); }",
        -EINVAL,
        "t:1: error: cameras[0].regions[0].polygon[0]: got [0.5, 1.5], allowed: " POINT "\n"
        "t:1: error: cameras[0].regions[0].polygon[1]: got [0.5, 0.5, 0.5], allowed: " POINT "\n"
        "t:1: error: cameras[0].regions[0].polygon[2]: got the integer 7, allowed: " POINT "\n"
        "t:1: error: cameras[0].regions[0].polygon[3]: got (0.1, \"x\"), allowed: " POINT "\n"
        "t:1: error: cameras[0].regions[0].polygon[4]: got [], allowed: " POINT "\n"
        "t:1: error: cameras[0].regions[0].polygon[5]: got [0.1, -0.1], allowed: " POINT "\n"
        "t:1: error: cameras[0].regions[0].polygon[6]: got a group { … }, allowed: " POINT "\n"
        "t:1: error: cameras[0].regions[0].polygon[7]: got (the boolean true, 0), allowed: " POINT
        "\n"
        "t:1: error: cameras[0].regions[0].polygon[8]: got (an array [ … ], 1), allowed: " POINT
        "\n");
    check("{ polygon = ( [1e999, 0.0], [0.0, -1e999], [0.0, 1e-999] ); }", -EINVAL,
          "t:1: error: cameras[0].regions[0].polygon[0]: got [inf, 0.0], allowed: " POINT "\n"
          "t:1: error: cameras[0].regions[0].polygon[1]: got [0.0, -inf], allowed: " POINT "\n");
    check("{ polygon = ( [0.1, 0.1], [0.1, 0.1], [0.5, 0.3], [0.9, 0.5] ); }", -EINVAL,
          "t:1: error: cameras[0].regions[0].polygon: got corners on one line, allowed: a polygon "
          "with an area\n");
}

TEST(test_too_few_and_too_many_corners_are_refused)
{
    char many[1024] = "{ polygon = ( [0, 0]";

    check("{ polygon = ( ); }", -EINVAL,
          "t:1: error: cameras[0].regions[0].polygon: got 0 corners, allowed: 3 to 64\n");
    check("{ polygon = ( [0, 0], [1, 1] ); }", -EINVAL,
          "t:1: error: cameras[0].regions[0].polygon: got 2 corners, allowed: 3 to 64\n");
    for (int i = 1; i < 64; i++) {
        strcat(many, i % 2 ? ", [0, 1]" : ", [1, 1]");
    }
    size_t length = strlen(many);
    strcpy(many + length, " ); }");
    check(many, 0, "");
    strcpy(many + length, ", [0, 1] ); }");
    check(many, -EINVAL,
          "t:1: error: cameras[0].regions[0].polygon: got 65 corners, allowed: 3 to 64\n");
}

TEST(test_other_kinds_of_values_are_refused)
{
    check("{ polygon = [0, 1]; }", -EINVAL,
          "t:1: error: cameras[0].regions[0].polygon: got an array [ … ], allowed: " POLYGON "\n");
    check("{ polygon = \"all\"; mask = 3; threshold = 0; erode = 9; }", -EINVAL,
          "t:1: error: cameras[0].regions[0].polygon: got the string \"all\", allowed: " POLYGON
          "\n"
          "t:1: error: cameras[0].regions[0].mask: got the integer 3, allowed: a string\n"
          "t:1: error: cameras[0].regions[0].threshold: got 0, allowed: an integer from 1 to 255 "
          "(gray levels)\n"
          "t:1: error: cameras[0].regions[0].erode: got 9, allowed: an integer from 0 to 8 "
          "(times)\n");
    check(
        "{ start = 0; end = 101; duration_s = -1; cooldown_s = 4000; }", -EINVAL,
        "t:1: error: cameras[0].regions[0].start: got 0, allowed: a number from 0.001 to 100 "
        "(percent)\n"
        "t:1: error: cameras[0].regions[0].end: got 101, allowed: a number from 0.0005 to 100 "
        "(percent)\n"
        "t:1: error: cameras[0].regions[0].duration_s: got -1, allowed: a number from 0 to 60 "
        "(seconds)\n"
        "t:1: error: cameras[0].regions[0].cooldown_s: got 4000, allowed: a number from 0 to 3600 "
        "(seconds)\n");
    check("5", -EINVAL,
          "t:1: error: cameras[0].regions[0]: got the integer 5, allowed: a group { … }\n");
    check("{ poligon = 1; }", -EINVAL,
          "t:1: error: cameras[0].regions[0].poligon: unknown key, did you mean \"polygon\"?\n");
    check("{ }, { }, { }, { }, { }, { }, { }, { }, { }", -EINVAL,
          "t:1: error: cameras[0].regions: got 9 regions, allowed: at most 8\n");
}

TEST(test_what_does_not_fit_together_is_refused)
{
    check(
        "{ " SQUARE " mask = \"m.png\"; }", -EINVAL,
        "t:1: error: cameras[0].regions[0].mask: got a mask beside a polygon, allowed: one of the "
        "two\n");
    check("{ start = 0.5; end = 0.75; }", -EINVAL,
          "t:1: error: cameras[0].regions[0].end: got 0.75, allowed: at most start, which is 0.5 "
          "(percent)\n");
    check("{ start = 0.5; end = 0.5; }", 0, "");
    check(
        "{ name = \"a\"; }, { name = \"b\"; }, { name = \"a\"; }", -EINVAL,
        "t:1: error: cameras[0].regions[2].name: got \"a\", which is the name of regions[0], too; "
        "allowed: a name of its own\n");
}

TEST(test_privacy_comes_back_from_its_text)
{
    _cleanup_(cleanup_config) struct config *config =
        parse("cameras = ( { privacy = ( { " SQUARE " }, { name = \"window\"; polygon = ( [0.1, "
              "0.0], [1.0, 0.3], [0, 1] ); } ); } );");
    _cleanup_(cleanup_free) char *text = format(config, 0);
    _cleanup_(cleanup_config) struct config *again = parse(text);
    _cleanup_(cleanup_free) char *text_again = format(again, 0);
    const struct config_privacy *privacy = again->cameras[0].privacy;

    assert_string_equal(text_again, text);
    assert_int_equal(again->cameras[0].privacy_count, 2);
    assert_string_equal(privacy[0].name, "privacy0");
    assert_int_equal(privacy[0].polygon_count, 4);
    assert_string_equal(privacy[1].name, "window");
    assert_number_equal(privacy[1].polygon[1].y, 0.3);
}

TEST(test_privacy_without_a_polygon_is_refused)
{
    check_list("privacy", "{ " SQUARE " }, { name = \"a\"; }", -EINVAL,
               "t:1: error: cameras[0].privacy[1].polygon: got nothing, allowed: " POLYGON "\n");
    check_list("privacy", "{ polygon = ( [0, 0], [1, 1] ); }", -EINVAL,
               "t:1: error: cameras[0].privacy[0].polygon: got 2 corners, allowed: 3 to 64\n");
    check_list(
        "privacy", "{ name = \"a\"; " SQUARE " }, { name = \"a\"; " SQUARE " }", -EINVAL,
        "t:1: error: cameras[0].privacy[1].name: got \"a\", which is the name of privacy[0], "
        "too; allowed: a name of its own\n");
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static char *load(const char *path, char **ret_problems)
{
    _cleanup_(cleanup_config) struct config *config = NULL;
    size_t size;
    FILE *problems = open_memstream(ret_problems, &size);

    assert_int_equal(config_load(path, problems, &config), 0);
    fclose(problems);
    return strdup(config->cameras[0].regions[0].mask);
}

TEST(test_a_mask_lies_beside_the_file_that_names_it)
{
    _cleanup_(cleanup_free) char *mask = NULL;
    _cleanup_(cleanup_free) char *problems = NULL;

    assert_int_equal(mkdir("sub", 0700), 0);
    write_file("sub/mask.pgm", "P5 1 1 255 \xff");
    write_file("sub/regions.conf", "regions = ( { mask = \"mask.pgm\"; } );\n");
    write_file("main.conf", "cameras = ( {\n@include \"sub/regions.conf\"\n} );\n");
    char *path = NULL;
    assert_true(asprintf(&path, "%s/main.conf", folder) > 0);
    mask = load(path, &problems);
    free(path);
    assert_string_equal(problems, "");
    assert_int_equal(strncmp(mask, folder, strlen(folder)), 0);
    assert_string_equal(mask + strlen(folder), "/sub/mask.pgm");
    unlink("sub/mask.pgm");
    unlink("sub/regions.conf");
    unlink("main.conf");
    rmdir("sub");
}

TEST(test_a_mask_that_cannot_be_read_is_worth_a_warning)
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
    for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
        _cleanup_(cleanup_free) char *text = NULL;
        _cleanup_(cleanup_free) char *expected = NULL;
        _cleanup_(cleanup_free) char *problems = NULL;

        assert_true(asprintf(&text, "\ncameras = ( { regions = ( {\n mask = \"%s\"; } ); } );",
                             wrong[i].mask) > 0);
        assert_true(asprintf(&expected,
                             "r.conf:3: warning: cameras[0].regions[0].mask: cannot read \"%s\": "
                             "%s; allowed: a .pgm or .png; until then the region has no events\n",
                             wrong[i].mask, wrong[i].why) > 0);
        write_file("r.conf", text);
        free(load("r.conf", &problems));
        assert_string_equal(problems, expected);
    }
    unlink("r.conf");
    unlink("text.png");
    unlink("empty.pgm");
}

// Text from memory comes from a front that has looked already.
TEST(test_text_from_memory_asks_for_no_files)
{
    check("{ mask = \"none.pgm\"; }", 0, "");
}

RUN_TESTS(make_folder, remove_folder)
