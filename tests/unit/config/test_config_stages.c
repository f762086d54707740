// Views of one's own: lists of stages from the file and back, and what may follow what.
#include "tests/unit/config/config_text.h"

#include <errno.h>

#define WORDS                                                                                      \
    "an array [ … ] of 1 to 12 of the words \"gray\", \"blur3\", \"blur5\", \"sobel\", "         \
    "\"sobel5\", \"scharr\", \"prewitt\", \"threshold\", \"canny\", \"difference\", \"erode\", "   \
    "\"dilate\", \"open\", \"close\", \"mask\", \"mark\", \"overlay\", \"direction\""
#define GRAY_STAGES                                                                                \
    "\"blur3\", \"blur5\", \"sobel\", \"sobel5\", \"scharr\", \"prewitt\", \"threshold\", "        \
    "\"canny\", \"difference\", \"erode\", \"dilate\", \"open\", \"close\", \"mask\""

TEST(test_stages_come_in_their_order)
{
    _cleanup_(cleanup_config) struct config *config =
        parse("cameras = ( { views = ( { stages = [\"blur5\", \"scharr\", \"threshold\"]; },"
              " { name = \"b\"; view = \"custom\"; stages = ( \"difference\", \"open\", \"mark\" );"
              "   times = 2; } ); } );");
    const struct config_view *views = config->cameras[0].views;

    assert_string_equal(views[0].name, "custom");
    assert_int_equal(views[0].view, CONFIG_VIEW_CUSTOM);
    assert_int_equal(views[0].stages.count, 3);
    assert_int_equal(views[0].stages.list[0], CONFIG_STAGE_BLUR5);
    assert_int_equal(views[0].stages.list[1], CONFIG_STAGE_SCHARR);
    assert_int_equal(views[0].stages.list[2], CONFIG_STAGE_THRESHOLD);
    assert_int_equal(views[0].threshold, 80);
    assert_int_equal(views[1].stages.count, 3);
    assert_int_equal(views[1].threshold, 25); // of a difference
    assert_int_equal(views[1].times, 2);
    assert_false(config_view_remembers(&views[0]));
    assert_true(config_view_remembers(&views[1]));
    assert_false(config_view_is_colour(&views[0]));
    assert_true(config_view_is_colour(&views[1]));
}

TEST(test_formatted_stages_read_back_as_the_same)
{
    _cleanup_(cleanup_config) struct config *first =
        parse("cameras = ( { views = ( { stages = [\"canny\", \"mark\"]; low = 7; }, { } ); } );");
    _cleanup_(cleanup_free) char *text = format(first, SIZE_MAX);
    _cleanup_(cleanup_config) struct config *second = parse(text);
    _cleanup_(cleanup_free) char *again = format(second, SIZE_MAX);

    assert_non_null(strstr(text, "stages = [\"canny\", \"mark\"];"));
    assert_null(strstr(strstr(text, "\"edges\""), "stages")); // of no other view
    assert_string_equal(text, again);
    assert_int_equal(second->cameras[0].views[0].stages.count, 2);
    assert_number_equal(second->cameras[0].views[0].low, 7);
}

// One view on line 2, and all that is said about it.
static void assert_refused(const char *view, const char *expected)
{
    _cleanup_(cleanup_free) char *got = NULL, *text = NULL, *line = NULL;
    struct config *config = NULL;
    size_t size;
    FILE *problems = open_memstream(&got, &size);

    assert_true(asprintf(&text, "cameras = ( { views = (\n{ %s } ); } );", view) > 0);
    assert_true(asprintf(&line, "t.conf:2: error: cameras[0].views[0].stages: %s\n", expected) > 0);
    assert_int_equal(config_parse(text, "t.conf", problems, &config), -EINVAL);
    fclose(problems);
    assert_string_equal(got, line);
}

TEST(test_wrong_stages_name_line_key_and_what_is_allowed)
{
    static const struct {
        const char *view, *message;
    } cases[] = {
        {"stages = [];", "got [], allowed: " WORDS},
        {"stages = \"canny\";", "got the string \"canny\", allowed: " WORDS},
        {"stages = [1];", "got [1], allowed: " WORDS},
        {"stages = [\"canney\"];", "got [\"canney\"], allowed: " WORDS "; did you mean \"canny\"?"},
        {"stages = [\"open\", \"open\", \"open\", \"open\", \"open\", \"open\", \"open\", "
         "\"open\", \"open\", \"open\", \"open\", \"open\", \"open\"];",
         "got [\"open\", \"open\", \"open\", \"open\", …], allowed: " WORDS},
        {"stages = [\"mark\"];", "got \"mark\" first, on the camera's picture, allowed there: "
                                 "\"gray\", " GRAY_STAGES ", \"direction\""},
        {"stages = [\"scharr\", \"mark\"];", "got \"mark\" after \"scharr\", which makes gray, "
                                             "allowed there: " GRAY_STAGES ", \"direction\""},
        {"stages = [\"canny\", \"blur3\", \"mark\"];",
         "got \"mark\" after \"blur3\", which makes "
         "gray, allowed there: " GRAY_STAGES ", \"direction\""},
        {"stages = [\"canny\", \"close\", \"gray\"];",
         "got \"gray\" after \"close\", which makes a mask, allowed there: " GRAY_STAGES
         ", \"mark\", \"overlay\", \"direction\""},
        {"stages = [\"sobel\", \"mask\", \"mark\"]; mask = \"m.png\";",
         "got \"mark\" after \"mask\", which makes gray, allowed there: " GRAY_STAGES
         ", \"direction\""},
        {"stages = [\"canny\", \"mask\", \"gray\"]; mask = \"m.png\";",
         "got \"gray\" after \"mask\", which makes a mask, allowed there: " GRAY_STAGES
         ", \"mark\", \"overlay\", \"direction\""},
        {"stages = [\"canny\", \"mark\", \"canny\"];",
         "got \"canny\" after \"mark\", which makes a colour picture, allowed there: nothing"},
        {"view = \"edges\"; stages = [\"canny\"];",
         "got stages with view = \"edges\", allowed: with view = \"custom\", or without view"},
        {"view = \"custom\";",
         "got nothing, allowed: an array that is not empty, needed with view = \"custom\""},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        assert_refused(cases[i].view, cases[i].message);
    }
}

TEST(test_words_are_taken_from_text_with_commas)
{
    struct config_view *view = NULL;
    struct error error = {0};

    assert_int_equal(config_view_new("custom", &error, &view), 0);
    assert_int_equal(config_view_set(view, "stages", "blur5, scharr,threshold", &error), 0);
    assert_int_equal(view->stages.count, 3);
    assert_int_equal(view->stages.list[2], CONFIG_STAGE_THRESHOLD);
    assert_int_equal(view->threshold, 80);
    assert_int_equal(config_view_set(view, "stages", "sobel,,sobel", &error), -EINVAL);
    assert_string_equal(error.text, "stages: got [\"sobel\", \"\", \"sobel\"], allowed: " WORDS);
    assert_int_equal(config_view_set(view, "stages", "sobel,mark", &error), -EINVAL);
    assert_int_equal(view->stages.count, 3); // as it was
    config_view_free(view);
    assert_int_equal(config_view_new("edges", &error, &view), 0);
    assert_int_equal(config_view_set(view, "stages", "sobel", &error), -EINVAL);
    assert_string_equal(error.text,
                        "stages: no effect with view = \"edges\", only with \"custom\"");
    config_view_free(view);
}

RUN_TESTS(NULL, NULL)
