// A configuration file, with what it includes. What is accepted has to survive being written and
// read again, as it does on the way to a camera process. In what is refused, what people get wrong
// is looked for in any line that libconfig may stop at.
//
// Parsers: config/multicast_range.c config/objects.c config/parse/config_scan.c
// Parsers: config/parse/config_text.c config/parse/load.c config/parse/validation.c
// Parsers: config/parse/suggest.c config/parse/syntax_hint.c config/parse/validate.c
// Parsers: config/parse/validate_region.c config/schema/schema_text.c
// Parsers: config/schema/schema_types.c
#include "tests/fuzz/fuzz_includes.h"

#include "config/config.h"
#include "config/diff.h"
#include "config/parse/syntax_hint.h"

static void check_round_trip(const struct config *config)
{
    _cleanup_(cleanup_config) struct config *again = NULL;
    _cleanup_(cleanup_free) char *text = NULL, *text_again = NULL;

    fuzz_claim(config_format(config, SIZE_MAX, &text) == 0);
    fuzz_claim(config_parse(text, "again", NULL, &again) == 0);
    fuzz_claim(config_format(again, SIZE_MAX, &text_again) == 0);
    fuzz_claim(strcmp(text, text_again) == 0);
    for (size_t i = 0; i < config->camera_count; i++)
        fuzz_claim(config_diff_camera(config, again, i) == CONFIG_COST_NONE);
}

static void check_hints(void)
{
    _cleanup_(config_problems_finish) struct config_problems ignored = {0};
    _cleanup_(config_text_finish) struct config_text lines = {.problems = &ignored};
    struct syntax_hint hint;

    if (config_text_read(&lines, FUZZ_MAIN) < 0)
        return;
    // The first ones, and the last one with the one behind it.
    for (unsigned i = 0; i < 8; i++) {
        unsigned number = i < 6 ? i : (unsigned)lines.line_count + i - 6;

        if (syntax_hint_find(&lines, number, &hint))
            fuzz_claim(hint.text[0] && hint.place.file && hint.place.line > 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_(cleanup_config) struct config *config = NULL;
    _cleanup_(cleanup_free) char *said = NULL;
    size_t said_size;
    FILE *problems = open_memstream(&said, &said_size);

    fuzz_take_files(data, size);
    int r = config_load(FUZZ_MAIN, problems, &config);
    fuzz_claim(fclose(problems) == 0);
    fuzz_claim(r == 0 || said_size > 0);
    if (r == 0)
        check_round_trip(config);
    else
        check_hints();
    return 0;
}
