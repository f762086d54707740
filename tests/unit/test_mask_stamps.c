#include "daemon/front/mask_stamps.h"

#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

struct masks {
    char *folder, *path;
    struct config_view view;
    struct config_region region;
    struct config_camera camera;
};

static int setup(void **state)
{
    struct masks *masks = g_new0(struct masks, 1);

    masks->folder = g_dir_make_tmp("edged-masks-XXXXXX", NULL);
    masks->path = g_build_filename(masks->folder, "mask.pgm", NULL);
    masks->view.mask = masks->path;
    masks->region.mask = "";
    masks->camera.views = &masks->view;
    masks->camera.view_count = 1;
    masks->camera.regions = &masks->region;
    masks->camera.region_count = 1;
    *state = masks;
    return !masks->folder || !g_file_set_contents(masks->path, "P5 1 1 255\n0", -1, NULL);
}

static int teardown(void **state)
{
    struct masks *masks = *state;

    g_remove(masks->path);
    g_rmdir(masks->folder);
    g_free(masks->path);
    g_free(masks->folder);
    g_free(masks);
    return 0;
}

// Whether the text is another one after `change`, and the same when nothing has happened since.
static bool is_noticed(struct masks *masks, void (*change)(const char *path))
{
    _cleanup_(cleanup_free) char *before = NULL, *after = NULL, *again = NULL;

    assert_int_equal(mask_stamps(&masks->camera, &before), 0);
    change(masks->path);
    assert_int_equal(mask_stamps(&masks->camera, &after), 0);
    assert_int_equal(mask_stamps(&masks->camera, &again), 0);
    assert_string_equal(after, again);
    return strcmp(before, after) != 0;
}

static void leave_it(const char *path)
{
    (void)path;
}

static void remove_it(const char *path)
{
    assert_int_equal(g_remove(path), 0);
}

static void forbid_it(const char *path)
{
    assert_int_equal(g_chmod(path, 0), 0);
}

// As cp -p and rsync -t put it there: of the same size and age.
static void replace_it(const char *path)
{
    struct stat status;

    assert_int_equal(stat(path, &status), 0);
    assert_true(g_file_set_contents(path, "P5 1 1 255\n1", -1, NULL));
    assert_int_equal(
        utimensat(AT_FDCWD, path, (struct timespec[]){status.st_atim, status.st_mtim}, 0), 0);
}

static void test_a_mask_that_stays_as_it_is_has_the_same_stamp(void **state)
{
    assert_false(is_noticed(*state, leave_it));
}

static void test_a_mask_that_is_not_there_any_more_is_another(void **state)
{
    assert_true(is_noticed(*state, remove_it));
    assert_false(is_noticed(*state, leave_it));
}

static void test_rights_that_changed_are_noticed(void **state)
{
    assert_true(is_noticed(*state, forbid_it));
}

static void test_another_picture_of_the_same_size_and_age_is_noticed(void **state)
{
    assert_true(is_noticed(*state, replace_it));
}

static void test_a_regions_mask_counts_as_well(void **state)
{
    struct masks *masks = *state;

    masks->view.mask = "";
    assert_false(is_noticed(masks, replace_it));
    masks->region.mask = masks->path;
    assert_true(is_noticed(masks, replace_it));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_mask_that_stays_as_it_is_has_the_same_stamp),
        TEST(test_a_mask_that_is_not_there_any_more_is_another),
        TEST(test_rights_that_changed_are_noticed),
        TEST(test_another_picture_of_the_same_size_and_age_is_noticed),
        TEST(test_a_regions_mask_counts_as_well),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
