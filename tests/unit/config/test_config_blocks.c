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

// The whole of what is said about `text`, one line in t.conf.
static void assert_refused(const char *text, const char *expected)
{
    _cleanup_(cleanup_free) char *problems = NULL;
    _cleanup_(cleanup_free) char *line = NULL;
    struct config *config = NULL;

    assert_int_equal(parse(text, &problems, &config), -EINVAL);
    assert_null(config);
    assert_true(asprintf(&line, "t.conf:1: error: %s\n", expected) > 0);
    assert_string_equal(problems, line);
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

TEST(test_a_fraction_of_a_thread_is_refused)
{
    assert_refused("kernels = { gradient = { block = [32.5, 8.0]; }; };",
                   "kernels.gradient.block: got [32.5, 8.0], " ALLOWED);
    assert_refused("kernels = { gradient = { block = (32.5, 8); }; };",
                   "kernels.gradient.block: got (32.5, 8), " ALLOWED);
}

TEST(test_fractions_are_told_from_integers)
{
    assert_refused("kernels = { gradient = { block = [32.0, 8.0]; }; };",
                   "kernels.gradient.block: got [32.0, 8.0], " ALLOWED);
}

TEST(test_leading_zeros_make_no_other_number)
{
    _cleanup_(cleanup_config) struct config *config =
        parse_good("kernels = { gradient = { block = [0x00000020, 0000000008]; };"
                   "            gray = { block = [8L, 16]; }; };");

    assert_block(config, CONFIG_KERNEL_GRADIENT, 32, 8);
    assert_block(config, CONFIG_KERNEL_GRAY, 8, 16);
}

// Out of an int's range, and of 64 bits.
TEST(test_huge_numbers_are_out_of_range)
{
    assert_refused("kernels = { gradient = { block = [99999999999, 8]; }; };",
                   "kernels.gradient.block: got [99999999999, 8], " ALLOWED);
    assert_refused("kernels = { gradient = { block = [8, -0099999999999]; }; };",
                   "kernels.gradient.block: got [8, -99999999999], " ALLOWED);
    assert_refused("kernels = { gradient = { block = [0x10000000000000008, 0xffffffff]; }; };",
                   "kernels.gradient.block: got [9223372036854775807, 4294967295], " ALLOWED);
    assert_refused("kernels = { gradient = { rows = 0x10000000000000008; }; };",
                   "kernels.gradient.rows: got 9223372036854775807, allowed: an integer from 0 to "
                   "64 (rows)");
}

// libconfig takes no array of several types: its own words, with the line.
TEST(test_an_array_of_an_integer_and_a_fraction_is_a_mistake_of_the_syntax)
{
    assert_refused("kernels = { gradient = { block = [8, 32.5]; }; };",
                   "mismatched element type in array in "
                   "\"kernels = { gradient = { block = [8, 32.5]; }; };\"");
    assert_refused("kernels = { gradient = { block = [99999999999, 32.5]; }; };",
                   "mismatched element type in array in "
                   "\"kernels = { gradient = { block = [99999999999, 32.5]; }; };\"");
}

TEST(test_one_number_is_refused)
{
    assert_refused("kernels = { gray = { block = [32]; }; };",
                   "kernels.gray.block: got [32], " ALLOWED);
}

TEST(test_three_numbers_are_refused)
{
    assert_refused("kernels = { gray = { block = [32, 8, 1]; }; };",
                   "kernels.gray.block: got [32, 8, 1], " ALLOWED);
}

TEST(test_many_numbers_are_refused_and_not_all_repeated)
{
    assert_refused("kernels = { gray = { block = [1, 2, 3, 4, 5, 6]; }; };",
                   "kernels.gray.block: got [1, 2, 3, 4, …], " ALLOWED);
}

TEST(test_none_is_refused)
{
    assert_refused("kernels = { gray = { block = []; }; };",
                   "kernels.gray.block: got [], " ALLOWED);
}

TEST(test_no_threads_are_refused)
{
    assert_refused("kernels = { convert = { block = [0, 8]; }; };",
                   "kernels.convert.block: got [0, 8], " ALLOWED);
    assert_refused("kernels = { convert = { block = [8, 0]; }; };",
                   "kernels.convert.block: got [8, 0], " ALLOWED);
    assert_refused("kernels = { convert = { block = [-32, -8]; }; };",
                   "kernels.convert.block: got [-32, -8], " ALLOWED);
}

TEST(test_more_threads_than_a_block_holds_are_refused)
{
    assert_refused("kernels = { gradient = { block = [64, 64]; }; };",
                   "kernels.gradient.block: got [64, 64], " ALLOWED);
    assert_refused("kernels = { gradient = { block = [1025, 1]; }; };",
                   "kernels.gradient.block: got [1025, 1], " ALLOWED);
    assert_refused("kernels = { gradient = { block = [1, 1025]; }; };",
                   "kernels.gradient.block: got [1, 1025], " ALLOWED);
}

// 4294967328 is 2^32 + 32: cut to 32 bits it would be a fine block.
TEST(test_a_number_too_long_for_an_int_is_refused_not_cut)
{
    assert_refused("kernels = { gradient = { block = (4294967328, 8); }; };",
                   "kernels.gradient.block: got (4294967328, 8), " ALLOWED);
}

TEST(test_a_string_is_refused)
{
    assert_refused("kernels = { gradient = { block = \"32x8\"; }; };",
                   "kernels.gradient.block: got the string \"32x8\", " ALLOWED);
    assert_refused("kernels = { gradient = { block = [\"32\", \"8\"]; }; };",
                   "kernels.gradient.block: got [\"32\", \"8\"], " ALLOWED);
}

TEST(test_a_group_is_refused)
{
    assert_refused("kernels = { gradient = { block = { x = 32; y = 8; }; }; };",
                   "kernels.gradient.block: got a group { … }, " ALLOWED);
}

TEST(test_a_list_of_lists_is_refused)
{
    assert_refused("kernels = { gradient = { block = ([32, 8], (1)); }; };",
                   "kernels.gradient.block: got (an array [ … ], a list ( … )), " ALLOWED);
}

TEST(test_a_block_without_its_kernel_is_refused)
{
    assert_refused("kernels = { block = [32, 8]; };",
                   "kernels.block: unknown key, allowed: gradient, gray, convert, blur, threshold, "
                   "morphology, canny, difference, mark, direction, overlay, mask");
    assert_refused("kernels = { gradient = [32, 8]; };",
                   "kernels.gradient: got an array [ … ], allowed: a group { … }");
    assert_refused("kernels = { gradeint = { block = [32, 8]; }; };",
                   "kernels.gradeint: unknown key, did you mean \"gradient\"?");
    assert_refused("kernels = { gradient = { blocks = [32, 8]; }; };",
                   "kernels.gradient.blocks: unknown key, did you mean \"block\"?");
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

#define ROWS_ALLOWED "allowed: an integer from 0 to 64 (rows)"

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

TEST(test_rows_out_of_range_or_no_integer_are_refused)
{
    assert_refused("kernels = { gradient = { rows = -1; }; };",
                   "kernels.gradient.rows: got -1, " ROWS_ALLOWED);
    assert_refused("kernels = { gradient = { rows = 65; }; };",
                   "kernels.gradient.rows: got 65, " ROWS_ALLOWED);
    assert_refused("kernels = { gradient = { rows = 4.0; }; };",
                   "kernels.gradient.rows: got the number 4.0, " ROWS_ALLOWED);
    assert_refused("kernels = { gradient = { rows = \"4\"; }; };",
                   "kernels.gradient.rows: got the string \"4\", " ROWS_ALLOWED);
    assert_refused("kernels = { gradient = { rows = [4, 4]; }; };",
                   "kernels.gradient.rows: got an array [ … ], " ROWS_ALLOWED);
}

TEST(test_rows_of_a_kernel_that_has_no_choice_are_refused)
{
    assert_refused("kernels = { gray = { rows = 4; }; };",
                   "kernels.gray.rows: unknown key, allowed: block");
    assert_refused("kernels = { convert = { rows = 4; }; };",
                   "kernels.convert.rows: unknown key, allowed: block");
}

RUN_TESTS(NULL, NULL)
