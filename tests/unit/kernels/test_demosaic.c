// Mosaics worked by hand, and what a demosaic does when there is no memory. tests/golden compares
// all formats, sizes and levels with OpenCV.
#include "tests/unit/view_pictures.h"

#include "kernels/demosaic/demosaic.h"

#include <errno.h>

static struct demosaic *new_demosaic(const struct frame *input, bool colour)
{
    const struct demosaic_setup setup = {.input = &input->layout,
                                         .colour = colour,
                                         .frames = 1,
                                         .allocator = frame_allocator_host()};
    struct demosaic *demosaic = NULL;

    assert_int_equal(demosaic_new(&setup, NULL, &demosaic), 0);
    return demosaic;
}

static struct frame *run(struct frame *input, bool colour)
{
    struct demosaic *demosaic = new_demosaic(input, colour);
    struct frame *output = NULL;

    assert_int_equal(demosaic_run(demosaic, input, NULL, &output), 0);
    assert_true(frame_layout_equal(demosaic_layout(demosaic), &output->layout));
    demosaic_free(demosaic);
    frame_unref(input);
    return output;
}

// RGGB of four by four: the inner pixels are blue, green, green and red.
//   10  20  30  40
//   50  61  70  80
//   90 100 111 120
//  130 140 150 160
static struct frame *four_by_four(void)
{
    static const uint8_t rows[4][4] = {
        {10, 20, 30, 40}, {50, 61, 70, 80}, {90, 100, 111, 120}, {130, 140, 150, 160}};
    struct frame *input = new_frame("RGGB", 4, 4, 3);

    for (uint32_t y = 0; y < 4; y++)
        set_row(input, 0, y, rows[y]);
    return input;
}

TEST(test_colours_that_a_pixel_lacks_are_means_of_its_neighbours)
{
    // At blue (1, 1): red (10 + 30 + 90 + 111 + 2) / 4, green (20 + 50 + 70 + 100 + 2) / 4.
    // At green (2, 1), in a row of blue: red (30 + 111 + 1) / 2, blue (61 + 80 + 1) / 2.
    // At green (1, 2), in a row of red: red (90 + 111 + 1) / 2, blue (61 + 140 + 1) / 2.
    // At red (2, 2): green (70 + 100 + 120 + 150 + 2) / 4, blue (61 + 80 + 140 + 160 + 2) / 4.
    static const uint8_t upper[] = {60, 60, 61, 60, 60, 61, 71, 70, 71, 71, 70, 71};
    static const uint8_t lower[] = {101, 100, 101, 101, 100, 101, 111, 110, 110, 111, 110, 110};
    struct frame *output = run(four_by_four(), true);

    for (uint32_t y = 0; y < 4; y++) // the outermost rows are those next to them
        assert_row(output, 0, y, y < 2 ? upper : lower, sizeof upper);
    assert_int_equal(output->layout.range, FRAME_RANGE_FULL);
    frame_unref(output);
}

TEST(test_gray_is_that_of_the_colours)
{
    // (9798 * 60 + 19235 * 60 + 3735 * 61 + 16384) >> 15 is 60, and so on.
    static const uint8_t upper[] = {60, 60, 70, 70}, lower[] = {100, 100, 110, 110};
    struct frame *output = run(four_by_four(), false);

    for (uint32_t y = 0; y < 4; y++)
        assert_row(output, 0, y, y < 2 ? upper : lower, sizeof upper);
    frame_unref(output);
}

// Three by three samples that are all the same number, and the pixels that come of it.
static void assert_even_light(const char *format, const void *row,
                              const struct frame_development *development, const char *rgb)
{
    struct frame *input = new_frame(format, 3, 3, 0), *output;

    for (uint32_t y = 0; y < 3; y++)
        set_row(input, 0, y, row);
    input->layout.development = *development;
    output = run(input, true);
    for (uint32_t y = 0; y < 3; y++) {
        for (size_t x = 0; x < 3; x++) {
            assert_memory_equal(
                frame_plane(output, 0) + y * output->layout.planes[0].stride + 3 * x, rgb, 3);
        }
    }
    frame_unref(output);
}

TEST(test_samples_of_every_kind_are_found_where_they_lie)
{
    static const struct frame_development plain = {0, 1, 1, 1};

    assert_even_light("BA81", "\201\201\201", &plain, "\201\201\201");
    // 513 of 1023 is 127.87 of 255: 0x201, or 0x80 and the bits 01.
    assert_even_light("GB10", "\1\2\1\2\1\2", &plain, "\200\200\200");
    assert_even_light("pgAA", "\200\200\200\200\125", &plain, "\200\200\200");
    // 1285 of 4095 is 80.02: 0x505, or 0x50 and 5.
    assert_even_light("RG12", "\5\5\5\5\5\5", &plain, "\120\120\120");
    assert_even_light("pBCC", "\120\120\125\120\120\125", &plain, "\120\120\120");
    // 0xfe7d of 65535 is 253.498.
    assert_even_light("GR16", "\175\376\175\376\175\376", &plain, "\375\375\375");
}

TEST(test_black_is_taken_away_before_the_factors_and_white_is_the_most)
{
    // 514 - 64 of 1023 - 64 is 119.66 of 255; half as much is 59.83, twice as much 239.31.
    assert_even_light("RG10", "\2\2\2\2\2\2", &(struct frame_development){64, 1, .5, 2},
                      "\170\74\357");
    assert_even_light("RG10", "\2\2\2\2\2\2", &(struct frame_development){514, 1, 2, 8}, "\0\0\0");
    assert_even_light("RG10", "\2\2\2\2\2\2", &(struct frame_development){64, 1, 4, 1e6},
                      "\170\377\377");
}

TEST(test_pictures_of_less_than_three_by_three_are_black)
{
    struct frame *output = run(new_frame("GRBG", 2, 3, 1), true);

    for (uint32_t y = 0; y < 3; y++)
        assert_row(output, 0, y, "\0\0\0\0\0\0", 6);
    frame_unref(output);
}

TEST(test_a_demosaic_fits_its_development_and_what_it_makes)
{
    struct frame *input = new_frame("BA10", 8, 4, 0);
    struct demosaic *demosaic = new_demosaic(input, true);
    struct frame_layout layout = input->layout;
    struct demosaic_setup setup = {
        .input = &layout, .colour = true, .allocator = frame_allocator_host()};

    assert_true(demosaic_fits(demosaic, &setup));
    setup.colour = false;
    assert_false(demosaic_fits(demosaic, &setup));
    setup.colour = true;
    layout.development.black = 16;
    assert_false(demosaic_fits(demosaic, &setup));
    layout.development = (struct frame_development){0, 1, 1, 1.5};
    assert_false(demosaic_fits(demosaic, &setup));
    demosaic_free(demosaic);
    frame_unref(input);
}

TEST(test_a_picture_is_dropped_while_all_frames_are_in_use)
{
    struct frame *input = new_frame("BA81", 8, 4, 0), *output, *none = NULL;
    struct demosaic *demosaic = new_demosaic(input, true);

    input->pts_ns = 7;
    input->sequence = 9;
    assert_int_equal(demosaic_run(demosaic, input, NULL, &output), 0);
    assert_int_equal(output->pts_ns, 7);
    assert_int_equal(output->sequence, 9);
    assert_int_equal(demosaic_run(demosaic, input, NULL, &none), -ENOBUFS);
    assert_null(none);
    frame_unref(output);
    demosaic_free(demosaic);
    frame_unref(input);
}

static int refuse_memory(void *context, size_t size, void **ret_memory)
{
    (void)context, (void)size, (void)ret_memory;
    return -ENOMEM;
}

TEST(test_there_is_no_demosaic_without_memory_for_its_frames)
{
    static const struct frame_allocator none = {.kind = "none", .allocate = refuse_memory};
    struct frame *input = new_frame("RGGB", 6, 4, 0);
    const struct demosaic_setup setup = {
        .input = &input->layout, .colour = true, .frames = 1, .allocator = &none};
    struct demosaic *demosaic = NULL;
    struct error error = {0};

    assert_int_equal(demosaic_new(&setup, &error, &demosaic), -ENOMEM);
    assert_string_equal(error.text, "no memory for 1 frames of 6x4");
    frame_unref(input);
}

RUN_TESTS(NULL, NULL)
