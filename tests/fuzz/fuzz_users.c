// Files with passwords and tokens: the users and programs of the server, those of ONVIF, and the
// user of a camera.
// The users that are accepted have to be the same when they are written and read again; a file that
// others may read is refused, whatever it holds.
//
// Parsers: config/credentials.c config/users.c
#include "tests/fuzz/fuzz.h"

#include "config/credentials.h"
#include "config/users.h"

#include <errno.h>

static void check_round_trip(enum users_kind kind, const struct users *users)
{
    _cleanup_(cleanup_users) struct users *again = NULL;
    struct error error;
    char *text;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    for (size_t i = 0; i < users->count; i++)
        users_print(file, &users->list[i]);
    fclose(file);
    fuzz_claim(users_parse(kind, text, size, "again", &error, &again) == 0);
    fuzz_claim(again->count == users->count);
    for (size_t i = 0; i < users->count; i++)
        fuzz_claim(memcmp(&users->list[i], &again->list[i], sizeof users->list[i]) == 0);
    free(text);
}

static void check_users(enum users_kind kind, const char *path)
{
    _cleanup_(cleanup_users) struct users *users = NULL;
    struct error error = {0};
    int r = users_read(kind, path, &error, &users);

    fuzz_claim(r == 0 || error.text[0]);
    if (r == 0)
        check_round_trip(kind, users);
}

static void check_credentials(const char *path)
{
    struct credentials credentials;
    struct error error = {0};

    if (credentials_read(path, &error, &credentials) < 0) {
        fuzz_claim(error.text[0]);
        return;
    }
    fuzz_claim(credentials.user[0] && !strpbrk(credentials.user, ":\r\n"));
    fuzz_claim(!strpbrk(credentials.password, "\r\n"));
    credentials_clear(&credentials);
}

static void check_refused(const char *path, int refusal)
{
    _cleanup_(cleanup_users) struct users *users = NULL;
    struct credentials credentials;
    struct error error = {0};

    fuzz_claim(users_read(USERS_PASSWORDS, path, &error, &users) == refusal && error.text[0]);
    error = (struct error){0};
    fuzz_claim(credentials_read(path, &error, &credentials) == refusal && error.text[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[FUZZ_PATH_SIZE];
    int fd = fuzz_file(data, size, path);

    check_users(USERS_PASSWORDS, path);
    check_users(USERS_TOKENS, path);
    check_users(USERS_ONVIF, path);
    check_credentials(path);
    fuzz_claim(fchmod(fd, 0644) == 0);
    check_refused(path, -EACCES);
    close(fd);
    check_refused("/dev/null", -EINVAL);
    check_refused(path, -ENOENT); // it is closed
    return 0;
}
