// Which files of a configuration the user of edged.service may not read, by owner and mode. The
// user is a stand-in: no file here is his.
#include "daemon/common/service_files.h"
#include "tests/unit/unit.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <pwd.h>
#include <sys/stat.h>

static struct passwd user = {.pw_name = "edged", .pw_uid = 64998, .pw_gid = 64998};

int getpwnam_r(const char *name, struct passwd *entry, char *strings, size_t size,
               struct passwd **ret_entry)
{
    (void)strings;
    (void)size;
    *entry = user;
    *ret_entry = strcmp(name, "edged") == 0 ? entry : NULL;
    return 0;
}

static void note(void *context, const char *key, const char *path, const char *reason)
{
    (void)path;
    g_string_append_printf(context, "%s: %.35s;", key, reason);
}

static void assert_told(const char *clip, const char *expected)
{
    g_autofree char *text =
        g_strdup_printf("cameras = ( { source = \"file\"; path = \"%s\"; } );", clip);
    g_autoptr(GString) told = g_string_new("");
    struct config *config;

    assert_int_equal(config_parse(text, "test", stderr, &config), 0);
    service_files_tell(config, note, told);
    assert_string_equal(told->str, expected);
    config_free(config);
}

static void test_a_file_is_read_by_its_owner_its_group_or_all(void **state)
{
    static const char refused[] = "cameras[0].path: user edged of edged.service may not;";
    g_autofree char *folder = g_dir_make_tmp("edged-files-XXXXXX", NULL);
    g_autofree char *clip = g_build_filename(folder, "clip.mp4", NULL);
    struct stat status;

    (void)state;
    assert_true(g_file_set_contents(clip, "clip", -1, NULL));
    assert_int_equal(stat(clip, &status), 0);
    g_chmod(clip, 0644);
    assert_told(clip, refused); // by its folder
    g_chmod(folder, 0755);
    assert_told(clip, "");
    g_chmod(clip, 0640);
    assert_told(clip, refused);
    user.pw_gid = status.st_gid;
    assert_told(clip, "");
    g_chmod(clip, 0604);
    assert_told(clip, refused);
    user.pw_uid = status.st_uid;
    assert_told(clip, "");
    g_unlink(clip);
    assert_told(clip, "");
    g_rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_file_is_read_by_its_owner_its_group_or_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
