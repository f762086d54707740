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

#define CONF                                                                                       \
    "# Written by `edgectl tune --write`, which replaces it the next time.\n"                      \
    "kernels = {\n  gradient = { block = [64, 4]; };\n};\n"

TEST(test_the_configuration_gets_an_include_and_nothing_else_changes, setup, teardown)
{
    static const char *const texts[][2] = {
        {"# mine\n" CAMERAS, "# mine\n" CAMERAS INCLUDE},
        {CAMERAS "# the end", CAMERAS "# the end\n" INCLUDE},
        {CAMERAS INCLUDE, CAMERAS INCLUDE}, // by hand, of other blocks
    };
    struct fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        put(fixture->path, texts[i][0]);
        g_unlink(fixture->conf);
        if (strcmp(texts[i][0], texts[i][1]) == 0) {
            put(fixture->conf, "kernels = { gradient = { block = [16, 16]; }; };\n");
        }
        assert_int_equal(write_flat(fixture), 0);
        assert_text(fixture->path, texts[i][1]);
        assert_text(fixture->conf, CONF);
    }
}

TEST(test_what_was_written_is_read_back_and_replaced, setup, teardown)
{
    struct fixture *fixture = *state;
    struct kernels_conf content = {.sets_memory = true, .memory = CONFIG_MEMORY_MANAGED}, back;
    struct config *config;

    put(fixture->path, CAMERAS);
    assert_int_equal(write_flat(fixture), 0);
    content.blocks[CONFIG_KERNEL_CONVERT] = (struct config_block){96, 1, 0};
    content.blocks[CONFIG_KERNEL_GRADIENT].rows = 8;
    assert_int_equal(kernels_conf_write(fixture->path, &content, &fixture->error), 0);
    config = load(fixture);
    assert_int_equal(kernels_conf_read(fixture->path, config, &fixture->error, &back), 0);
    assert_int_equal(config->memory, CONFIG_MEMORY_MANAGED);
    assert_memory_equal(config->blocks, content.blocks, sizeof content.blocks);
    assert_memory_equal(back.blocks, content.blocks, sizeof content.blocks);
    assert_true(back.sets_memory);
    assert_false(back.memory_elsewhere);
    assert_int_equal(back.memory, CONFIG_MEMORY_MANAGED);
    config_free(config);
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

TEST(test_what_only_a_person_can_resolve_is_refused_and_stays, setup, teardown)
{
    static const struct {
        const char *text, *conf; // NULL: no such file
        int code;
        const char *sentence;
    } cases[] = {
        {CAMERAS "# two\nkernels = { gray = { block = [32, 4]; }; };\n", NULL, -EEXIST,
         "edged.conf:3: the group \"kernels\" stands here"},
        {CAMERAS INCLUDE, "kernels = { };\nrtsp = { port = 8555; };\n", -EEXIST,
         "kernels.conf:2: --write replaces this file and would lose \"rtsp\""},
        {CAMERAS, "a stranger\n", -EEXIST, "not from edgectl tune"},
        {"cameras = (", NULL, -EINVAL, "edged --check"},
        {NULL, NULL, -ENOENT, "edged.conf"},
    };
    struct fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        g_unlink(fixture->path);
        g_unlink(fixture->conf);
        if (cases[i].text) {
            put(fixture->path, cases[i].text);
        }
        if (cases[i].conf) {
            put(fixture->conf, cases[i].conf);
        }
        assert_int_equal(write_flat(fixture), cases[i].code);
        assert_non_null(strstr(fixture->error.text, cases[i].sentence));
        if (cases[i].text) {
            assert_text(fixture->path, cases[i].text);
        }
        assert_int_equal(g_file_test(fixture->conf, G_FILE_TEST_EXISTS), cases[i].conf != NULL);
        if (cases[i].conf) {
            assert_text(fixture->conf, cases[i].conf);
        }
    }
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

    content.blocks[CONFIG_KERNEL_GRAY] = (struct config_block){1024, 1024, 0};
    put(fixture->path, CAMERAS);
    assert_int_equal(kernels_conf_write(fixture->path, &content, &fixture->error), -EINVAL);
    assert_non_null(strstr(fixture->error.text, "nothing is changed: "));
    assert_non_null(strstr(fixture->error.text, "kernels.gray.block"));
    assert_text(fixture->path, CAMERAS);
    assert_false(g_file_test(fixture->conf, G_FILE_TEST_EXISTS));

    // Also where there are blocks from before.
    assert_int_equal(write_flat(fixture), 0);
    assert_int_equal(kernels_conf_write(fixture->path, &content, &fixture->error), -EINVAL);
    assert_text(fixture->conf, CONF);
    assert_text(fixture->path, CAMERAS INCLUDE);
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

RUN_TESTS(NULL, NULL)
