// What `edgectl tune --write` writes: block sizes and rows a thread, and the kind of memory, in
// kernels.conf beside the configuration, which includes it.
//
// Both files are replaced in one step each and keep their owner and mode; the result is loaded once
// as edged would load it, and everything is put back if that fails.
#pragma once

#include "config/config.h"

#define KERNELS_CONF "kernels.conf"

struct kernels_conf {
    struct config_block blocks[CONFIG_KERNEL_COUNT]; // {0, 0}, 0 rows: no key
    bool sets_memory;
    enum config_memory memory;
    bool memory_elsewhere; // the configuration sets it outside kernels.conf, where it stays
};

// Reads what `config`, loaded from `path`, has from kernels.conf: its blocks, and its memory if
// kernels.conf sets it. -EEXIST: `path` has a group "kernels" of its own, named with its line;
// errors of reading, -EINVAL.
int kernels_conf_read(const char *path, const struct config *config, struct error *error,
                      struct kernels_conf *ret_content);
// Writes kernels.conf, and the @include where it is missing. -EEXIST as above, or the memory is set
// elsewhere; -EACCES and kin; -EINVAL: not valid afterwards, with the first problem; -ENOMEM.
int kernels_conf_write(const char *path, const struct kernels_conf *content, struct error *error);
