// Kept settings on their way to a file of the test's own.
#include "tests/unit/caught_stderr.h"
#include "tests/unit/unit.h"

#include "daemon/front/model/keeping.h"
#include "daemon/front/model/settings_file.h"

#include <glib/gstdio.h>
#include <string.h>

#define GUARD_MS 60000

struct keeping_bed {
    char *folder, *path;
    struct keeping *keeping;
    unsigned told;
};

static void on_told(void *context)
{
    ((struct keeping_bed *)context)->told++;
}

static int set_up(void **state)
{
    struct keeping_bed *bed = g_new0(struct keeping_bed, 1);
    const struct config_overrides nothing = {0};

    bed->folder = g_dir_make_tmp("edged-XXXXXX", NULL);
    bed->path = g_build_filename(bed->folder, "state", "settings.conf", NULL);
    bed->keeping = keeping_new(bed->path, "/e.conf", &nothing, on_told, bed);
    *state = bed;
    return 0;
}

static int tear_down(void **state)
{
    struct keeping_bed *bed = *state;
    g_autofree char *inner = g_path_get_dirname(bed->path);

    keeping_free(bed->keeping);
    g_remove(bed->path);
    g_remove(inner);
    assert_int_equal(g_remove(bed->folder), 0);
    g_free(bed->path);
    g_free(bed->folder);
    g_free(bed);
    return 0;
}

static uint64_t put(struct keeping_bed *bed, const char *value)
{
    _cleanup_(cleanup_overrides) struct config_overrides kept = {0};

    if (value)
        assert_int_equal(config_overrides_set(&kept, "cameras.front.fps", value, "30"), 0);
    return keeping_put(bed->keeping, &kept, "otto");
}

// The value in the file; NULL: there is none. The caller frees it.
static char *read_value(const struct keeping_bed *bed)
{
    _cleanup_(cleanup_overrides) struct config_overrides kept = {0};
    _cleanup_(cleanup_free) char *config_path = NULL;
    g_autofree char *text = NULL;

    if (!g_file_get_contents(bed->path, &text, NULL, NULL))
        return NULL;
    assert_int_equal(settings_file_parse(text, &config_path, &kept), 0);
    assert_int_equal(kept.count, 1);
    return strdup(kept.list[0].value);
}

static gboolean on_guard(gpointer data)
{
    (void)data;
    fail_msg("nothing is told");
    return G_SOURCE_REMOVE;
}

static enum keeping_state wait_for(struct keeping_bed *bed, uint64_t number, const char **ret_why)
{
    guint guard = g_timeout_add(GUARD_MS, on_guard, NULL);
    enum keeping_state state;

    while ((state = keeping_state(bed->keeping, number, ret_why)) == KEEPING_PENDING)
        g_main_context_iteration(NULL, TRUE);
    g_source_remove(guard);
    return state;
}

TEST(test_done_means_that_the_file_says_it, set_up, tear_down)
{
    struct keeping_bed *bed = *state;
    const char *why;

    for (unsigned i = 0; i < 4; i++) {
        static const char *const values[] = {"25", "24", NULL, "23"};
        uint64_t number = put(bed, values[i]);

        assert_true(keeping_is_pending(bed->keeping));
        assert_int_equal(wait_for(bed, number, &why), KEEPING_DONE);
        _cleanup_(cleanup_free) char *value = read_value(bed);
        assert_true(g_strcmp0(value, values[i]) == 0);
        assert_int_equal(keeping_saved(bed->keeping)->count, values[i] != NULL);
        assert_false(keeping_is_unsaved(bed->keeping));
    }
    assert_int_equal(bed->told, 4);
}

TEST(test_those_that_come_in_between_are_written_together, set_up, tear_down)
{
    struct keeping_bed *bed = *state;
    uint64_t first = put(bed, "1"), last = first;
    const char *why;

    for (unsigned i = 2; i < 100; i++) {
        g_autofree char *value = g_strdup_printf("%u", i);

        last = put(bed, value);
        g_main_context_iteration(NULL, FALSE);
    }
    assert_int_equal(wait_for(bed, last, &why), KEEPING_DONE);
    assert_int_equal(keeping_state(bed->keeping, first, &why), KEEPING_DONE);
    assert_true(bed->told < 50);
    _cleanup_(cleanup_free) char *value = read_value(bed);
    assert_string_equal(value, "99");
}

TEST(test_a_file_that_cannot_be_written_is_told_and_written_later, set_up, tear_down)
{
    struct keeping_bed *bed = *state;
    g_autofree char *inner = g_path_get_dirname(bed->path);
    const char *why;

    assert_true(g_file_set_contents(inner, "in the way", -1, NULL));
    assert_int_equal(wait_for(bed, put(bed, "25"), &why), KEEPING_FAILED);
    assert_non_null(strstr(why, "Not a directory"));
    assert_true(keeping_is_unsaved(bed->keeping));
    assert_false(keeping_is_pending(bed->keeping));
    assert_int_equal(g_remove(inner), 0);
    assert_int_equal(wait_for(bed, put(bed, "24"), &why), KEEPING_DONE);
}

TEST(test_the_end_writes_what_is_still_to_be_written, set_up, tear_down)
{
    struct keeping_bed *bed = *state;

    put(bed, "25");
    keeping_hurry(bed->keeping);
    put(bed, "24"); // while that is written
    keeping_free(TAKE(bed->keeping));
    _cleanup_(cleanup_free) char *value = read_value(bed);
    assert_string_equal(value, "24");
}

// Of two clients whose names begin alike, in one write and after one that failed.
TEST(test_the_log_names_the_client_of_each_setting, set_up, tear_down)
{
    struct keeping_bed *bed = *state;
    _cleanup_(cleanup_overrides) struct config_overrides kept = {0};
    g_autofree char *inner = g_path_get_dirname(bed->path);
    char log[1024] = "";
    const char *why;

    assert_true(g_file_set_contents(inner, "in the way", -1, NULL));
    assert_int_equal(config_overrides_set(&kept, "cameras.front.fps", "25", "30"), 0);
    assert_int_equal(wait_for(bed, keeping_put(bed->keeping, &kept, "ottokar"), &why),
                     KEEPING_FAILED);
    assert_int_equal(g_remove(inner), 0);
    assert_int_equal(config_overrides_set(&kept, "cameras.front.gain", "2.0", "1.0"), 0);
    keeping_put(bed->keeping, &kept, "otto");
    assert_int_equal(config_overrides_set(&kept, "cameras.front.hue", "3", "0"), 0);
    uint64_t number = keeping_put(bed->keeping, &kept, "anna");
    catch_stderr();
    enum keeping_state came = wait_for(bed, number, &why);
    rewind(caught);
    assert_true(fread(log, 1, sizeof log - 1, caught) > 0);
    release_stderr();
    assert_int_equal(came, KEEPING_DONE);
    assert_non_null(strstr(log, "edged: cameras.front.fps kept by ottokar: 25\n"));
    assert_non_null(strstr(log, "edged: cameras.front.gain kept by otto: 2.0\n"));
    assert_non_null(strstr(log, "edged: cameras.front.hue kept by anna: 3\n"));
}

RUN_TESTS(NULL, NULL)
