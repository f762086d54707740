// The file with the user and password of a camera.
//
// Parsers: config/credentials.c
#include "tests/fuzz/fuzz.h"

#include "config/credentials.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct credentials credentials;
    char path[FUZZ_PATH_SIZE];
    int fd = fuzz_file(data, size, path);
    struct error error = {0};

    if (credentials_read(path, &error, &credentials) == 0) {
        fuzz_claim(credentials.user[0] && !strpbrk(credentials.user, ":\r\n"));
        fuzz_claim(!strpbrk(credentials.password, "\r\n"));
        credentials_clear(&credentials);
    } else {
        fuzz_claim(error.text[0]);
    }
    close(fd);
    return 0;
}
