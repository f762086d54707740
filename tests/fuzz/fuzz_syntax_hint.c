// What libconfig refused, looked at for what people get wrong: in any line it may have stopped at.
//
// Parsers: config/parse/syntax_hint.c config/parse/config_scan.c
#include "tests/fuzz/fuzz_includes.h"

#include "config/parse/syntax_hint.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, fuzz_take_files(data, size));
    struct config_text lines = {0};
    struct syntax_hint hint;

    if (config_text_take(&lines, text, "fuzz") == 0) {
        // The first ones, and the last one with the one behind it.
        for (unsigned i = 0; i < 8; i++) {
            unsigned number = i < 6 ? i : (unsigned)lines.line_count + i - 6;

            if (syntax_hint_find(&lines, number, &hint)) {
                fuzz_claim(hint.text[0] && hint.place.file && hint.place.line > 0);
            }
        }
    }
    config_text_finish(&lines);
    free(text);
    return 0;
}
