// A JSON merge patch as PATCH /v1/config gets it, over the built-in defaults. What is taken is laid
// over them as edged does; a key that may not be changed never comes through.
//
// Parsers: config/live/file.c config/live/overrides.c config/live/place.c daemon/common/json.c
// Parsers: daemon/front/model/patch.c
#include "tests/fuzz/fuzz.h"

#include "config/schema/schema.h"
#include "daemon/front/model/patch.h"

#include <glib.h>

static void check_paths(const struct config *config, const struct config_overrides *overrides,
                        const char *gone)
{
    for (size_t i = 0; i < overrides->count; i++) {
        struct config_place place;

        if (gone && g_str_has_prefix(gone, overrides->list[i].path))
            continue;
        fuzz_claim(config_find(config, overrides->list[i].path, NULL, &place) == 0);
        fuzz_claim(place.key->remote);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char gone[] = "cameras.front.views.gone.gain";
    static struct config_override one = {.path = gone};
    static const struct config_overrides kept = {&one, 1};
    static struct config_file *file;
    enum config_role role = size % 2 ? CONFIG_ROLE_ADMIN : CONFIG_ROLE_OPERATOR;
    _cleanup_(cleanup_overrides) struct config_overrides overrides = {0}, resets = {0};
    _cleanup_(cleanup_config) struct config *config = NULL;
    _cleanup_(config_problems_finish) struct config_problems problems = {0};
    _cleanup_(cleanup_free) char *json = NULL;
    char *text = fuzz_text(data, size);
    struct fault fault;
    size_t json_size;
    FILE *out;
    int r;

    fuzz_claim(file || config_file_read(NULL, NULL, &file) == 0);
    r = patch_read(config_file_plain(file), &kept, role, text, size, &fault, &overrides, &resets);
    free(text);
    fuzz_claim(r == 0 || fault.error.text[0]);
    if (r < 0)
        return 0;
    check_paths(config_file_plain(file), &overrides, NULL);
    check_paths(config_file_plain(file), &resets, role == CONFIG_ROLE_ADMIN ? gone : NULL);
    r = config_file_load(file, &overrides, &problems, &config);
    fuzz_claim(r == 0 || config_problems_first_error(&problems, false));
    if (r == 0) {
        out = open_memstream(&json, &json_size);
        config_print_json(out, config, CONFIG_ROLE_OPERATOR);
        fuzz_claim(fclose(out) == 0 && json[0] == '{' && json[json_size - 1] == '}');
    }
    return 0;
}
