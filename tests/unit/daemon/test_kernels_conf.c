// What `edgectl tune --write` does to files: whole or not at all, and never to what is not its own.
#include "tests/unit/unit.h"

#include "daemon/ctl/bench/kernels_conf.h"

#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <sys/stat.h>

#define CAMERAS "cameras = ( { name = \"front\"; source = \"pattern\"; } );\n"
#define INCLUDE "@include \"kernels.conf\"\n"

struct fixture {
    char *folder, *path, *conf;
    struct error error;
};

static int setup(void **state)
{
    struct fixture *fixture = g_new0(struct fixture, 1);

    fixture->folder = g_dir_make_tmp("edged-XXXXXX", NULL);
    fixture->path = g_build_filename(fixture->folder, "edged.conf", NULL);
    fixture->conf = g_build_filename(fixture->folder, "kernels.conf", NULL);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    g_unlink(fixture->path);
    g_unlink(fixture->conf);
    assert_int_equal(g_rmdir(fixture->folder), 0); // nothing else is left there
    g_free(fixture->folder);
    g_free(fixture->path);
    g_free(fixture->conf);
    g_free(fixture);
    return 0;
}

static void put(const char *path, const char *text)
{
    assert_true(g_file_set_contents(path, text, -1, NULL));
}

static void assert_text(const char *path, const char *expected)
{
    g_autofree char *text = NULL;

    assert_true(g_file_get_contents(path, &text, NULL, NULL));
    assert_string_equal(text, expected);
}

static struct kernels_conf flat(void)
{
    struct kernels_conf content = {0};

    content.blocks[CONFIG_KERNEL_GRADIENT] = (struct config_block){64, 4, 0};
    return content;
}

static int write_flat(struct fixture *fixture)
{
    struct kernels_conf content = flat();

    return kernels_conf_write(fixture->path, &content, &fixture->error);
}

static struct config *load(struct fixture *fixture)
{
    struct config *config = NULL;

    assert_int_equal(config_load(fixture->path, stderr, &config), 0);
    return config;
}

TEST(test_blocks_are_written_and_included, setup, teardown)
{
    struct fixture *fixture = *state;
    struct config *config;

    put(fixture->path, "# mine\n" CAMERAS);
    assert_int_equal(write_flat(fixture), 0);
    assert_text(fixture->path, "# mine\n" CAMERAS INCLUDE);
    config = load(fixture);
    assert_int_equal(config->blocks[CONFIG_KERNEL_GRADIENT].x, 64);
    assert_int_equal(config->blocks[CONFIG_KERNEL_GRADIENT].y, 4);
    assert_int_equal(config->blocks[CONFIG_KERNEL_GRAY].x, 0);
    assert_int_equal(config->memory, CONFIG_MEMORY_AUTO);
    config_free(config);
}

TEST(test_a_second_write_replaces_the_first, setup, teardown)
{
    struct fixture *fixture = *state;
    struct kernels_conf content = {.sets_memory = true, .memory = CONFIG_MEMORY_PINNED};
    struct config *config;

    put(fixture->path, CAMERAS);
    assert_int_equal(write_flat(fixture), 0);
    content.blocks[CONFIG_KERNEL_CONVERT] = (struct config_block){96, 1, 0};
    assert_int_equal(kernels_conf_write(fixture->path, &content, &fixture->error), 0);
    assert_text(fixture->path, CAMERAS INCLUDE);
    config = load(fixture);
    assert_int_equal(config->blocks[CONFIG_KERNEL_GRADIENT].x, 0);
    assert_int_equal(config->blocks[CONFIG_KERNEL_CONVERT].x, 96);
    assert_int_equal(config->memory, CONFIG_MEMORY_PINNED);
    config_free(config);
}

TEST(test_what_was_written_is_read_back, setup, teardown)
{
    struct fixture *fixture = *state;
    struct kernels_conf content = {.sets_memory = true, .memory = CONFIG_MEMORY_MANAGED}, back;
    struct config *config;

    put(fixture->path, CAMERAS);
    content.blocks[CONFIG_KERNEL_GRADIENT].rows = 8;
    content.blocks[CONFIG_KERNEL_GRAY] = (struct config_block){8, 16, 0};
    assert_int_equal(kernels_conf_write(fixture->path, &content, &fixture->error), 0);
    config = load(fixture);
    assert_int_equal(kernels_conf_read(fixture->path, config, &fixture->error, &back), 0);
    assert_true(back.sets_memory);
    assert_false(back.memory_elsewhere);
    assert_int_equal(back.memory, CONFIG_MEMORY_MANAGED);
    assert_int_equal(back.blocks[CONFIG_KERNEL_GRAY].y, 16);
    assert_int_equal(back.blocks[CONFIG_KERNEL_GRADIENT].x, 0);
    assert_int_equal(back.blocks[CONFIG_KERNEL_GRADIENT].rows, 8);
    config_free(config);
}

TEST(test_block_and_rows_of_a_kernel_stand_in_one_line, setup, teardown)
{
    struct fixture *fixture = *state;
    struct kernels_conf content = flat();

    put(fixture->path, CAMERAS);
    content.blocks[CONFIG_KERNEL_GRADIENT].rows = 16;
    assert_int_equal(kernels_conf_write(fixture->path, &content, &fixture->error), 0);
    assert_text(fixture->conf,
                "# Written by `edgectl tune --write`, which replaces it the next time.\n"
                "kernels = {\n  gradient = { block = [64, 4]; rows = 16; };\n};\n");
}

TEST(test_a_last_line_without_end_stays_a_line, setup, teardown)
{
    struct fixture *fixture = *state;

    put(fixture->path, CAMERAS "# the end");
    assert_int_equal(write_flat(fixture), 0);
    assert_text(fixture->path, CAMERAS "# the end\n" INCLUDE);
}

TEST(test_owner_and_mode_stay, setup, teardown)
{
    struct fixture *fixture = *state;
    struct stat info;

    put(fixture->path, CAMERAS);
    assert_int_equal(g_chmod(fixture->path, 0640), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(fixture->path, 12, 34), 0);
    }
    assert_int_equal(write_flat(fixture), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(stat(i ? fixture->conf : fixture->path, &info), 0);
        assert_int_equal(info.st_mode & 07777, 0640);
        assert_int_equal(info.st_uid, geteuid() == 0 ? 12 : geteuid());
        assert_int_equal(info.st_gid, geteuid() == 0 ? 34 : getegid());
    }
}

TEST(test_a_link_stays_a_link, setup, teardown)
{
    struct fixture *fixture = *state;
    g_autofree char *target = g_build_filename(fixture->folder, "real.conf", NULL);

    put(target, CAMERAS);
    assert_int_equal(symlink("real.conf", fixture->path), 0);
    assert_int_equal(write_flat(fixture), 0);
    assert_true(g_file_test(fixture->path, G_FILE_TEST_IS_SYMLINK));
    assert_text(target, CAMERAS INCLUDE);
    config_free(load(fixture));
    g_unlink(target);
}

TEST(test_kernels_of_ones_own_are_named_with_their_line, setup, teardown)
{
    struct fixture *fixture = *state;
    const char *text = CAMERAS "# two\nkernels = { gray = { block = [32, 4]; }; };\n";

    put(fixture->path, text);
    assert_int_equal(write_flat(fixture), -EEXIST);
    assert_non_null(strstr(fixture->error.text, "edged.conf:3: the group \"kernels\" stands here"));
    assert_text(fixture->path, text);
    assert_false(g_file_test(fixture->conf, G_FILE_TEST_EXISTS));
}

TEST(test_memory_that_stands_elsewhere_stays_there, setup, teardown)
{
    struct fixture *fixture = *state;
    struct kernels_conf content = flat(), back;
    struct config *config;

    put(fixture->path, "memory = \"pinned\";\n" CAMERAS);
    config = load(fixture);
    assert_int_equal(kernels_conf_read(fixture->path, config, &fixture->error, &back), 0);
    assert_true(back.memory_elsewhere);
    assert_false(back.sets_memory);
    config_free(config);
    content.sets_memory = true;
    content.memory = CONFIG_MEMORY_MANAGED;
    assert_int_equal(kernels_conf_write(fixture->path, &content, &fixture->error), -EEXIST);
    assert_non_null(strstr(fixture->error.text, "edged.conf:1: \"memory\" stands here"));
    assert_int_equal(write_flat(fixture), 0);
}

TEST(test_what_edged_would_refuse_is_put_back, setup, teardown)
{
    struct fixture *fixture = *state;
    struct kernels_conf content = flat();

    put(fixture->path, CAMERAS);
    content.blocks[CONFIG_KERNEL_GRAY] = (struct config_block){1024, 1024, 0};
    assert_int_equal(kernels_conf_write(fixture->path, &content, &fixture->error), -EINVAL);
    assert_non_null(strstr(fixture->error.text, "nothing is changed: "));
    assert_non_null(strstr(fixture->error.text, "kernels.gray.block"));
    assert_text(fixture->path, CAMERAS);
    assert_false(g_file_test(fixture->conf, G_FILE_TEST_EXISTS));
}

TEST(test_the_blocks_before_are_put_back, setup, teardown)
{
    struct fixture *fixture = *state;
    struct kernels_conf content = flat();
    g_autofree char *before = NULL;

    put(fixture->path, CAMERAS);
    assert_int_equal(write_flat(fixture), 0);
    assert_true(g_file_get_contents(fixture->conf, &before, NULL, NULL));
    content.blocks[CONFIG_KERNEL_GRAY] = (struct config_block){1024, 1024, 0};
    assert_int_equal(kernels_conf_write(fixture->path, &content, &fixture->error), -EINVAL);
    assert_text(fixture->conf, before);
    assert_text(fixture->path, CAMERAS INCLUDE);
}

TEST(test_keys_of_others_in_kernels_conf_are_not_lost, setup, teardown)
{
    struct fixture *fixture = *state;

    put(fixture->path, CAMERAS INCLUDE);
    put(fixture->conf, "kernels = { };\nrtsp = { port = 8555; };\n");
    assert_int_equal(write_flat(fixture), -EEXIST);
    assert_non_null(strstr(fixture->error.text, "kernels.conf:2: "));
    assert_non_null(strstr(fixture->error.text, "\"rtsp\""));
}

TEST(test_blocks_written_by_hand_in_kernels_conf_are_replaced, setup, teardown)
{
    struct fixture *fixture = *state;
    struct config *config;

    put(fixture->path, CAMERAS INCLUDE);
    put(fixture->conf, "kernels = { gradient = { block = [16, 16]; }; };\n");
    assert_int_equal(write_flat(fixture), 0);
    config = load(fixture);
    assert_int_equal(config->blocks[CONFIG_KERNEL_GRADIENT].x, 64);
    config_free(config);
}

TEST(test_a_stranger_called_kernels_conf_stays, setup, teardown)
{
    struct fixture *fixture = *state;

    put(fixture->path, CAMERAS);
    put(fixture->conf, "a stranger\n");
    assert_int_equal(write_flat(fixture), -EEXIST);
    assert_text(fixture->conf, "a stranger\n");
    assert_text(fixture->path, CAMERAS);
}

TEST(test_a_folder_called_kernels_conf_is_an_error, setup, teardown)
{
    struct fixture *fixture = *state;

    put(fixture->path, CAMERAS);
    assert_int_equal(g_mkdir(fixture->conf, 0700), 0);
    assert_int_equal(write_flat(fixture), -EISDIR);
    assert_non_null(strstr(fixture->error.text, "kernels.conf"));
    assert_text(fixture->path, CAMERAS);
    assert_int_equal(g_rmdir(fixture->conf), 0);
}

// As somebody whom permissions bind.
TEST(test_a_folder_that_may_not_be_written_stays_as_it_is, setup, teardown)
{
    struct fixture *fixture = *state;
    bool root = geteuid() == 0;
    int r;

    put(fixture->path, CAMERAS);
    assert_int_equal(g_chmod(fixture->path, 0644), 0);
    assert_int_equal(g_chmod(fixture->folder, 0555), 0);
    assert_int_equal(root ? seteuid(65534) : 0, 0);
    r = write_flat(fixture);
    assert_int_equal(root ? seteuid(0) : 0, 0);
    assert_int_equal(g_chmod(fixture->folder, 0755), 0);
    assert_int_equal(r, -EACCES);
    assert_non_null(strstr(fixture->error.text, "nothing is changed: "));
    assert_non_null(strstr(fixture->error.text, "Permission denied"));
    assert_text(fixture->path, CAMERAS);
    assert_false(g_file_test(fixture->conf, G_FILE_TEST_EXISTS));
}

TEST(test_a_configuration_that_is_missing_or_invalid_is_an_error, setup, teardown)
{
    struct fixture *fixture = *state;

    assert_int_equal(write_flat(fixture), -ENOENT);
    put(fixture->path, "cameras = (");
    assert_int_equal(write_flat(fixture), -EINVAL);
    assert_non_null(strstr(fixture->error.text, "edged --check"));
    assert_false(g_file_test(fixture->conf, G_FILE_TEST_EXISTS));
}

RUN_TESTS(NULL, NULL)
