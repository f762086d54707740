// Configuration text, with what it includes. What is accepted has to survive being written and read
// again, as it does on the way to a camera process.
//
// Parsers: config/config.c config/parse/config_scan.c config/parse/config_text.c
// config/parse/load.c Parsers: config/parse/problems.c config/schema/schema_points.c
// config/schema/schema_value.c config/parse/suggest.c Parsers: config/parse/syntax_hint.c
// config/parse/validate.c config/parse/validate_region.c
#include "tests/fuzz/fuzz_includes.h"

#include "config/config.h"
#include "config/diff.h"

static void check_round_trip(const struct config *config)
{
    _cleanup_(cleanup_config) struct config *again = NULL;
    _cleanup_(cleanup_free) char *text = NULL, *text_again = NULL;

    fuzz_claim(config_format(config, SIZE_MAX, &text) == 0);
    fuzz_claim(config_parse(text, "again", NULL, &again) == 0);
    fuzz_claim(config_format(again, SIZE_MAX, &text_again) == 0);
    fuzz_claim(strcmp(text, text_again) == 0);
    for (size_t i = 0; i < config->camera_count; i++) {
        fuzz_claim(config_diff_camera(config, again, i) == CONFIG_COST_NONE);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_(cleanup_config) struct config *config = NULL;
    _cleanup_(cleanup_free) char *said = NULL;
    size_t said_size;
    FILE *problems = open_memstream(&said, &said_size);
    char *text = fuzz_text(data, fuzz_take_files(data, size));
    int r = config_parse(text, "fuzz", problems, &config);

    fuzz_claim(fclose(problems) == 0);
    fuzz_claim(r == 0 || said_size > 0);
    if (r == 0) {
        check_round_trip(config);
    }
    free(text);
    return 0;
}
