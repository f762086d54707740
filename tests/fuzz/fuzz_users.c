// The file of users. What is accepted has to be the same when it is written and read again.
//
// Parsers: config/users.c
#include "tests/fuzz/fuzz.h"

#include "config/users.h"

static void check_round_trip(const struct users *users)
{
    _cleanup_(cleanup_users) struct users *again = NULL;
    struct error error;
    char *text;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    for (size_t i = 0; i < users->count; i++) {
        users_print(file, &users->list[i]);
    }
    fclose(file);
    fuzz_claim(users_parse(text, size, "again", &error, &again) == 0);
    fuzz_claim(again->count == users->count);
    for (size_t i = 0; i < users->count; i++) {
        fuzz_claim(memcmp(&users->list[i], &again->list[i], sizeof users->list[i]) == 0);
    }
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_(cleanup_users) struct users *users = NULL;
    char path[FUZZ_PATH_SIZE];
    int fd = fuzz_file(data, size, path);
    struct error error = {0};
    int r = users_read(path, &error, &users);

    fuzz_claim(r == 0 || error.text[0]);
    if (r == 0) {
        check_round_trip(users);
    }
    close(fd);
    return 0;
}
