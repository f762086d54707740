// Views of one's own: lists of stages from the file and back, and what may follow what.
#include "tests/unit/config/config_text.h"

#include <errno.h>

#define WORDS                                                                                      \
    "an array [ … ] of 1 to 12 of the words \"gray\", \"blur3\", \"blur5\", \"sobel\", "         \
    "\"sobel5\", \"scharr\", \"prewitt\", \"threshold\", \"canny\", \"difference\", \"erode\", "   \
    "\"dilate\", \"open\", \"close\", \"mask\", \"mark\", \"overlay\", \"direction\""

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
