// The cost of a change of the configuration, key by key.
#include "config/diff.h"
#include "config/schema/schema.h"
#include "tests/unit/config/config_text.h"

static const char before[] =
    "kernels = { gradient = { block = [32, 8]; }; };\n"
    "rtsp = { port = 8554; };\n"
    "cameras = ( {\n"
    "  name = \"front\"; source = \"pattern\"; fps = 30;\n"
    "  views = ( { name = \"edges\"; gain = 1.0; },\n"
    "            { name = \"thin\"; view = \"canny\"; low = 50; },\n"
    "            { name = \"gone\"; view = \"gray\"; } );\n"
    "  regions = ( { name = \"door\"; start = 1.0; } );\n"
    "}, { name = \"yard\"; source = \"pattern\"; }, { name = \"old\"; source = \"pattern\"; } );\n";

static const char after[] =
    "kernels = { gradient = { block = [64, 4]; }; };\n"
    "rtsp = { port = 8555; };\n"
    "cameras = ( { name = \"new\"; source = \"pattern\"; }, {\n"
    "  name = \"front\"; source = \"pattern\"; fps = 25;\n"
    "  views = ( { name = \"thin\"; view = \"canny\"; low = 60; thresholds = \"median\";\n"
    "              bitrate_kbps = 900; mask = \"\"; polygon = ([0.0, 0.0], [1.0, 0.0], [0.5, "
    "1.0]); },\n"
    "            { name = \"edges\"; view = \"binary\"; gain = 2.0; keyframe_s = 0.5; },\n"
    "            { name = \"more\"; view = \"gray\"; } );\n"
    "  regions = ( { name = \"door\"; start = 2.0; end = 0.5; } );\n"
    "}, { name = \"yard\"; source = \"pattern\"; } );\n";

static char *write_diff(const char *old_text, const char *new_text)
{
    _cleanup_(cleanup_config) struct config *old = parse(old_text), *new = parse(new_text);
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    config_diff_print(file, old, new);
    fclose(file);
    return text;
}

static char *summarize(const char *old_text, const char *new_text)
{
    _cleanup_(cleanup_config) struct config *old = parse(old_text), *new = parse(new_text);

    return config_diff_summarize(old, new);
}

TEST(test_each_changed_key_is_told_with_what_it_costs)
{
    _cleanup_(cleanup_free) char *text = write_diff(before, after);

    assert_string_equal(
        text, "rtsp.port: 8554 -> 8555, when edged is started again\n"
              "cameras.new: none -> \"new\", this camera starts anew\n"
              "cameras.front.fps: 30 -> 25, this camera starts anew\n"
              "cameras.front.views.thin.thresholds: \"fixed\" -> \"median\", between two frames\n"
              "cameras.front.views.thin.low: 50.0 -> 60.0, between two frames\n"
              "cameras.front.views.thin.polygon: none -> ([0.0, 0.0], [1.0, 0.0], [0.5, 1.0]), "
              "between two "
              "frames\n"
              "cameras.front.views.thin.bitrate_kbps: 4000 -> 900, between two frames\n"
              "cameras.front.views.edges.view: \"edges\" -> \"binary\", this view starts anew\n"
              "cameras.front.views.edges.gain: 1.0 -> 2.0, between two frames\n"
              "cameras.front.views.edges.keyframe_s: 1.0 -> 0.5, between two frames\n"
              "cameras.front.views.more: none -> \"more\", this view starts anew\n"
              "cameras.front.views.gone: \"gone\" -> none, this view starts anew\n"
              "cameras.front.regions.door.start: 1.0 -> 2.0, between two frames\n"
              "cameras.old: \"old\" -> none, this camera starts anew\n"
              "kernels.gradient.block: [32, 8] -> [64, 4], between two frames\n");
}

TEST(test_users_and_roles_change_while_edged_runs)
{
    _cleanup_(cleanup_free) char *text = write_diff(
        "cameras = ( { views = ( { name = \"edges\"; } ); } );",
        "rtsp = { users = \"rtsp.users\"; };\n"
        "cameras = ( { views = ( { name = \"edges\"; allow = [\"operator\", \"admin\"]; } ); } );");

    assert_string_equal(
        text, "rtsp.users: \"\" -> \"rtsp.users\", between two frames\n"
              "cameras.camera0.views.edges.allow: [\"viewer\"] -> [\"operator\", \"admin\"], "
              "between two frames\n");
}

TEST(test_the_log_line_names_a_few_paths_for_each_cost)
{
    _cleanup_(cleanup_free) char *text = summarize(before, after);

    assert_string_equal(
        text,
        "between two frames: cameras.front.views.thin.thresholds, cameras.front.views.thin.low, "
        "cameras.front.views.thin.polygon, cameras.front.views.thin.bitrate_kbps and 4 more; "
        "this view starts anew: cameras.front.views.edges.view, cameras.front.views.more, "
        "cameras.front.views.gone; this camera starts anew: cameras.new, cameras.front.fps, "
        "cameras.old; "
        "when edged is started again: rtsp.port");
}

TEST(test_an_equal_configuration_and_keys_without_effect_cost_nothing)
{
    static const char *const texts[][2] = {
        {before, before},
        {"cameras = ( { views = ( { view = \"gray\"; } ); } );",
         "# the same\n"
         "cameras = ( { views = ( { name = \"gray\"; view = \"gray\"; keyframe_s = 1; } ); } );"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        _cleanup_(cleanup_free) char *lines = write_diff(texts[i][0], texts[i][1]);
        _cleanup_(cleanup_free) char *line = summarize(texts[i][0], texts[i][1]);

        assert_string_equal(lines, "nothing has changed\n");
        assert_string_equal(line, "nothing has changed");
    }
}

TEST(test_another_order_is_a_change_without_a_cost)
{
    static const char one[] = "cameras = ( { name = \"a\"; }, { name = \"b\"; } );";
    static const char other[] = "cameras = ( { name = \"b\"; }, { name = \"a\"; } );";
    _cleanup_(cleanup_free) char *lines = write_diff(one, other);

    assert_string_equal(lines, "only the order in a list has changed\n");
}

TEST(test_a_camera_pays_for_what_changes_in_it_alone)
{
    _cleanup_(cleanup_config) struct config *old = parse(before), *new = parse(after);

    assert_int_equal(config_diff_camera(old, new, 1), CONFIG_COST_CAMERA); // fps
    assert_int_equal(config_diff_camera(old, new, 2), CONFIG_COST_FRAME);  // the block
    new->cameras[1].fps = 30;
    assert_int_equal(config_diff_camera(old, new, 1), CONFIG_COST_VIEW);
    assert_int_equal(config_diff_camera(old, old, 0), CONFIG_COST_NONE);
    new->backend = CONFIG_BACKEND_CPU;
    assert_int_equal(config_diff_camera(old, new, 2), CONFIG_COST_CAMERA);
}

// It must not refuse what it has no use for, such as an address without the users that allow it.
TEST(test_a_camera_process_is_told_nothing_of_the_front)
{
    static const char one[] = "rtsp = { address = \"0.0.0.0\"; auth = \"none\"; };\n"
                              "http = { port = 81; }; control = { socket = \"/s\"; };\n"
                              "storage = { max_size = \"1G\"; }; backend = \"cpu\";\n"
                              "cameras = ( { source = \"pattern\"; } );";
    static const char other[] = "backend = \"cpu\"; cameras = ( { source = \"pattern\"; } );";
    _cleanup_(cleanup_config) struct config *open = parse(one), *closed = parse(other);
    _cleanup_(cleanup_free) char *text = format(open, 0), *same = format(closed, 0);

    assert_string_equal(text, same);
    assert_non_null(strstr(text, "backend = \"cpu\""));
    assert_int_equal(config_diff_camera(open, closed, 0), CONFIG_COST_NONE);
}

static void assert_costs(const struct schema_group *group)
{
    for (size_t i = 0; i < group->key_count; i++) {
        const struct schema_key *key = &group->keys[i];

        assert_int_not_equal(schema_cost(group, key), CONFIG_COST_NONE);
        if (key->group)
            assert_costs(key->group);
    }
}

TEST(test_every_key_has_a_cost)
{
    assert_costs(&schema_root);
}

TEST(test_views_look_equal_whatever_encodes_them)
{
    static const char text[] =
        "cameras = ( { views = ( { name = \"a\"; gain = 1.0; },\n"
        "  { name = \"b\"; bitrate_kbps = 100; keyframe_s = 2.0; encoder = \"x264enc\"; },\n"
        "  { name = \"c\"; gain = 2.0; }, { name = \"d\"; view = \"gray\"; },\n"
        "  { name = \"s\"; view = \"split\"; left = \"a\"; right = \"d\"; },\n"
        "  { name = \"t\"; view = \"split\"; left = \"a\"; right = \"d\"; } ); } );";
    _cleanup_(cleanup_config) struct config *one = parse(text), *two = parse(text);
    struct config_view *views = one->cameras[0].views, *others = two->cameras[0].views;

    assert_true(config_views_look_equal(&views[0], &views[1]));
    assert_false(config_views_look_equal(&views[0], &views[2]));
    assert_false(config_views_look_equal(&views[0], &views[3]));
    assert_true(config_views_look_equal(&views[4], &views[5]));
    assert_true(config_views_look_equal(&views[4], &others[4]));
    others[0].gain = 3; // of its left side
    assert_false(config_views_look_equal(&views[4], &others[4]));
}

RUN_TESTS(NULL, NULL)
