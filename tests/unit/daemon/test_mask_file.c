#include "daemon/common/mask_file.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>

struct masks {
    char *folder, *path;
};

static int setup(void **state)
{
    struct masks *masks = g_new0(struct masks, 1);

    masks->folder = g_dir_make_tmp("edged-masks-XXXXXX", NULL);
    masks->path = g_build_filename(masks->folder, "mask.pgm", NULL);
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

// Whether the stamp is another one after `change`, and the same when nothing has happened since.
static bool is_noticed(struct masks *masks, void (*change)(const char *path))
{
    struct mask_stamp before, after, again;

    mask_file_stamp(masks->path, &before);
    change(masks->path);
    mask_file_stamp(masks->path, &after);
    mask_file_stamp(masks->path, &again);
    assert_memory_equal(&after, &again, sizeof after);
    return memcmp(&before, &after, sizeof before) != 0;
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

TEST(test_a_mask_that_stays_as_it_is_has_the_same_stamp, setup, teardown)
{
    assert_false(is_noticed(*state, leave_it));
}

TEST(test_a_mask_that_is_not_there_any_more_is_another, setup, teardown)
{
    assert_true(is_noticed(*state, remove_it));
    assert_false(is_noticed(*state, leave_it));
}

TEST(test_rights_that_changed_are_noticed, setup, teardown)
{
    assert_true(is_noticed(*state, forbid_it));
}

TEST(test_another_picture_of_the_same_size_and_age_is_noticed, setup, teardown)
{
    assert_true(is_noticed(*state, replace_it));
}

RUN_TESTS(NULL, NULL)
