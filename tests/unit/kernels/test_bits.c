// Rows of bits against the definitions, pixel by pixel, and by hand.
#include "tests/unit/unit.h"

#include "kernels/stage/bits.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PIXELS 320

static bool bit(const uint64_t *bits, size_t x)
{
    return bits[x / 64] >> x % 64 & 1;
}

// A row drawn by hand: '#' is set.
static void draw(const char *drawing, uint64_t *bits)
{
    memset(bits, 0, bits_words(strlen(drawing)) * sizeof *bits);
    for (size_t x = 0; drawing[x]; x++)
        bits[x / 64] |= (uint64_t)(drawing[x] == '#') << x % 64;
}

static void assert_drawn(const uint64_t *bits, const char *drawing)
{
    for (size_t x = 0; drawing[x]; x++)
        assert_int_equal(bit(bits, x), drawing[x] == '#');
}

static void fill(uint8_t *bytes, unsigned seed, unsigned spread)
{
    srand(seed);
    for (size_t x = 0; x < PIXELS; x++)
        bytes[x] = (uint8_t)((unsigned)rand() % spread);
}

static bool any_over(const uint8_t *gray, const uint8_t *previous, size_t width, int threshold)
{
    bool any = false;

    for (size_t x = 0; x < width; x++)
        any |= abs(gray[x] - previous[x]) > threshold;
    return any;
}

// Widths of whole words, and of a rest that nothing behind the row has a part in.
TEST(test_pixels_differ_and_are_written_again)
{
    uint8_t gray[PIXELS], previous[PIXELS], replaced[PIXELS], mask[PIXELS + 1];
    uint64_t bits[PIXELS / 64 + 1];

    for (size_t width = 1; width <= PIXELS; width += 7) {
        fill(gray, (unsigned)width, 256);
        fill(previous, (unsigned)width + 1, 256);
        bits[bits_words(width)] = 77;
        mask[width] = 77;
        memcpy(replaced, previous, PIXELS);
        assert_int_equal(bits_differ(gray, replaced, width, 100, bits),
                         any_over(gray, previous, width, 100));
        bits_write(bits, width, 16, 235, mask);
        for (size_t x = 0; x < width; x++) {
            assert_int_equal(bit(bits, x), abs(gray[x] - previous[x]) > 100);
            assert_int_equal(mask[x], bit(bits, x) ? 235 : 16);
        }
        assert_int_equal(bits[bits_words(width)], 77);
        assert_int_equal(mask[width], 77);
        assert_memory_equal(replaced, gray, width);
        assert_memory_equal(replaced + width, previous + width, PIXELS - width);
    }
}

// Rows of exactly one word, of less, and over the seam of two.
TEST(test_erosion_takes_the_ends_but_not_at_the_border)
{
    uint64_t bits[2];

    draw("####..#..###.#####", bits);
    bits_erode_row(bits, 18, 1);
    assert_drawn(bits, "###.......#...####");
    bits_erode_row(bits, 18, 1);
    assert_drawn(bits, "##.............###");

    draw("...................................................................#####...", bits);
    bits_erode_row(bits, 75, 2);
    assert_drawn(bits,
                 ".....................................................................#.....");
    draw("##############################################################.#################", bits);
    bits_erode_row(bits, 80, 1);
    assert_drawn(
        bits, "#############################################################...################");
    draw("...............................................................#", bits);
    bits_erode_row(bits, 64, 8);
    assert_drawn(bits, "................................................................");
    draw("################################################################", bits);
    bits_erode_row(bits, 64, 8);
    assert_drawn(bits, "################################################################");
}

RUN_TESTS(NULL, NULL)
