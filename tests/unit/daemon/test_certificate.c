// The certificate: the user's own files and what is wrong with them, the generated one and how it
// is kept, and what a client may negotiate. OpenSSL makes the files and judges what is generated.
#include "tests/unit/unit.h"

#include "daemon/front/account/certificate.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <sys/stat.h>

// Runs a command in `folder` and returns what it printed, to be g_free()d.
static char *run_in(const char *folder, const char *command)
{
    g_auto(GStrv) arguments = NULL;
    char *output = NULL;
    int status;

    assert_true(g_shell_parse_argv(command, NULL, &arguments, NULL));
    assert_true(g_spawn_sync(folder, arguments, NULL,
                             G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, &output,
                             NULL, &status, NULL));
    if (status != 0)
        fail_msg("%s: status %d: %s", command, status, output);
    return output;
}

// NAME.crt and NAME.key in `folder`, self-signed, the key for its owner alone.
static void make_certificate(const char *folder, const char *name)
{
    g_autofree char *command = g_strdup_printf(
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "
        "/CN=%s -addext subjectAltName=IP:127.0.0.1 -keyout %s.key -out %s.crt",
        name, name, name);
    g_autofree char *key = g_strdup_printf("%s/%s.key", folder, name);

    g_free(run_in(folder, command));
    assert_int_equal(g_chmod(key, 0600), 0);
}

// The same, valid in the year 2020 alone.
static void make_expired_certificate(const char *folder, const char *name)
{
    g_autofree char *request = g_strdup_printf(
        "openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=%s -keyout "
        "%s.key -out %s.csr",
        name, name, name);
    g_autofree char *sign = g_strdup_printf(
        "openssl ca -batch -selfsign -notext -config ca.cnf -name ca -startdate 20200101000000Z "
        "-enddate 20210101000000Z -keyfile %s.key -in %s.csr -out %s.crt",
        name, name, name);
    g_autofree char *configuration = g_build_filename(folder, "ca.cnf", NULL);
    g_autofree char *index = g_build_filename(folder, "index", NULL);
    g_autofree char *serial = g_build_filename(folder, "serial", NULL);
    g_autofree char *key = g_strdup_printf("%s/%s.key", folder, name);

    assert_true(g_file_set_contents(index, "", 0, NULL));
    assert_true(g_file_set_contents(serial, "01\n", -1, NULL));
    assert_true(g_file_set_contents(
        configuration,
        "[ca]\ndatabase = index\nserial = serial\nnew_certs_dir = .\ndefault_md = "
        "sha256\npolicy = any\n[any]\ncommonName = supplied\n",
        -1, NULL));
    g_free(run_in(folder, request));
    g_free(run_in(folder, sign));
    assert_int_equal(g_chmod(key, 0600), 0);
}

static void remove_folder(const char *folder)
{
    g_autofree char *command = g_strdup_printf("rm -r %s", folder);

    g_free(run_in("/", command));
}

struct fixture {
    char *folder, *crt, *key; // the user's files
    char *generated;          // where the generated one is kept
};

static int setup(void **state)
{
    struct fixture *fixture = g_new0(struct fixture, 1);

    fixture->folder = g_dir_make_tmp("edged-XXXXXX", NULL);
    fixture->crt = g_build_filename(fixture->folder, "own.crt", NULL);
    fixture->key = g_build_filename(fixture->folder, "own.key", NULL);
    fixture->generated = g_build_filename(fixture->folder, "state/edged/tls.pem", NULL);
    g_autofree char *home = g_build_filename(fixture->folder, "state", NULL);
    g_setenv("XDG_STATE_HOME", home, true);
    g_unsetenv("STATE_DIRECTORY");
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    remove_folder(fixture->folder);
    g_free(fixture->generated);
    g_free(fixture->key);
    g_free(fixture->crt);
    g_free(fixture->folder);
    g_free(fixture);
    return 0;
}

static struct certificate *load(const char *path, const char *key_path)
{
    struct certificate *certificate = NULL;
    struct error error = {0};

    if (certificate_load(path, key_path, &error, &certificate) < 0)
        fail_msg("%s", error.text);
    return certificate;
}

static void assert_refused(const char *path, const char *key_path, int code, const char *says)
{
    struct certificate *certificate = NULL;
    struct error error = {0};

    assert_int_equal(certificate_load(path, key_path, &error, &certificate), code);
    assert_null(certificate);
    if (!strstr(error.text, says))
        fail_msg("\"%s\" does not say \"%s\"", error.text, says);
}

static void write_text(const char *path, const char *text, mode_t mode)
{
    assert_true(g_file_set_contents(path, text, -1, NULL));
    assert_int_equal(g_chmod(path, mode), 0);
}

TEST(test_own_files_have_the_fingerprint_that_openssl_prints, setup, teardown)
{
    struct fixture *fixture = *state;
    make_certificate(fixture->folder, "own");
    struct certificate *certificate = load(fixture->crt, fixture->key);
    g_autofree char *printed =
        run_in(fixture->folder, "openssl x509 -noout -fingerprint -sha256 -in own.crt");

    assert_int_equal(strlen(certificate_fingerprint(certificate)), 8 + 32 * 3 - 1);
    assert_non_null(strstr(printed, certificate_fingerprint(certificate) + strlen("SHA-256 ")));
    assert_null(certificate_fault(certificate, time(NULL)));
    assert_string_equal(certificate_fault(certificate, time(NULL) - 7200), "is not valid yet");
    assert_string_equal(certificate_path(certificate), fixture->crt);
    certificate_unref(certificate);
}

TEST(test_a_key_of_another_certificate_is_refused, setup, teardown)
{
    struct fixture *fixture = *state;
    make_certificate(fixture->folder, "own");
    make_certificate(fixture->folder, "other");
    g_autofree char *other = g_build_filename(fixture->folder, "other.key", NULL);

    assert_refused(fixture->crt, other, -EINVAL, "belong together");
}

TEST(test_a_key_that_others_may_read_is_refused_with_the_command_that_mends_it, setup, teardown)
{
    struct fixture *fixture = *state;
    make_certificate(fixture->folder, "own");

    g_chmod(fixture->key, 0644);
    assert_refused(fixture->crt, fixture->key, -EACCES, "chmod 640 ");
    g_chmod(fixture->key, 0660);
    assert_refused(fixture->crt, fixture->key, -EACCES, "0660");
    g_chmod(fixture->key, 0640);
    certificate_unref(load(fixture->crt, fixture->key));
}

TEST(test_files_that_are_missing_or_no_pem_are_refused_by_name, setup, teardown)
{
    struct fixture *fixture = *state;
    make_certificate(fixture->folder, "own");
    g_autofree char *bad = g_build_filename(fixture->folder, "bad", NULL);

    assert_refused("/nowhere/a.crt", fixture->key, -ENOENT, "/nowhere/a.crt");
    assert_refused(fixture->crt, "/nowhere/a.key", -ENOENT, "/nowhere/a.key");
    assert_refused(fixture->folder, fixture->key, -EINVAL, "no regular file");
    write_text(bad, "-----BEGIN CERTIFICATE-----\nnonsense\n", 0600);
    assert_refused(bad, fixture->key, -EINVAL, "has no certificate that can be read");
    assert_refused(fixture->crt, bad, -EINVAL, bad);
    write_text(bad, "", 0600);
    assert_refused(bad, fixture->key, -EINVAL, bad);
    assert_refused(fixture->crt, bad, -EINVAL, bad);
    assert_int_equal(truncate(bad, 1024 * 1024 + 1), 0);
    assert_refused(bad, fixture->key, -EFBIG, "allowed: up to 1048576");
    assert_refused(fixture->crt, "", -ENOENT, "");
}

TEST(test_a_key_with_a_passphrase_is_refused_in_so_many_words, setup, teardown)
{
    struct fixture *fixture = *state;
    make_certificate(fixture->folder, "own");
    g_free(run_in(fixture->folder,
                  "openssl pkcs8 -topk8 -in own.key -out locked.key -passout pass:secret"));
    g_autofree char *locked = g_build_filename(fixture->folder, "locked.key", NULL);

    g_chmod(locked, 0600);
    assert_refused(fixture->crt, locked, -EINVAL, "passphrase");
}

TEST(test_the_generated_one_is_kept_for_its_owner_alone, setup, teardown)
{
    struct fixture *fixture = *state;
    struct certificate *first = load("", ""), *second = load("", "");
    g_autofree char *parent = g_path_get_dirname(fixture->generated);
    struct stat status;

    assert_true(certificate_is_equal(first, second));
    assert_string_equal(certificate_fingerprint(first), certificate_fingerprint(second));
    assert_string_equal(certificate_path(first), fixture->generated);
    assert_int_equal(stat(fixture->generated, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    assert_int_equal(stat(parent, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
    certificate_unref(first);
    certificate_unref(second);
}

TEST(test_openssl_trusts_the_generated_one_for_the_machines_names, setup, teardown)
{
    struct fixture *fixture = *state;
    certificate_unref(load("", ""));
    g_autofree char *host = g_strdup(g_get_host_name());
    g_autofree char *verify =
        g_strdup_printf("openssl verify -purpose sslserver -verify_hostname %s -CAfile %s %s", host,
                        fixture->generated, fixture->generated);
    g_autofree char *text = NULL;
    g_autofree char *show = g_strdup_printf("openssl x509 -noout -text -in %s", fixture->generated);

    g_free(run_in(fixture->folder, verify));
    text = run_in(fixture->folder, show);
    assert_non_null(strstr(text, "DNS:localhost"));
    assert_non_null(strstr(text, "IP Address:127.0.0.1"));
    assert_non_null(strstr(text, "ASN1 OID: prime256v1"));
    assert_non_null(strstr(text, "CA:FALSE"));
    assert_non_null(strstr(text, "TLS Web Server Authentication"));
}

TEST(test_the_generated_one_lasts_for_ten_years, setup, teardown)
{
    struct certificate *certificate = load("", "");
    int64_t days = (certificate_expires_s(certificate) - time(NULL)) / (24 * 3600);

    (void)state;
    assert_in_range(days, 3649, 3650);
    certificate_unref(certificate);
}

// The clock of the program, which stands before libc's.
static int64_t ahead_s;

time_t time(time_t *ret_time)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    if (ret_time)
        *ret_time = now.tv_sec + ahead_s;
    return now.tv_sec + ahead_s;
}

// By 20 years, then by 40, and back.
TEST(test_the_generated_one_comes_back_when_a_clock_that_was_ahead_is_right, setup, teardown)
{
    struct certificate *shown[6];

    for (size_t i = 0; i < ARRAY_LENGTH(shown); i++) {
        ahead_s = (int64_t[]){0, 20, 0, 40, 20, 0}[i] * 365 * 24 * 3600;
        shown[i] = load("", "");
        assert_null(certificate_fault(shown[i], time(NULL)));
    }
    ahead_s = 0;
    assert_false(certificate_is_equal(shown[0], shown[1]));
    assert_true(certificate_is_equal(shown[0], shown[2]));
    assert_false(certificate_is_equal(shown[1], shown[3]));
    assert_true(certificate_is_equal(shown[1], shown[4]));
    assert_true(certificate_is_equal(shown[0], shown[5]));
    for (size_t i = 0; i < ARRAY_LENGTH(shown); i++)
        certificate_unref(shown[i]);
}

// As often as one likes, in a few files.
TEST(test_a_clock_that_goes_on_being_wrong_leaves_four_files, setup, teardown)
{
    struct fixture *fixture = *state;
    g_autofree char *folder = g_path_get_dirname(fixture->generated);
    struct certificate *first = load("", ""), *last;
    unsigned count = 0;
    GDir *files;

    for (unsigned i = 1; i < 10; i++) {
        ahead_s = (int64_t)i * 20 * 365 * 24 * 3600;
        certificate_unref(load("", ""));
    }
    ahead_s = 0;
    last = load("", "");
    assert_true(certificate_is_equal(first, last));
    files = g_dir_open(folder, 0, NULL);
    while (g_dir_read_name(files))
        count++;
    g_dir_close(files);
    assert_int_equal(count, 4);
    certificate_unref(first);
    certificate_unref(last);
}

TEST(test_a_generated_one_that_is_damaged_or_expired_is_made_anew, setup, teardown)
{
    struct fixture *fixture = *state;
    struct certificate *first = load("", ""), *second, *third;
    g_autofree char *text = NULL, *key = NULL, *both = NULL;

    write_text(fixture->generated, "nothing of use", 0600);
    second = load("", "");
    assert_false(certificate_is_equal(first, second));

    make_expired_certificate(fixture->folder, "own");
    assert_true(g_file_get_contents(fixture->crt, &text, NULL, NULL));
    assert_true(g_file_get_contents(fixture->key, &key, NULL, NULL));
    both = g_strconcat(key, text, NULL);
    write_text(fixture->generated, both, 0600);
    third = load("", "");
    assert_null(certificate_fault(third, time(NULL)));
    certificate_unref(first);
    certificate_unref(second);
    certificate_unref(third);
}

TEST(test_a_generated_one_that_others_could_read_is_no_secret_any_more, setup, teardown)
{
    struct fixture *fixture = *state;

    certificate_unref(load("", ""));
    g_chmod(fixture->generated, 0644);
    assert_refused("", "", -EACCES, "chmod");
}

TEST(test_the_state_directory_of_systemd_comes_first, setup, teardown)
{
    struct fixture *fixture = *state;
    g_autofree char *directories = g_strdup_printf("%s:/nowhere", fixture->folder);
    char *path = NULL;

    g_setenv("STATE_DIRECTORY", directories, true);
    assert_int_equal(certificate_store_path(NULL, &path), 0);
    assert_true(g_str_has_prefix(path, fixture->folder));
    assert_true(g_str_has_suffix(path, "/tls.pem"));
    assert_int_equal(strlen(path), strlen(fixture->folder) + strlen("/tls.pem"));
    free(path);
}

RUN_TESTS(NULL, NULL)
