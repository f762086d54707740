// Keys of a view as `edgectl process --set KEY=VALUE` has them: a kind in the first line, then a
// setting a line.
//
// Parsers: config/schema/schema_text.c
#include "tests/fuzz/fuzz.h"

#include "config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), *rest = text;
    const char *kind = strsep(&rest, "\n");
    struct config_view *view = NULL;
    struct error error = {0};

    if (config_view_new(kind, &error, &view) == 0) {
        for (char *line; (line = strsep(&rest, "\n"));) {
            const char *key = strsep(&line, "=");

            error = (struct error){0};
            fuzz_claim(!line || config_view_set(view, key, line, &error) == 0 || error.text[0]);
        }
        fuzz_claim(config_view_is_colour(view) || !config_view_reads_colour(view));
        config_view_free(view);
    }
    free(text);
    return 0;
}
