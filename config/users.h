// The files of users with passwords (rtsp.users) and of programs with tokens (rtsp.tokens): who
// they are, what they may do, and what their passwords or tokens hash to. And the passwords of
// those users who log in by ONVIF (onvif.passwords).
//
//   # a comment
//   NAME:ROLE:HA1-MD5:HA1-SHA-256     in rtsp.users
//   NAME:ROLE:SHA-256                 in rtsp.tokens
//   NAME:PASSWORD                     in onvif.passwords
//
// A line each. NAME is 1 to 32 of A-Z a-z 0-9 . _ @ -, ROLE is viewer, operator or admin, and
// each HA1 is the hash of "NAME:edged:PASSWORD" (RFC 7616, section 3.4.2) in lower-case hexadecimal
// digits. Anybody who knows an HA1 can log in with it, so nobody but the owner may read the file. A
// token is 256 random bits as 64 hexadecimal digits, and SHA-256 the hash of these digits.
//
// ONVIF's login hashes the password together with a number of the client's, so the password itself
// has to be known. PASSWORD is 8 to 63 visible ASCII characters, which edgectl draws at random. It
// counts as long as the user of that name in rtsp.users has the HA1 of it: rtsp.users alone says
// who may log in. Releases before ONVIF do not read this file.
#pragma once

#include "config/config.h"

#include <stddef.h>

// The hashes of HTTP's and RTSP's Digest authentication (RFC 7616): of fields joined by ':', as
// hexadecimal digits. Algorithms are in the order in which they are offered.
enum digest_algorithm { DIGEST_SHA256, DIGEST_MD5, DIGEST_ALGORITHM_COUNT };

#define DIGEST_HEX_SIZE 65 // of the longest, with its NUL

// Digits of a hash: 64 or 32.
size_t digest_hex_length(enum digest_algorithm algorithm);
// H(fields[0] ":" fields[1] ":" …) of RFC 7616, section 3.4, in lower-case digits. Leaves nothing
// of the fields in memory.
void digest_hash(enum digest_algorithm algorithm, const char *const *fields, size_t count,
                 char ret_hex[DIGEST_HEX_SIZE]);

#define USERS_NAME_MAX 32
#define USERS_NAMES "1 to 32 of the characters A-Z a-z 0-9 . _ @ -"
#define USERS_MAX 256
#define USERS_FILE_BYTES_MAX (64 * 1024)
#define USERS_REALM "edged" // what passwords are hashed with, and clients are shown

#define USERS_PLAIN_MIN 8
#define USERS_PLAIN_MAX 63

enum users_kind { USERS_PASSWORDS, USERS_TOKENS, USERS_ONVIF };

// A user with a password, or a program with a token, which has no hash for MD5.
struct user {
    char name[USERS_NAME_MAX + 1];
    enum config_role role;
    char ha1[DIGEST_ALGORITHM_COUNT][DIGEST_HEX_SIZE];
    char plain[USERS_PLAIN_MAX +
               1]; // the password, in onvif.passwords; "": only its hashes are known
};

// In pages of their own, which no core shows.
struct users {
    size_t count, size_bytes;
    struct user list[];
};

// Whether a user may be called so.
bool users_name_is_valid(const char *name);
// A user with that valid name and the hashes of that password.
void user_init(struct user *user, const char *name, enum config_role role, const char *password);

// The same for a line of onvif.passwords.
void user_init_onvif(struct user *user, const char *name, const char *password);
// The same for a program with that token.
void user_init_token(struct user *user, const char *name, enum config_role role, const char *token);

// The key of the configuration that names the file: "rtsp.users". For USERS_ONVIF it is the name of
// the file alone.
const char *users_key(enum users_kind kind);

// Reads a file. Errors say where and what is allowed, and show nothing of what stands there:
// -EACCES (others may read or change the file), -EINVAL (no regular file, a line that is none, a
// name for the second time), -EFBIG (more than USERS_FILE_BYTES_MAX or USERS_MAX), -ENOMEM, else
// what the system says. The caller owns the result: users_free().
int users_read(enum users_kind kind, const char *path, struct error *error,
               struct users **ret_users);
// The same of text in memory, called `path` in errors.
int users_parse(enum users_kind kind, const char *text, size_t length, const char *path,
                struct error *error, struct users **ret_users);
// Writes the line of a user, with its newline.
void users_print(FILE *file, const struct user *user);
// Wipes them out of memory. Takes NULL.
void users_free(struct users *users);

// The file beside the configuration at `config_path` that is called as users_key(). The caller
// frees it; NULL: no memory, or `config_path` is NULL.
char *users_default_path(enum users_kind kind, const char *config_path);
// The file that a configuration has: what users_key() names, else the systemd credential of that
// name (LoadCredential=), else, unless it is rtsp.users, users_default_path() if it is there. The
// caller frees it; NULL: it has none.
char *users_path(enum users_kind kind, const struct config *config, const char *config_path);

static inline void cleanup_users(struct users **users)
{
    users_free(*users);
}
