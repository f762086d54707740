// Regions in a configuration: defaults, the way back to text, every mistake, and pictures on disk.
#include "config/config.h"
#include "tests/unit/config/config_folder.h"

#include <errno.h>

#define SQUARE "polygon = ( [0, 0], [1, 0], [1, 1], [0, 1] );"

// All lines of problems of `body`, the inside of the camera's list of regions, of which
// config_parse() says `result`.
static void check(const char *body, int result, const char *expected)
{
    _cleanup_(cleanup_config) struct config *config = NULL;
    _cleanup_(cleanup_free) char *text = NULL;
    _cleanup_(cleanup_free) char *found = NULL;
    size_t size;
    FILE *problems = open_memstream(&found, &size);

    assert_true(asprintf(&text, "cameras = ( { regions = ( %s ); } );", body) > 0);
    assert_int_equal(config_parse(text, "t", problems, &config), result);
    fclose(problems);
    assert_string_equal(found, expected);
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

RUN_TESTS(make_folder, remove_folder)
