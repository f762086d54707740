// Flips of pictures worked by hand, and what a flip does when there is no memory. tests/golden
// compares all formats, sizes and flips with numpy.
#include "tests/unit/view_pictures.h"

#include "kernels/flip/flip.h"

#include <errno.h>

static struct flip *new_flip(enum config_flip kind, const struct frame *input)
{
    const struct flip_setup setup = {
        .flip = kind, .input = &input->layout, .frames = 1, .allocator = frame_allocator_host()};
    struct flip *flip = NULL;

    assert_int_equal(flip_new(&setup, NULL, &flip), 0);
    return flip;
}

// Pictures of five by two, of which a pair of chroma belongs to two columns, the last to one.
static struct frame *flip_five_by_two(enum config_flip kind)
{
    struct frame *input = new_frame("NV12", 5, 2, 3), *output = NULL;
    struct flip *flip = new_flip(kind, input);

    set_row(input, 0, 0, "\1\2\3\4\5");
    set_row(input, 0, 1, "\6\7\10\11\12");
    set_row(input, 1, 0, "\50\51\60\61\70\71");
    assert_int_equal(flip_run(flip, input, NULL, &output), 0);
    assert_true(frame_layout_equal(flip_layout(flip), &output->layout));
    flip_free(flip);
    frame_unref(input);
    return output;
}

TEST(test_a_mirrored_pair_of_chroma_goes_with_the_pixel_that_becomes_the_first_of_its_two)
{
    struct frame *output = flip_five_by_two(CONFIG_FLIP_HORIZONTAL);

    assert_row(output, 0, 0, "\5\4\3\2\1", 5);
    assert_row(output, 0, 1, "\12\11\10\7\6", 5);
    assert_row(output, 1, 0, "\70\71\60\61\50\51", 6);
    frame_unref(output);
}

TEST(test_a_quarter_turn_is_clockwise)
{
    static const char *const luma[] = {"\6\1", "\7\2", "\10\3", "\11\4", "\12\5"};
    static const char *const chroma[] = {"\50\51", "\60\61", "\70\71"};
    struct frame *right = flip_five_by_two(CONFIG_FLIP_ROTATE_90);
    struct frame *left = flip_five_by_two(CONFIG_FLIP_ROTATE_270);

    assert_int_equal(right->layout.width, 2);
    assert_int_equal(right->layout.height, 5);
    for (uint32_t y = 0; y < 5; y++) {
        const uint8_t turned[2] = {(uint8_t)luma[y][1], (uint8_t)luma[y][0]};

        assert_row(right, 0, y, luma[y], 2);
        assert_row(left, 0, 4 - y, turned, 2);
    }
    for (uint32_t y = 0; y < 3; y++) {
        assert_row(right, 1, y, chroma[y], 2);
        assert_row(left, 1, 2 - y, chroma[y], 2);
    }
    frame_unref(right);
    frame_unref(left);
}

TEST(test_formats_become_those_whose_samples_are_alike)
{
    static const char *const cases[][2] = {
        {"YUYV", "NV12"}, {"UYVY", "NV12"}, {"NV12", "NV12"}, {"NV21", "NV12"},
        {"YU12", "NV12"}, {"422P", "NV12"}, {"444P", "NV12"}, {"GREY", "GREY"},
        {"RGB3", "RGB3"}, {"BGR3", "RGB3"}, {"XR24", "RGB3"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct frame_layout input, output;

        frame_layout_init(&input, pixel_format_by_name(cases[i][0]), 7, 4, 1);
        input.range = FRAME_RANGE_FULL;
        input.colour.matrix = COLOUR_BT709;
        flip_layout_init(&output, CONFIG_FLIP_ROTATE_270, &input);
        assert_string_equal(output.format->name, cases[i][1]);
        assert_int_equal(output.width, 4);
        assert_int_equal(output.height, 7);
        assert_int_equal(output.range, FRAME_RANGE_FULL);
        assert_true(frame_colour_equal(output.colour, input.colour));
    }
}

TEST(test_a_flipped_frame_is_as_old_as_its_frame_and_none_is_there_while_all_are_out)
{
    struct frame *input = new_frame("GREY", 3, 3, 0), *output = NULL, *none = NULL;
    struct flip *flip = new_flip(CONFIG_FLIP_VERTICAL, input);
    struct error error = {0};

    input->pts_ns = 7;
    input->grabbed_ns = 8;
    input->sequence = 9;
    assert_int_equal(flip_run(flip, input, &error, &output), 0);
    assert_int_equal(output->pts_ns, 7);
    assert_int_equal(output->grabbed_ns, 8);
    assert_int_equal(output->sequence, 9);
    assert_int_equal(flip_run(flip, input, &error, &none), -ENOBUFS);
    flip_free(flip);
    frame_unref(output); // which outlives the flip
    frame_unref(input);
}

TEST(test_a_flip_fits_what_it_was_made_for)
{
    struct frame *input = new_frame("YUYV", 6, 4, 0), *other = new_frame("YUYV", 4, 6, 0);
    struct flip *flip = new_flip(CONFIG_FLIP_ROTATE_90, input);
    struct flip_setup setup = {.flip = CONFIG_FLIP_ROTATE_90,
                               .input = &input->layout,
                               .frames = 1,
                               .allocator = frame_allocator_host()};

    assert_true(flip_fits(flip, &setup));
    setup.input = &other->layout;
    assert_false(flip_fits(flip, &setup));
    setup.input = &input->layout;
    setup.flip = CONFIG_FLIP_ROTATE_270;
    assert_false(flip_fits(flip, &setup));
    flip_free(flip);
    flip_free(NULL);
    frame_unref(input);
    frame_unref(other);
}

static int allocate_nothing(void *context, size_t size, void **ret_memory)
{
    (void)context;
    (void)size;
    (void)ret_memory;
    return -ENOMEM;
}

TEST(test_there_is_no_flip_without_memory_for_its_frames)
{
    const struct frame_allocator none = {.kind = "none", .allocate = allocate_nothing};
    struct frame *input = new_frame("YUYV", 6, 4, 0);
    const struct flip_setup setup = {
        .flip = CONFIG_FLIP_ROTATE_90, .input = &input->layout, .frames = 1, .allocator = &none};
    struct flip *flip = NULL;
    struct error error = {0};

    assert_int_equal(flip_new(&setup, &error, &flip), -ENOMEM);
    assert_string_equal(error.text, "no memory for 1 flipped frames of 6x4");
    frame_unref(input);
}

RUN_TESTS(NULL, NULL)
