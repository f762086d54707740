// Which board each recorded tree is taken for, and what is chosen there: by us, by the board and by
// the configuration.
#include "tests/unit/unit.h"

#include "board/board.h"

#include <string.h>

#define TREES "tests/data/boards/"
#define NVENC (1U << CONFIG_ENCODER_NVV4L2 | 1U << CONFIG_ENCODER_NVV4L2_H265)

static const struct expected {
    const char *tree, *name, *model, *l4t;
    int sm;
    unsigned without;
    int gradient_rows;
    bool has_csi;
} boards[] = {
    {"xavier-nx", "Jetson Xavier NX", "NVIDIA Jetson Xavier NX Developer Kit", "R35.4.1", 72, 0, 0,
     true},
    {"agx-xavier", "Jetson AGX Xavier", "Jetson-AGX", "R35.4.1", 72, 0, 0, true},
    {"orin-nano", "Jetson Orin Nano",
     "NVIDIA Jetson Orin Nano Engineering Reference Developer Kit Super", "R36.4.7", 87, NVENC, 0,
     true},
    {"orin-nx", "Jetson Orin NX", "NVIDIA Jetson Orin NX Engineering Reference Developer Kit",
     "R36.4.3", 87, 0, 0, true},
    {"agx-orin", "Jetson AGX Orin", "NVIDIA Jetson AGX Orin Developer Kit", "R36.4.3", 87, 0, 0,
     true},
    {"agx-thor", "Jetson AGX Thor", "NVIDIA Jetson AGX Thor Developer Kit", "R38.2.0", 110, 0, 8,
     false},
    {"arm64", "generic arm64", "Raspberry Pi 5 Model B Rev 1.0", "", 0, 0, 0, false},
    {"x86-gpu", "x86 with an NVIDIA GPU", "Precision 3630 Tower", "", 0, 0, 0, false},
    {"x86", "x86", "OptiPlex 7060", "", 0, 0, 0, false},
};

static void read_tree(const char *tree, struct board *ret_board)
{
    char root[128];

    snprintf(root, sizeof root, TREES "%s", tree);
    board_read(root, ret_board);
}

TEST(test_each_tree_is_its_board_with_what_it_chooses)
{
    for (size_t i = 0; i < ARRAY_LENGTH(boards); i++) {
        const struct expected *expected = &boards[i];
        struct config_block blocks[CONFIG_KERNEL_COUNT] = {0};
        struct board board;

        read_tree(expected->tree, &board);
        assert_string_equal(board.profile->name, expected->name);
        assert_string_equal(board.model, expected->model);
        assert_string_equal(board.l4t, expected->l4t);
        assert_int_equal(board.profile->sm, expected->sm);
        assert_int_equal(board.profile->without, expected->without);
        assert_int_equal(board.profile->camera != NULL, expected->has_csi);
        board_fill_blocks(board.profile, blocks);
        for (size_t k = 0; k < CONFIG_KERNEL_COUNT; k++) {
            assert_int_equal(blocks[k].x, 0);
            assert_int_equal(blocks[k].rows,
                             k == CONFIG_KERNEL_GRADIENT ? expected->gradient_rows : 0);
        }
    }
}

TEST(test_a_machine_that_tells_nothing_has_a_profile_too)
{
    struct board board;

    read_tree("nowhere", &board);
    assert_string_equal(board.profile->name, "x86");
    assert_string_equal(board.model, "");
    assert_string_equal(board.l4t, "");
}

TEST(test_the_configuration_comes_before_the_board)
{
    const struct board_profile profile = {
        .blocks = {[CONFIG_KERNEL_GRADIENT] = {32, 4, 8}, [CONFIG_KERNEL_GRAY] = {64, 2, 0}},
    };
    struct config *config;

    assert_int_equal(config_parse("kernels = { gradient = { rows = 24; };"
                                  "            canny = { block = [16, 16]; }; };",
                                  "test", NULL, &config),
                     0);
    board_fill_blocks(&profile, config->blocks);
    const struct config_block *gradient = &config->blocks[CONFIG_KERNEL_GRADIENT];
    assert_int_equal(gradient->x, 32);
    assert_int_equal(gradient->y, 4);
    assert_int_equal(gradient->rows, 24);
    assert_int_equal(config->blocks[CONFIG_KERNEL_GRAY].x, 64);
    assert_int_equal(config->blocks[CONFIG_KERNEL_CANNY].x, 16);
    assert_int_equal(config->blocks[CONFIG_KERNEL_CANNY].rows, 0);
    assert_int_equal(config->blocks[CONFIG_KERNEL_BLUR].x, 0);
    config_free(config);
}

TEST(test_the_keys_of_a_csi_camera_are_those_of_the_configuration)
{
    for (size_t i = 0; i < ARRAY_LENGTH(boards); i++) {
        struct board board;
        struct config *config;
        char text[256];

        read_tree(boards[i].tree, &board);
        if (board.profile->camera) {
            snprintf(text, sizeof text, "cameras = ( { %s } );", board.profile->camera);
            assert_int_equal(config_parse(text, "test", stderr, &config), 0);
            assert_int_equal(config->cameras[0].source, CONFIG_SOURCE_ARGUS);
            config_free(config);
        }
    }
}

RUN_TESTS(NULL, NULL)
