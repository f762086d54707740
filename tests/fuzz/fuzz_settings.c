// settings.conf, the settings that are kept over a configuration: what is in it is laid over the
// built-in defaults, one after the other, and never more than a refusal comes of it.
//
// Parsers: config/live/file.c daemon/front/model/settings_file.c
#include "tests/fuzz/fuzz.h"

#include "daemon/front/model/settings_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct config_file *file;
    _cleanup_(cleanup_overrides) struct config_overrides kept = {0};
    _cleanup_(cleanup_free) char *path = NULL, *text = fuzz_text(data, size);

    fuzz_claim(file || config_file_read(NULL, NULL, &file) == 0);
    if (settings_file_parse(text, &path, &kept) < 0) {
        fuzz_claim(kept.count == 0 && !path);
        return 0;
    }
    fuzz_claim(path && kept.count <= SETTINGS_FILE_MAX);
    for (size_t i = 0; i < kept.count && i < 16; i++) {
        _cleanup_(cleanup_overrides) struct config_overrides one = {0};
        _cleanup_(cleanup_config) struct config *config = NULL;

        fuzz_claim(config_overrides_set(&one, kept.list[i].path, kept.list[i].value, NULL) == 0);
        if (config_file_load(file, &one, NULL, &config) == 0)
            free(config_value_text(config, kept.list[i].path));
    }
    return 0;
}
