// Certificates made, and looked at, by OpenSSL: an implementation that is not ours.
#pragma once

#include "tests/unit/unit.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <sys/stat.h>

// Runs a command in `folder` and returns what it printed, to be g_free()d.
static inline char *run_in(const char *folder, const char *command)
{
    g_auto(GStrv) arguments = NULL;
    char *output = NULL;
    int status;

    assert_true(g_shell_parse_argv(command, NULL, &arguments, NULL));
    assert_true(g_spawn_sync(folder, arguments, NULL,
                             G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, &output,
                             NULL, &status, NULL));
    if (status != 0) {
        fail_msg("%s: status %d: %s", command, status, output);
    }
    return output;
}

// NAME.crt and NAME.key in `folder`, self-signed, the key for its owner alone.
static inline void make_certificate(const char *folder, const char *name)
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
static inline void make_expired_certificate(const char *folder, const char *name)
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

static inline void remove_folder(const char *folder)
{
    g_autofree char *command = g_strdup_printf("rm -r %s", folder);

    g_free(run_in("/", command));
}
