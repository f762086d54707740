// One view by itself: its keys, which of them are for it, what is refused.
#include "tests/unit/config/config_text.h"

#include <errno.h>

#define WORDS                                                                                      \
    "an array [ … ] of 1 to 12 of the words \"gray\", \"blur3\", \"blur5\", \"sobel\", "         \
    "\"sobel5\", \"scharr\", \"prewitt\", \"threshold\", \"canny\", \"difference\", \"erode\", "   \
    "\"dilate\", \"open\", \"close\", \"mask\", \"mark\", \"overlay\", \"direction\""

TEST(test_view_keys_are_set_from_text)
{
    struct config_view *view = NULL;
    struct error error = {0};

    assert_int_equal(config_view_new("edges", &error, &view), 0);
    assert_string_equal(view->name, "edges");
    assert_int_equal(config_view_set(view, "gain", "1.5", &error), 0);
    assert_number_equal(view->gain, 1.5);
    assert_int_equal(config_view_set(view, "gain", "2", &error), 0);
    assert_number_equal(view->gain, 2.0);
    assert_int_equal(config_view_set(view, "norm", "l1", &error), 0);
    assert_int_equal(view->norm, CONFIG_NORM_L1);
    assert_int_equal(config_view_set(view, "operator", "prewitt", &error), 0);
    assert_int_equal(view->op, CONFIG_OPERATOR_PREWITT);
    assert_int_equal(config_view_set(view, "blur", "5", &error), 0);
    assert_int_equal(view->blur, 5);
    assert_int_equal(config_view_set(view, "blur", "3", &error), 0);
    assert_int_equal(view->blur, 3);
    assert_int_equal(config_view_set(view, "name", "7", &error), 0);
    assert_string_equal(view->name, "7");
    assert_int_equal(config_view_set(view, "bitrate_kbps", "500", &error), 0);
    assert_int_equal(view->bitrate_kbps, 500);
    config_view_free(view);
}

TEST(test_integers_are_read_as_in_a_file)
{
    struct config_view *view = NULL;
    struct error error = {0};

    assert_int_equal(config_view_new("binary", &error, &view), 0);
    assert_int_equal(config_view_set(view, "threshold", "0x50", &error), 0);
    assert_int_equal(view->threshold, 80);
    assert_int_equal(config_view_set(view, "threshold", "010", &error), 0);
    assert_int_equal(view->threshold, 10);
    assert_int_equal(config_view_set(view, "threshold", "-0X50", &error), -EINVAL);
    assert_non_null(strstr(error.text, "threshold: got -80, allowed: "));
    assert_int_equal(config_view_set(view, "threshold", "0x", &error), -EINVAL);
    assert_non_null(strstr(error.text, "threshold: got \"0x\", allowed: "));
    config_view_free(view);
}

TEST(test_refused_view_keys_say_what_is_allowed)
{
    static const struct {
        const char *key, *value, *message;
    } refused[] = {
        {"gain", "-1", "gain: got -1, allowed: a number from 0.01 to 100 (factor)"},
        {"gain", "nan", "gain: got nan, allowed: a number from 0.01 to 100 (factor)"},
        {"gain", "1x", "gain: got the string \"1x\", allowed: a number from 0.01 to 100 (factor)"},
        {"gain", "", "gain: got the string \"\", allowed: a number from 0.01 to 100 (factor)"},
        {"norm", "l3", "norm: got \"l3\", allowed: \"l2\", \"l1\"; did you mean \"l2\"?"},
        {"bitrate_kbps", "99999999999999999999",
         "bitrate_kbps: got the number 1e+20, allowed: an integer from 64 to 100000 (kbit/s)"},
        {"blur", "4", "blur: got 4, allowed: 0, 3, 5 (pixels)"},
        {"blur", "6", "blur: got 6, allowed: 0, 3, 5 (pixels)"},
        {"gian", "1", "gian: unknown key, did you mean \"gain\"?"},
        {"label", "x", "label: no effect on files, only in streams"},
        {"radius", "2",
         "radius: unknown key, allowed: name, view, stages, operator, blur, norm, gain, threshold, "
         "colour, morphology, times, erode, mark, thresholds, low, high, polygon, mask, left, "
         "right, "
         "codec, encoder, governor, "
         "bitrate_kbps, jpeg_quality, keyframe_s, allow"},
    };
    struct config_view *view = NULL;
    struct error error = {0};

    assert_int_equal(config_view_new("edges", &error, &view), 0);
    for (size_t i = 0; i < ARRAY_LENGTH(refused); i++) {
        assert_int_equal(config_view_set(view, refused[i].key, refused[i].value, &error), -EINVAL);
        assert_string_equal(error.text, refused[i].message);
        assert_int_equal(config_view_set(view, refused[i].key, refused[i].value, NULL), -EINVAL);
    }
    assert_number_equal(view->gain, 1.0);
    config_view_free(view);
}

TEST(test_a_threshold_is_good_for_its_view)
{
    struct config_view *view = NULL;
    struct error error = {0};

    assert_int_equal(config_view_new("motion", NULL, &view), 0);
    assert_int_equal(view->threshold, 25);
    assert_int_equal(config_view_set(view, "threshold", "1", NULL), 0);
    assert_int_equal(view->threshold, 1);
    assert_int_equal(config_view_set(view, "threshold", "otsu", NULL), 0);
    assert_int_equal(view->threshold, CONFIG_THRESHOLD_OTSU);
    assert_int_equal(config_view_set(view, "threshold", "otzu", &error), -EINVAL);
    assert_string_equal(error.text, "threshold: got \"otzu\", allowed: an integer from 1 to 255 "
                                    "(gray levels) or \"otsu\"");
    config_view_free(view);
}

TEST(test_a_colour_is_read_as_the_web_writes_it)
{
    static const char *const wrong[] = {"green", "", "#00ff0", "#00ff000", "#00ff0g", "000ff00"};
    static const uint8_t expected[] = {0x12, 0xab, 0xff};
    struct config_view *view = NULL;
    struct error error = {0};
    uint8_t rgb[3];

    assert_int_equal(config_view_new("overlay", NULL, &view), 0);
    assert_string_equal(view->colour, "#00ff00");
    assert_int_equal(view->threshold, 80);
    assert_int_equal(config_view_set(view, "colour", "#12aBFf", NULL), 0);
    assert_int_equal(config_colour_parse(view->colour, rgb), 0);
    assert_memory_equal(rgb, expected, 3);
    for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
        assert_int_equal(config_view_set(view, "colour", wrong[i], &error), -EINVAL);
        assert_non_null(strstr(error.text, "allowed: \"#rrggbb\", red, green and blue"));
    }
    config_view_free(view);
}

TEST(test_a_split_shows_views_by_name_before_kinds)
{
    _cleanup_(cleanup_config) struct config *config =
        parse("cameras = ( { views = ( { view = \"split\"; left = \"mine\"; right = \"motion\"; },"
              " { name = \"mine\"; view = \"canny\"; low = 7; },"
              " { name = \"both\"; view = \"split\"; left = \"gray\"; threshold = 9; },"
              " { name = \"edges\"; view = \"gray\"; } ); } );");
    _cleanup_(cleanup_free) char *text = format(config, SIZE_MAX);
    _cleanup_(cleanup_config) struct config *again = parse(text);
    const struct config_view *views = again->cameras[0].views;
    struct config_view side;

    assert_int_equal(config_split_side(&views[0], 0, &side, NULL), 0);
    assert_int_equal(side.view, CONFIG_VIEW_CANNY);
    assert_number_equal(side.low, 7);
    assert_int_equal(config_split_side(&views[0], 1, &side, NULL), 0);
    assert_int_equal(side.view, CONFIG_VIEW_MOTION);
    assert_int_equal(side.threshold, 25);
    assert_int_equal(config_split_side(&views[2], 0, &side, NULL), 0);
    assert_int_equal(side.view, CONFIG_VIEW_GRAY);
    assert_int_equal(side.threshold, 9);
    assert_int_equal(config_split_side(&views[2], 1, &side, NULL), 0);
    assert_string_equal(side.name, "edges");
    assert_int_equal(side.view, CONFIG_VIEW_GRAY);
}

TEST(test_gain_is_refused_for_a_gray_view)
{
    struct config_view *view = NULL;
    struct error error = {0};

    assert_int_equal(config_view_new("gray", &error, &view), 0);
    assert_int_equal(config_view_set(view, "gain", "2", &error), -EINVAL);
    assert_string_equal(error.text,
                        "gain: no effect with view = \"gray\", only with \"edges\", \"binary\", "
                        "\"overlay\", \"direction\", \"split\", \"custom\"");
    config_view_free(view);
}

TEST(test_thresholds_of_a_canny_view_may_be_fractions_in_any_order)
{
    struct config_view *view = NULL;
    struct error error = {0};

    assert_int_equal(config_view_new("canny", &error, &view), 0);
    assert_number_equal(view->low, 50);
    assert_number_equal(view->high, 150);
    assert_int_equal(config_view_set(view, "low", "200.5", &error), 0);
    assert_int_equal(config_view_set(view, "high", "0", &error), 0);
    assert_number_equal(view->low, 200.5);
    assert_number_equal(view->high, 0);
    assert_int_equal(config_view_set(view, "low", "-1", &error), -EINVAL);
    assert_string_equal(error.text, "low: got -1, allowed: a number from 0 to 32767 (gradient)");
    config_view_free(view);
}

TEST(test_unknown_kind_of_view_says_the_known_ones)
{
    struct config_view *view = NULL;
    struct error error = {0};

    assert_int_equal(config_view_new("sepia", &error, &view), -EINVAL);
    assert_null(view);
    assert_string_equal(error.text, "view: got \"sepia\", allowed: \"camera\", \"gray\", "
                                    "\"edges\", \"binary\", \"canny\", \"motion\", "
                                    "\"overlay\", \"direction\", \"split\", \"custom\"");
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

TEST(test_stages_say_whether_a_view_remembers_and_has_colours)
{
    static const struct {
        const char *stages;
        bool remembers, is_colour;
    } cases[] = {{"blur5,scharr,threshold", false, false}, {"difference,open,mark", true, true}};

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct config_view *view = NULL;

        assert_int_equal(config_view_new("custom", NULL, &view), 0);
        assert_int_equal(config_view_set(view, "stages", cases[i].stages, NULL), 0);
        assert_int_equal(config_view_remembers(view), cases[i].remembers);
        assert_int_equal(config_view_is_colour(view), cases[i].is_colour);
        config_view_free(view);
    }
}

RUN_TESTS(NULL, NULL)
