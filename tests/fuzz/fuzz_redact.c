// Texts on their way out of the program, out of which secrets are taken: they never get longer.
//
// Parsers: config/redact.c
#include "tests/fuzz/fuzz.h"

#include "config/redact.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    size_t length = strlen(text);

    redact(text);
    fuzz_claim(strlen(text) <= length);
    free(text);
    return 0;
}
