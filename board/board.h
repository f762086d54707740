// Which board this is, and what edged knows of it beforehand: a table of profiles.
//
// A profile says only what differs from the built-in choices, which fit every board. The
// configuration comes before both. No profile was measured on its board: board.c says what each
// value is reasoned from, and `edgectl doctor` shows where every choice comes from.
#pragma once

#include "config/config.h"

#include <stdbool.h>
#include <stddef.h>

// Small files of /proc, /sys and /etc: reads the beginning of `folder`/`name`, at most `size` - 1
// bytes, and ends it with a NUL. Returns how many there are; 0: it cannot be read or is empty.
size_t read_file(const char *folder, const char *name, char *ret_text, size_t size);

#define BOARD_MODULES_MAX 4

struct board_profile {
    const char *name; // "Jetson Orin Nano"
    // Parts of its modules' names in the device tree's "compatible", such as "p3701-". None: no
    // module tells this machine.
    const char *modules[BOARD_MODULES_MAX];
    int sm;           // compute capability of the GPU in its chip, 87 for 8.7; 0: none in there
    unsigned without; // encoders it has no hardware for: a bit for each enum config_encoder
    // How the kernels' work is cut up, as in struct config; 0: the built-in choice.
    struct config_block blocks[CONFIG_KERNEL_COUNT];
    bool codecs_of_card; // NVIDIA's codecs are those of a GPU on a card, by CUDA
    const char *camera;  // keys of a camera on its CSI connectors, for edged.conf; NULL: none known
};

struct board {
    const struct board_profile *profile; // static
    char model[96];                      // what it calls itself; "": nothing
    char l4t[24];                        // its release of L4T, "R36.4.7"; "": none
};

// Finds out the board from files below `root`, which is "" for those of this machine:
//
// - proc/device-tree/{model,compatible} (devicetree.org's specification, 2.3.1 and 2.3.2);
//   sys/class/dmi/id/product_name is the model where there is no device tree
// - etc/nv_tegra_release, "# R36 (release), REVISION: 4.7, …"
// - proc/cpuinfo, which has "CPU implementer" on Arm alone, and proc/driver/nvidia/version, which
//   the driver of a GPU on a card makes
//
// There is always a profile: the last three of the table fit every machine.
void board_read(const char *root, struct board *ret_board);

// Whether it is a Jetson, whose pictures may lie in NVMM.
bool board_is_jetson(const struct board_profile *profile);

// NVIDIA's encoders that its chip has, which take frames out of NVMM: a bit for each enum
// config_encoder. 0: none.
unsigned board_encoders(const struct board_profile *profile);

#define BOARD_NODE_SIZE 32
// Finds a device node of the GPU below `root` that this process may not open although the node is
// there and its permissions allow it: the service's list of devices was made before the driver had
// its major number. Puts its path into `ret_node`. False: there is none.
bool board_find_refused(const char *root, char ret_node[BOARD_NODE_SIZE]);

// Puts the profile's block into each of `blocks` (CONFIG_KERNEL_COUNT, of a configuration) that is
// 0, where the profile has one.
void board_fill_blocks(const struct board_profile *profile, struct config_block *blocks);
