// Labels in pictures of any size, and of any character that the configuration takes.
#include "kernels/label/label.h"

#include "capture/frame_pool.h"
#include "config/schema/schema.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>

#define GROUND 99
#define BLACK 16
#define WHITE 235

static struct frame *make(uint32_t width, uint32_t height)
{
    struct frame_pool *pool;
    struct frame_layout layout;

    frame_layout_init(&layout, pixel_format_by_name("NV12"), width, height, FRAME_STRIDE_ALIGN);
    assert_int_equal(frame_pool_new(&layout, 1, frame_allocator_host(), &pool), 0);
    struct frame *frame = frame_pool_take(pool);
    frame_pool_unref(pool);
    memset(frame->data, GROUND, layout.size);
    return frame;
}

static void draw(const struct config_label *settings, struct frame *frame)
{
    const struct label_setup setup = {
        .settings = settings, .camera = "front", .layout = &frame->layout};
    struct label *label;

    assert_int_equal(label_new(&setup, NULL, &label), 0);
    assert_int_equal(label_draw(label, frame, NULL), 0);
    label_free(label);
}

static unsigned count(const struct frame *frame, unsigned plane, uint8_t value)
{
    unsigned bytes = 0;

    for (uint32_t y = 0; y < frame->layout.planes[plane].rows; y++) {
        const uint8_t *row = frame_plane(frame, plane) + y * frame->layout.planes[plane].stride;

        for (size_t x = 0; x < frame->layout.planes[plane].width_bytes; x++)
            bytes += row[x] == value;
    }
    return bytes;
}

// The bytes between the rows stay as they were.
static void assert_padding_is_untouched(const struct frame *frame)
{
    for (unsigned plane = 0; plane < 2; plane++) {
        size_t stride = frame->layout.planes[plane].stride;

        for (uint32_t y = 0; y < frame->layout.planes[plane].rows; y++) {
            const uint8_t *row = frame_plane(frame, plane) + y * stride;

            for (size_t x = frame->layout.planes[plane].width_bytes; x < stride; x++)
                assert_int_equal(row[x], GROUND);
        }
    }
}

TEST(test_a_label_is_cut_off_where_a_picture_ends)
{
    for (uint32_t side = 1; side <= 45; side++) {
        for (unsigned corner = 0; corner < 4; corner++) {
            struct frame *frame = make(side, 46 - side);
            const struct config_label settings = {.text = (char *)"IIIII",
                                                  .clock = side % 2,
                                                  .size = 1 + (int)corner,
                                                  .corner = (enum config_corner)corner};
            uint32_t x = corner % 2 ? side - 1 : 0, y = corner / 2 ? 45 - side : 0;

            draw(&settings, frame);
            // Black, or a dot of a letter that is cut off.
            assert_int_not_equal(frame_plane(frame, 0)[y * frame->layout.planes[0].stride + x],
                                 GROUND);
            assert_int_equal(
                frame_plane(frame, 1)[y / 2 * frame->layout.planes[1].stride + x / 2 * 2], 128);
            assert_padding_is_untouched(frame);
            frame_unref(frame);
        }
    }
}

// A capital I has 11 dots, of 4 pixels each in a picture of 480 rows at size 2. The box has 2 dots
// on both sides of the letter, and 13 rows of dots.
TEST(test_a_dot_has_the_size_that_is_asked_for)
{
    const struct config_label settings = {.text = (char *)"I", .size = 2};
    struct frame *frame = make(640, 480);

    draw(&settings, frame);
    assert_int_equal(count(frame, 0, WHITE), 11 * 4);
    assert_int_equal(count(frame, 0, BLACK), 9 * 13 * 4 - 11 * 4);
    assert_int_equal(count(frame, 1, 128), 2 * 9 * 13);
    frame_unref(frame);
}

TEST(test_lines_are_made_smaller_to_fit)
{
    const struct config_label settings = {.text = (char *)"IIIIIIIIII", .size = 4};
    struct frame *frame = make(150, 480); // 63 dots of 2 pixels fit, of 4 they do not

    draw(&settings, frame);
    assert_int_equal(count(frame, 0, WHITE), 10 * 11 * 4);
    frame_unref(frame);
}

TEST(test_every_character_that_is_allowed_can_be_read)
{
    const struct schema_key *key = schema_find_key(&schema_label, "text");
    unsigned allowed = 0;

    for (unsigned code = 1; code < 0x180; code++) {
        char text[] = {(char)(code < 0x80 ? code : 0xc0 | code >> 6),
                       (char)(code < 0x80 ? '\0' : 0x80 | (code & 0x3f)), '\0'};
        const struct config_label settings = {.text = text, .size = 2};
        struct frame *frame;

        if (!key->rule->accepts(text))
            continue;
        frame = make(64, 480);
        draw(&settings, frame);
        assert_int_equal(count(frame, 0, WHITE) == 0, code == ' ');
        frame_unref(frame);
        allowed++;
    }
    assert_int_equal(allowed, 95 + 62);
}

TEST(test_longer_texts_and_other_characters_are_refused)
{
    const struct schema_key *key = schema_find_key(&schema_label, "text");
    char text[2 * 65 + 1] = "";

    for (int i = 0; i < 64; i++)
        strcat(text, "\xc3\xa4");
    assert_true(key->rule->accepts(text));
    strcat(text, "x");
    assert_false(key->rule->accepts(text));
    // A tab, DEL, half a character, one of three bytes, and the signs for times and divided by.
    static const char *const others[] = {"\t",           "\x7f",     "\xc3",     "\xa4",
                                         "\xe2\x82\xac", "\xc3\x97", "\xc3\xb7", "\xc2\xb0"};
    for (size_t i = 0; i < ARRAY_LENGTH(others); i++)
        assert_false(key->rule->accepts(others[i]));
}

RUN_TESTS(NULL, NULL)
