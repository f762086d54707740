// Block sizes of kernels: what is read, what is written back, and each mistake's sentence.
#include "config/config.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

#define ALLOWED "allowed: [x, y], two integers from 1 to 1024, x * y at most 1024 (threads)"

static int parse(const char *text, char **ret_problems, struct config **ret_config)
{
    size_t size;
    FILE *problems = open_memstream(ret_problems, &size);
    int r;

    assert_non_null(problems);
    r = config_parse(text, "t.conf", problems, ret_config);
    assert_int_equal(fclose(problems), 0);
    return r;
}

static struct config *parse_good(const char *text)
{
    _cleanup_(cleanup_free) char *problems = NULL;
    struct config *config = NULL;

    assert_int_equal(parse(text, &problems, &config), 0);
    assert_string_equal(problems, "");
    return config;
}

static void assert_block(const struct config *config, enum config_kernel kernel, int x, int y)
{
    assert_int_equal(config->blocks[kernel].x, x);
    assert_int_equal(config->blocks[kernel].y, y);
}

TEST(test_blocks_are_left_to_the_gpu_unless_said)
{
    static const char *const texts[] = {
        "", "kernels = { };", "kernels = { gradient = { }; gray = { }; convert = { }; };"};

    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        _cleanup_(cleanup_config) struct config *config = parse_good(texts[i]);

        assert_block(config, CONFIG_KERNEL_GRADIENT, 0, 0);
        assert_block(config, CONFIG_KERNEL_GRAY, 0, 0);
        assert_block(config, CONFIG_KERNEL_CONVERT, 0, 0);
    }
}

TEST(test_every_kernel_has_its_own_block_as_array_or_list)
{
    _cleanup_(cleanup_config) struct config *config =
        parse_good("kernels = { convert = { block = [64, 4]; }; gradient = { block = [32, 8]; };\n"
                   "            gray = { block = (0x80, 2); }; };");

    assert_block(config, CONFIG_KERNEL_GRADIENT, 32, 8);
    assert_block(config, CONFIG_KERNEL_GRAY, 128, 2);
    assert_block(config, CONFIG_KERNEL_CONVERT, 64, 4);
}

TEST(test_blocks_reach_from_one_thread_to_1024_in_a_row_or_a_column)
{
    _cleanup_(cleanup_config) struct config *config =
        parse_good("kernels = { gradient = { block = [1, 1]; }; gray = { block = [1024, 1]; };"
                   " convert = { block = [1, 1024]; }; };");

    assert_block(config, CONFIG_KERNEL_GRADIENT, 1, 1);
    assert_block(config, CONFIG_KERNEL_GRAY, 1024, 1);
    assert_block(config, CONFIG_KERNEL_CONVERT, 1, 1024);
    config_free(parse_good("kernels = { gradient = { block = [32, 32]; }; };"));
}

TEST(test_formatted_blocks_read_back_and_unset_ones_stay_unset)
{
    _cleanup_(cleanup_config) struct config *config =
        parse_good("kernels = { gray = { block = [128, 2]; }; };");
    _cleanup_(cleanup_config) struct config *defaults = parse_good("");
    _cleanup_(cleanup_free) char *text = NULL;
    _cleanup_(cleanup_free) char *default_text = NULL;

    assert_int_equal(config_format(config, 0, &text), 0);
    assert_int_equal(config_format(defaults, 0, &default_text), 0);
    assert_string_not_equal(text, default_text);
    assert_null(strstr(default_text, "block"));

    _cleanup_(cleanup_config) struct config *again = parse_good(text);
    assert_block(again, CONFIG_KERNEL_GRADIENT, 0, 0);
    assert_block(again, CONFIG_KERNEL_GRAY, 128, 2);
    assert_block(again, CONFIG_KERNEL_CONVERT, 0, 0);
}

TEST(test_leading_zeros_make_no_other_number)
{
    _cleanup_(cleanup_config) struct config *config =
        parse_good("kernels = { gradient = { block = [0x00000020, 0000000008]; };"
                   "            gray = { block = [8L, 16]; }; };");

    assert_block(config, CONFIG_KERNEL_GRADIENT, 32, 8);
    assert_block(config, CONFIG_KERNEL_GRAY, 8, 16);
}

TEST(test_the_line_of_the_block_is_named)
{
    _cleanup_(cleanup_free) char *problems = NULL;
    struct config *config = NULL;

    assert_int_equal(parse("kernels = {\n  gradient = {\n    block =\n [64, 64]; };\n"
                           "  gray = { block = [0, 1]; };\n};\n",
                           &problems, &config),
                     -EINVAL);
    assert_string_equal(problems,
                        "t.conf:3: error: kernels.gradient.block: got [64, 64], " ALLOWED "\n"
                        "t.conf:5: error: kernels.gray.block: got [0, 1], " ALLOWED "\n");
}

static void assert_rows(const char *text, int rows, int x, int y)
{
    _cleanup_(cleanup_config) struct config *config = parse_good(text);
    _cleanup_(cleanup_config) struct config *again = NULL;
    _cleanup_(cleanup_free) char *formatted = NULL;

    assert_int_equal(config_format(config, 0, &formatted), 0);
    assert_int_equal(strstr(formatted, "rows") != NULL, rows > 0);
    again = parse_good(formatted);
    for (int i = 0; i < 2; i++) {
        const struct config *one = i ? again : config;

        assert_block(one, CONFIG_KERNEL_GRADIENT, x, y);
        assert_int_equal(one->blocks[CONFIG_KERNEL_GRADIENT].rows, rows);
        assert_int_equal(one->blocks[CONFIG_KERNEL_GRAY].rows, 0);
    }
}

TEST(test_rows_a_thread_are_read_and_formatted_beside_the_block)
{
    assert_rows("", 0, 0, 0);
    assert_rows("kernels = { gradient = { rows = 0; }; };", 0, 0, 0);
    assert_rows("kernels = { gradient = { rows = 64; }; };", 64, 0, 0);
    assert_rows("kernels = { gradient = { block = [32, 8]; rows = 1; }; };", 1, 32, 8);
    assert_rows("kernels = { gradient = { rows = 16; block = [64, 4]; }; };", 16, 64, 4);
    assert_rows("kernels = { gradient = { block = [64, 4]; }; };", 0, 64, 4);
}

RUN_TESTS(NULL, NULL)
