#include "board/board.h"

#include "config/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 512

size_t read_file(const char *folder, const char *name, char *ret_text, size_t size)
{
    _cleanup_(cleanup_close) int fd = -1;
    char path[PATH_BYTES];
    ssize_t length;

    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path)
        return 0;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    length = fd < 0 ? -1 : read(fd, ret_text, size - 1);
    if (length <= 0)
        return 0;
    ret_text[length] = '\0';
    return (size_t)length;
}

#define NVENC (1U << CONFIG_ENCODER_NVV4L2 | 1U << CONFIG_ENCODER_NVV4L2_H265)
#define ON_CSI "source = \"argus\"; sensor = 0;"

// The modules' numbers are those of NVIDIA's device trees. Everything that no line sets is the
// built-in choice, which fits each board:
//
// - Memory. Pictures for a Jetson's own encoder are best in NVMM, which it takes as it is (its
//   sources, L4T R35); nothing else is ours to place there. "registered" is one physical memory for
//   CPU and GPU on all of them, takes frames from V4L2 cameras in place, and on Thor is the only
//   one of the three kinds that the GPU caches (CUDA for Tegra, 13.0, "Memory Selection").
// - Blocks. 32 by 8 threads won for such kernels on an Orin (kornia-rs), and with the 64 registers
//   that tests/gpu/registers finds there at most, four and more such blocks run at once on a
//   multiprocessor. That this holds for a Xavier and a Thor is reasoned.
// - Encoders. Those of the hardware come first and are used once they pass a trial.
static const struct board_profile profiles[] = {
    {.name = "Jetson Xavier NX", .modules = {"p3668-"}, .sm = 72, .camera = ON_CSI},
    {.name = "Jetson AGX Xavier", .modules = {"p2972-", "p2888-"}, .sm = 72, .camera = ON_CSI},
    // The chip of an Orin NX without its video encoder (NVIDIA's data sheet); GStreamer has the
    // elements all the same.
    {.name = "Jetson Orin Nano",
     .modules = {"p3767-0003", "p3767-0004", "p3767-0005"},
     .sm = 87,
     .without = NVENC,
     .camera = ON_CSI},
    {.name = "Jetson Orin NX", .modules = {"p3767-"}, .sm = 87, .camera = ON_CSI},
    {.name = "Jetson AGX Orin", .modules = {"p3701-"}, .sm = 87, .camera = ON_CSI},
    // Reasoned, not measured: its GPU caches registered memory, so that rows read twice cost
    // little, and has 20 multiprocessors of 1536 threads. 8 rows a thread give a picture of
    // 1920x1080 the 32400 threads that fill it; the built-in 16, for memory that is not cached,
    // give it half.
    {.name = "Jetson AGX Thor",
     .modules = {"p3834-"},
     .sm = 110,
     .codecs_of_card = true, // /dev/v4l2-nvenc is there, and nothing behind it
     .blocks = {[CONFIG_KERNEL_GRADIENT] = {.rows = 8}}},
    {.name = "generic arm64"},
    {.name = "x86 with an NVIDIA GPU"},
    {.name = "x86"},
};

enum { ANY_ARM64 = ARRAY_LENGTH(profiles) - 3, X86_WITH_GPU, ANY_X86 };

static bool has_module(const struct board_profile *profile, const char *text)
{
    for (size_t i = 0; i < BOARD_MODULES_MAX && profile->modules[i]; i++) {
        if (strstr(text, profile->modules[i]))
            return true;
    }
    return false;
}

// The profile of the module that one of the strings in "compatible" names, each of which ends in a
// NUL: "nvidia,p3768-0000+p3767-0005-super". NULL: none.
static const struct board_profile *find_module(const char *root)
{
    char text[512];
    size_t length = read_file(root, "proc/device-tree/compatible", text, sizeof text);

    for (size_t i = 0; i < ARRAY_LENGTH(profiles); i++) {
        for (size_t at = 0; at < length; at += strlen(text + at) + 1) {
            if (has_module(&profiles[i], text + at))
                return &profiles[i];
        }
    }
    return NULL;
}

static const struct board_profile *find_profile(const char *root)
{
    const struct board_profile *profile = find_module(root);
    char text[4096];

    if (profile)
        return profile;
    if (read_file(root, "proc/cpuinfo", text, sizeof text) > 0 && strstr(text, "CPU implementer"))
        return &profiles[ANY_ARM64];
    if (read_file(root, "proc/driver/nvidia/version", text, sizeof text) > 0)
        return &profiles[X86_WITH_GPU];
    return &profiles[ANY_X86];
}

void board_read(const char *root, struct board *ret_board)
{
    struct board board = {.profile = find_profile(root)};
    char text[128], revision[16];
    unsigned release;

    if (read_file(root, "proc/device-tree/model", board.model, sizeof board.model) == 0)
        read_file(root, "sys/class/dmi/id/product_name", board.model, sizeof board.model);
    board.model[strcspn(board.model, "\n")] = '\0';
    if (read_file(root, "etc/nv_tegra_release", text, sizeof text) > 0 &&
        sscanf(text, "# R%u (release), REVISION: %15[0-9.]", &release, revision) == 2) {
        snprintf(board.l4t, sizeof board.l4t, "R%u.%s", release, revision);
    }
    *ret_board = board;
}

bool board_is_jetson(const struct board_profile *profile)
{
    return profile->sm != 0;
}

unsigned board_encoders(const struct board_profile *profile)
{
    return board_is_jetson(profile) ? NVENC & ~profile->without : 0;
}

// EPERM is what the kernel's list of devices of a service says; permissions say EACCES.
bool board_find_refused(const char *root, char ret_node[BOARD_NODE_SIZE])
{
    static const char *const nodes[] = {"/dev/nvgpu/igpu0/ctrl", "/dev/nvhost-ctrl-gpu",
                                        "/dev/nvmap", "/dev/nvidia0", "/dev/nvidia-uvm"};

    for (size_t i = 0; i < ARRAY_LENGTH(nodes); i++) {
        _cleanup_(cleanup_close) int fd = -1;
        char path[PATH_BYTES];

        snprintf(path, sizeof path, "%s%s", root, nodes[i]);
        fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        if (fd < 0 && errno == EPERM) {
            snprintf(ret_node, BOARD_NODE_SIZE, "%s", nodes[i]);
            return true;
        }
    }
    return false;
}

void board_fill_blocks(const struct board_profile *profile, struct config_block *blocks)
{
    for (size_t i = 0; i < CONFIG_KERNEL_COUNT; i++) {
        if (blocks[i].x == 0) {
            blocks[i].x = profile->blocks[i].x;
            blocks[i].y = profile->blocks[i].y;
        }
        if (blocks[i].rows == 0)
            blocks[i].rows = profile->blocks[i].rows;
    }
}
