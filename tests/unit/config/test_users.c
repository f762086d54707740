// The file of users: what may stand in it, and what each mistake is told.
#include "config/users.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <glib.h>
#include <string.h>
#include <sys/stat.h>

// Of RFC 7616's Mufasa in the realm edged, by md5sum and sha256sum of "Mufasa:edged:Circle of
// Life".
#define MD5 "aa758e94dea77a06cdabadfd66376f48"
#define SHA256 "bc92db65265c4ce9f70d78f3e6b46565691a751d6e13fc27334507249c158bca"
#define MUFASA "Mufasa:viewer:" MD5 ":" SHA256
#define LINES "allowed: lines NAME:ROLE:HA1-MD5:HA1-SHA-256, as `edgectl passwd` writes them"

static void refuse_kind(enum users_kind kind, const char *text, size_t length, int code,
                        const char *expected)
{
    struct users *users = NULL;
    struct error error;

    assert_int_equal(users_parse(kind, text, length, "u", &error, &users), code);
    assert_string_equal(error.text, expected);
    assert_null(users);
}

static void refuse(const char *text, size_t length, int code, const char *expected)
{
    refuse_kind(USERS_PASSWORDS, text, length, code, expected);
}

TEST(test_a_file_has_a_line_a_user_and_comments)
{
    static const char text[] = "# comment: a:b:c:d\n\n  \t\n" MUFASA "\r\n"
                               "\t a.B-c_9@x:admin:" MD5 ":" SHA256 " \n#x\n"
                               "o:operator:" MD5 ":" SHA256;
    struct users *users = NULL;

    assert_int_equal(users_parse(USERS_PASSWORDS, text, strlen(text), "u", NULL, &users), 0);
    assert_int_equal(users->count, 3);
    assert_string_equal(users->list[0].name, "Mufasa");
    assert_int_equal(users->list[0].role, CONFIG_ROLE_VIEWER);
    assert_string_equal(users->list[0].ha1[DIGEST_MD5], MD5);
    assert_string_equal(users->list[0].ha1[DIGEST_SHA256], SHA256);
    assert_string_equal(users->list[1].name, "a.B-c_9@x");
    assert_int_equal(users->list[1].role, CONFIG_ROLE_ADMIN);
    assert_int_equal(users->list[2].role, CONFIG_ROLE_OPERATOR);
    users_free(users);
}

TEST(test_a_user_is_printed_with_the_hashes_of_the_password)
{
    _cleanup_(cleanup_free) char *text = NULL;
    struct user user;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    user_init(&user, "Mufasa", CONFIG_ROLE_VIEWER, "Circle of Life");
    assert_non_null(file);
    users_print(file, &user);
    fclose(file);
    assert_string_equal(text, MUFASA "\n");
}

// The hashes are those of Mufasa, so that a password can be compared with the user's.
TEST(test_a_password_of_onvif_is_kept_with_its_hashes)
{
    static const char text[] = "# comment\nMufasa:Circle-of:Life\nb:12345678\n";
    struct users *users = NULL;
    struct user user;

    assert_int_equal(users_parse(USERS_ONVIF, text, strlen(text), "o", NULL, &users), 0);
    assert_int_equal(users->count, 2);
    assert_string_equal(users->list[0].plain, "Circle-of:Life");
    assert_int_equal(users->list[0].role, CONFIG_ROLE_VIEWER);
    user_init(&user, "Mufasa", CONFIG_ROLE_ADMIN, "Circle-of:Life");
    assert_memory_equal(users->list[0].ha1, user.ha1, sizeof user.ha1);
    users_free(users);
}

TEST(test_each_mistake_says_where_and_what_is_allowed_and_nothing_of_the_line)
{
    static const struct {
        const char *text, *error;
    } mistakes[] = {
        {"vera\n", "u:1: expected four fields, " LINES},
        {"# x\nvera:viewer:" MD5 "\n", "u:2: expected four fields, " LINES},
        {MUFASA ":\n", "u:1: expected four fields, " LINES},
        {":viewer:" MD5 ":" SHA256,
         "u:1: got another name than is allowed: 1 to 32 of the characters A-Z a-z 0-9 . _ @ -"},
        {"123456789012345678901234567890123:viewer:" MD5 ":" SHA256,
         "u:1: got another name than is allowed: 1 to 32 of the characters A-Z a-z 0-9 . _ @ -"},
        {"v\"a:viewer:" MD5 ":" SHA256,
         "u:1: got another name than is allowed: 1 to 32 of the characters A-Z a-z 0-9 . _ @ -"},
        {"v:Viewer:" MD5 ":" SHA256,
         "u:1: got another role than is allowed: viewer, operator, admin"},
        {"v::" MD5 ":" SHA256, "u:1: got another role than is allowed: viewer, operator, admin"},
        {"v:viewer:x" MD5 ":" SHA256,
         "u:1: got another HA1-MD5 than is allowed: 32 of the digits 0-9 a-f"},
        {"v:viewer:" SHA256 ":" MD5,
         "u:1: got another HA1-MD5 than is allowed: 32 of the digits 0-9 a-f"},
        {"v:viewer:" MD5 ":" MD5,
         "u:1: got another HA1-SHA-256 than is allowed: 64 of the digits 0-9 a-f"},
        {"v:viewer:" MD5 ":secret\n",
         "u:1: got another HA1-SHA-256 than is allowed: 64 of the digits 0-9 a-f"},
        {MUFASA "\nv:viewer:" MD5 ":" SHA256 "\n" MUFASA "\n",
         "u:3: got a name for the second time, allowed: a line a user"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(mistakes); i++)
        refuse(mistakes[i].text, strlen(mistakes[i].text), -EINVAL, mistakes[i].error);
    refuse("#\0#", 3, -EINVAL, "u: got a byte 0, " LINES);
}

TEST(test_mistakes_in_passwords_of_onvif_are_told_without_the_password)
{
    static const struct {
        const char *text, *error;
    } mistakes[] = {
        {"secretpassword\n", "u:1: expected two fields, allowed: lines NAME:PASSWORD, as `edgectl "
                             "passwd --onvif` writes them"},
        {"v a:secretpassword",
         "u:1: got another name than is allowed: 1 to 32 of the characters A-Z a-z 0-9 . _ @ -"},
        {"v:secret7", "u:1: got a password of another length than is allowed: 8 to 63 characters"},
        {"v:secret password",
         "u:1: got another character than is allowed in a password: visible ones of ASCII"},
        {"v:secretpassword\nv:secretpassword",
         "u:2: got a name for the second time, allowed: a line a user"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(mistakes); i++) {
        refuse_kind(USERS_ONVIF, mistakes[i].text, strlen(mistakes[i].text), -EINVAL,
                    mistakes[i].error);
    }
}

TEST(test_there_are_at_most_256_users)
{
    GString *text = g_string_new(NULL);
    struct users *users = NULL;

    for (unsigned i = 0; i < 256; i++)
        g_string_append_printf(text, "u%u:viewer:" MD5 ":" SHA256 "\n", i);
    assert_int_equal(users_parse(USERS_PASSWORDS, text->str, text->len, "u", NULL, &users), 0);
    assert_int_equal(users->count, 256);
    users_free(users);
    g_string_append(text, MUFASA);
    refuse(text->str, text->len, -EINVAL, "u:257: got more users than are allowed: 256");
    g_string_free(text, TRUE);
}

struct place {
    char folder[32], path[64];
};

static void make_place(struct place *place)
{
    snprintf(place->folder, sizeof place->folder, "/tmp/edged-users-XXXXXX");
    assert_non_null(mkdtemp(place->folder));
    snprintf(place->path, sizeof place->path, "%s/rtsp.users", place->folder);
}

static void write_file(const struct place *place, const char *text, size_t length, mode_t mode)
{
    FILE *file = fopen(place->path, "w");

    assert_non_null(file);
    fwrite(text, 1, length, file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(place->path, mode), 0);
}

static void drop_place(const struct place *place)
{
    unlink(place->path);
    assert_int_equal(rmdir(place->folder), 0);
}

static void read_file(const struct place *place, int code, const char *format)
{
    g_autofree char *expected = NULL;
    struct users *users = NULL;
    struct error error = {0};

    assert_int_equal(users_read(USERS_PASSWORDS, place->path, &error, &users), code);
    if (code < 0) {
        g_auto(GStrv) parts = g_strsplit(format, "PATH", -1);

        expected = g_strjoinv(place->path, parts);
        assert_string_equal(error.text, expected);
    } else {
        assert_string_equal(users->list[0].name, "Mufasa");
    }
    users_free(users);
}

TEST(test_a_file_is_for_its_owner_alone)
{
    static const mode_t modes[] = {0640, 0604, 0620, 0601, 0666};
    struct place place;

    make_place(&place);
    write_file(&place, MUFASA, strlen(MUFASA), 0600);
    read_file(&place, 0, NULL);
    assert_int_equal(chmod(place.path, 0400), 0);
    read_file(&place, 0, NULL);
    for (size_t i = 0; i < ARRAY_LENGTH(modes); i++) {
        g_autofree char *expected = g_strdup_printf(
            "\"PATH\" has mode %04o, allowed: none that lets others read or change it; `chmod 600 "
            "PATH`",
            modes[i]);

        assert_int_equal(chmod(place.path, modes[i]), 0);
        read_file(&place, -EACCES, expected);
    }
    drop_place(&place);
}

TEST(test_what_is_no_such_file_says_why)
{
    struct place place;
    char *large = calloc(1, 64 * 1024 + 2);

    make_place(&place);
    read_file(&place, -ENOENT, "cannot read \"PATH\": No such file or directory");
    assert_int_equal(mkfifo(place.path, 0600), 0); // nobody writes, and nothing waits
    read_file(&place, -EINVAL, "\"PATH\" is no regular file");
    unlink(place.path);
    assert_non_null(large);
    memset(large, '\n', 64 * 1024 + 1);
    memcpy(large, MUFASA, strlen(MUFASA));
    write_file(&place, large, 64 * 1024, 0600);
    read_file(&place, 0, NULL);
    write_file(&place, large, 64 * 1024 + 1, 0600);
    read_file(&place, -EFBIG, "\"PATH\" has 65537 bytes, allowed: up to 65536");
    write_file(&place, "x", 1, 0600);
    read_file(&place, -EINVAL, "PATH:1: expected four fields, " LINES);
    free(large);
    drop_place(&place);
}

TEST(test_the_systemd_credential_stands_in_for_a_file_that_is_not_named)
{
    struct config config = {0};
    struct place place;

    config.rtsp.users = (char[]){""};
    make_place(&place);
    setenv("CREDENTIALS_DIRECTORY", place.folder, 1);
    assert_null(users_path(USERS_PASSWORDS, &config, NULL));
    write_file(&place, MUFASA, strlen(MUFASA), 0440); // as an access list shows
    _cleanup_(cleanup_free) char *credential = users_path(USERS_PASSWORDS, &config, NULL);
    assert_string_equal(credential, place.path);
    read_file(&place, 0, NULL);
    config.rtsp.users = (char[]){"/etc/edged/rtsp.users"};
    _cleanup_(cleanup_free) char *named = users_path(USERS_PASSWORDS, &config, NULL);
    assert_string_equal(named, "/etc/edged/rtsp.users");
    unsetenv("CREDENTIALS_DIRECTORY");
    drop_place(&place);
}

RUN_TESTS(NULL, NULL)
