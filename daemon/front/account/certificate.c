#include "daemon/front/account/certificate.h"

#include "config/credentials.h"
#include "daemon/common/log.h"
#include "daemon/common/replace_file.h"
#include "daemon/common/service_files.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <gnutls/crypto.h>
#include <gnutls/x509.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_MAX_BYTES (1024 * 1024)
#define DIGEST_BYTES 32u // SHA-256
#define GENERATED_KEPT 4u
// Bounds a handshake in memory; a client has no certificate to send.
#define HANDSHAKE_MAX_BYTES 16384u

// Each exclusion has a reason. TLS 1.0 and 1.1 are deprecated (RFC 8996). Key exchange by RSA tells
// old recordings to whoever gets the key. CBC has a history of padding oracles. Finite-field groups
// cost milliseconds of the one loop that serves all viewers; curves cost a fraction of one.
// AES-128-GCM comes first: a Jetson's processor has instructions for it.
const char certificate_priority[] =
    "SECURE128:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-KX-ALL:+ECDHE-ECDSA:+ECDHE-RSA:-CIPHER-ALL:"
    "+AES-128-GCM:+CHACHA20-POLY1305:+AES-256-GCM:-GROUP-ALL:+GROUP-X25519:+GROUP-SECP256R1:"
    "+GROUP-SECP384R1:%SERVER_PRECEDENCE";

struct certificate {
    unsigned references;
    char *path; // owned
    struct private_file text, key_text;
    gnutls_certificate_credentials_t credentials; // owned
    gnutls_priority_t priority;                   // owned
    int64_t begins_s, expires_s;
    char fingerprint[sizeof "SHA-256 " + 3 * DIGEST_BYTES];
};

// A key's rule is that for the passwords of cameras: a group may read, as Debian's ssl-cert does.
static int read_pem(const char *path, bool is_secret, struct error *error,
                    struct private_file *ret_text)
{
    const struct private_file_rules rules = {is_secret ? S_IWGRP | S_IRWXO : 0, 0640, "a key",
                                             FILE_MAX_BYTES};

    return private_file_read(path, &rules, error, ret_text);
}

static int explain(int failure, const char *path, const char *key_path, struct error *error)
{
    switch (failure) {
    case GNUTLS_E_MEMORY_ERROR:
        return error_set(error, -ENOMEM, "out of memory");
    case GNUTLS_E_CERTIFICATE_KEY_MISMATCH:
        return error_set(error, -EINVAL,
                         "the key in \"%s\" is not that of the certificate in \"%s\", allowed: two "
                         "that belong together, the server's own certificate first",
                         key_path, path);
    case GNUTLS_E_DECRYPTION_FAILED:
        return error_set(error, -EINVAL,
                         "the key in \"%s\" has a passphrase, allowed: one without, for nobody is "
                         "there to enter it; `openssl pkey -in %s -out FILE`",
                         key_path, key_path);
    default:
        return error_set(error, -EINVAL, "\"%s\" and \"%s\" cannot be used: %s; allowed: PEM", path,
                         key_path, gnutls_strerror(failure));
    }
}

// Checks the certificate without its key, so that the message names the right one of two files.
static int check_certificate(const struct certificate *certificate, struct error *error)
{
    gnutls_datum_t text = {(unsigned char *)certificate->text.text,
                           (unsigned)certificate->text.length};
    gnutls_x509_crt_t crt;
    int failure = gnutls_x509_crt_init(&crt);

    if (failure < 0)
        return error_set(error, -ENOMEM, "out of memory");
    failure = gnutls_x509_crt_import(crt, &text, GNUTLS_X509_FMT_PEM);
    gnutls_x509_crt_deinit(crt);
    return failure < 0 ? error_set(error, -EINVAL,
                                   "\"%s\" has no certificate that can be read: %s; allowed: PEM",
                                   certificate->path, gnutls_strerror(failure))
                       : 0;
}

static void describe(struct certificate *certificate, const gnutls_datum_t *der)
{
    unsigned char digest[DIGEST_BYTES];
    size_t size = sizeof digest;
    int at = snprintf(certificate->fingerprint, sizeof certificate->fingerprint, "SHA-256 ");

    if (gnutls_fingerprint(GNUTLS_DIG_SHA256, der, digest, &size) < 0)
        return;
    for (size_t i = 0; i < size; i++) {
        at += snprintf(certificate->fingerprint + at, sizeof certificate->fingerprint - (size_t)at,
                       "%s%02X", i ? ":" : "", digest[i]);
    }
}

// Reads the fingerprint and the dates of the first certificate of the chain.
static int read_leaf(struct certificate *certificate)
{
    gnutls_x509_crt_t crt;
    gnutls_datum_t der;
    int failure = gnutls_certificate_get_crt_raw(certificate->credentials, 0, 0, &der);

    failure = failure < 0 ? failure : gnutls_x509_crt_init(&crt);
    if (failure < 0)
        return failure;
    failure = gnutls_x509_crt_import(crt, &der, GNUTLS_X509_FMT_DER);
    if (failure == 0) {
        certificate->begins_s = gnutls_x509_crt_get_activation_time(crt);
        certificate->expires_s = gnutls_x509_crt_get_expiration_time(crt);
        describe(certificate, &der);
    }
    gnutls_x509_crt_deinit(crt);
    return failure;
}

static int set_up(struct certificate *certificate, const char *key_path, struct error *error)
{
    gnutls_datum_t text = {(unsigned char *)certificate->text.text,
                           (unsigned)certificate->text.length};
    gnutls_datum_t key = {(unsigned char *)certificate->key_text.text,
                          (unsigned)certificate->key_text.length};
    int r = check_certificate(certificate, error);
    int failure;

    if (r < 0)
        return r;
    failure = gnutls_certificate_allocate_credentials(&certificate->credentials);
    failure = failure < 0
                  ? failure
                  : gnutls_certificate_set_x509_key_mem2(certificate->credentials, &text, &key,
                                                         GNUTLS_X509_FMT_PEM, NULL, 0);
    failure = failure < 0 ? failure : read_leaf(certificate);
    if (failure < 0)
        return explain(failure, certificate->path, key_path, error);
    failure = gnutls_priority_init(&certificate->priority, certificate_priority, NULL);
    return failure < 0 ? error_set(error, -EIO, "GnuTLS does not know \"%s\": %s",
                                   certificate_priority, gnutls_strerror(failure))
                       : 0;
}

static int load_files(const char *path, const char *key_path, struct error *error,
                      struct certificate **ret_certificate)
{
    struct certificate *certificate = calloc(1, sizeof *certificate);
    int r;

    if (!certificate || !(certificate->path = strdup(path))) {
        free(certificate);
        return error_set(error, -ENOMEM, "out of memory");
    }
    certificate->references = 1;
    r = read_pem(path, strcmp(path, key_path) == 0, error, &certificate->text);
    r = r < 0 ? r : read_pem(key_path, true, error, &certificate->key_text);
    r = r < 0 ? r : set_up(certificate, key_path, error);
    if (r < 0) {
        certificate_unref(certificate);
        return r;
    }
    *ret_certificate = certificate;
    return 0;
}

// Loads the generated certificate in `path`. 1: it is good; 0: it has expired, in *ret_certificate;
// -ENOENT: another one is to be made there, for it is missing or damaged, and nobody may be near to
// repair it.
static int load_kept(const char *path, struct error *error, struct certificate **ret_certificate)
{
    int r = load_files(path, path, error, ret_certificate);

    if (r == -EINVAL) {
        log_warning("%s, making another", error ? error->text : path);
        return -ENOENT;
    }
    return r < 0 ? r : certificate_expires_s(*ret_certificate) >= time(NULL);
}

// A clock may be years ahead for a while, so one that has expired is kept, and is shown again once
// the clock is right: of up to GENERATED_KEPT files, tls.pem, tls-2.pem and so on, the first that
// has not expired.
static int find_generated(struct error *error, struct certificate **ret_certificate,
                          char **ret_missing)
{
    _cleanup_(cleanup_free) char *first = NULL;
    int r = certificate_store_path(error, &first);

    for (unsigned i = 1; r >= 0; i++) {
        _cleanup_(cleanup_free) char *path = NULL;
        int length = asprintf(&path, i > 1 ? "%.*s-%u.pem" : "%.*s.pem",
                              (int)(strlen(first) - strlen(".pem")), first, i);

        if (length < 0) {
            path = NULL;
            return error_set(error, -ENOMEM, "out of memory");
        }
        r = load_kept(path, error, ret_certificate);
        if (r > 0)
            return 0;
        if (r == 0) {
            log_warning("the certificate in %s has expired by this machine's clock, %s", path,
                        i < GENERATED_KEPT ? "keeping it and taking another" : "making another");
            certificate_unref(*ret_certificate);
            *ret_certificate = NULL;
        }
        if (r == -ENOENT || (r == 0 && i == GENERATED_KEPT)) {
            *ret_missing = TAKE(path);
            return -ENODATA;
        }
    }
    return r;
}

int certificate_find(const char *path, const char *key_path, struct error *error,
                     struct certificate **ret_certificate, char **ret_missing)
{
    return *path || *key_path ? load_files(path, key_path, error, ret_certificate)
                              : find_generated(error, ret_certificate, ret_missing);
}

int certificate_load(const char *path, const char *key_path, struct error *error,
                     struct certificate **ret_certificate)
{
    _cleanup_(cleanup_free) char *missing = NULL;
    int r = certificate_find(path, key_path, error, ret_certificate, &missing);

    if (r != -ENODATA)
        return r;
    r = certificate_store_generate(missing, error);
    return r < 0 ? r : load_files(missing, missing, error, ret_certificate);
}

struct certificate *certificate_ref(struct certificate *certificate)
{
    certificate->references++;
    return certificate;
}

void certificate_unref(struct certificate *certificate)
{
    if (!certificate || --certificate->references > 0)
        return;
    if (certificate->credentials)
        gnutls_certificate_free_credentials(certificate->credentials);
    if (certificate->priority)
        gnutls_priority_deinit(certificate->priority);
    private_file_finish(&certificate->text);
    private_file_finish(&certificate->key_text);
    free(certificate->path);
    free(certificate);
}

const char *certificate_path(const struct certificate *certificate)
{
    return certificate->path;
}

const char *certificate_fingerprint(const struct certificate *certificate)
{
    return certificate->fingerprint;
}

int64_t certificate_expires_s(const struct certificate *certificate)
{
    return certificate->expires_s;
}

const char *certificate_fault(const struct certificate *certificate, int64_t now_s)
{
    if (now_s < certificate->begins_s)
        return "is not valid yet";
    return now_s > certificate->expires_s ? "has expired" : NULL;
}

bool certificate_names(const struct certificate *certificate, const char *host)
{
    const gnutls_datum_t pem = {(unsigned char *)certificate->text.text,
                                (unsigned)certificate->text.length};
    gnutls_x509_crt_t crt;
    bool does = false;

    if (gnutls_x509_crt_init(&crt) == 0) {
        does = gnutls_x509_crt_import(crt, &pem, GNUTLS_X509_FMT_PEM) == 0 &&
               gnutls_x509_crt_check_hostname(crt, host) != 0;
        gnutls_x509_crt_deinit(crt);
    }
    return does;
}

static bool texts_are_equal(const struct private_file *a, const struct private_file *b)
{
    return a->length == b->length && memcmp(a->text, b->text, a->length) == 0;
}

bool certificate_is_equal(const struct certificate *a, const struct certificate *b)
{
    return texts_are_equal(&a->text, &b->text) && texts_are_equal(&a->key_text, &b->key_text);
}

const char *certificate_text(const struct certificate *certificate)
{
    return certificate->text.text;
}

const char *certificate_key_text(const struct certificate *certificate)
{
    return certificate->key_text.text;
}

int certificate_show(const struct certificate *certificate, gnutls_session_t session)
{
    return gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, certificate->credentials);
}

int certificate_begin_session(struct certificate *certificate, gnutls_session_t *ret_session)
{
    gnutls_session_t session;
    int failure = gnutls_init(&session, GNUTLS_SERVER | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL);

    if (failure < 0)
        return failure == GNUTLS_E_MEMORY_ERROR ? -ENOMEM : -EIO;
    failure = gnutls_priority_set(session, certificate->priority);
    failure = failure < 0 ? failure : certificate_show(certificate, session);
    if (failure < 0) {
        gnutls_deinit(session);
        return failure == GNUTLS_E_MEMORY_ERROR ? -ENOMEM : -EIO;
    }
    gnutls_certificate_server_set_request(session, GNUTLS_CERT_IGNORE);
    gnutls_handshake_set_max_packet_length(session, HANDSHAKE_MAX_BYTES);
    *ret_session = session;
    return 0;
}

#define FILE_NAME "tls.pem"
#define YEARS 10
#define YEAR_S (365 * 24 * 3600)
// 2026-01-01. A board without a battery for its clock may believe that it is 1970: a certificate is
// valid from that day on, and never ends before ten years after it.
#define BEGINS_S INT64_C(1767225600)
#define SERIAL_BYTES 16
#define ADDRESSES_MAX 16u // of the machine; containers can make hundreds

int certificate_store_path(struct error *error, char **ret_path)
{
    int r = state_path(FILE_NAME, ret_path);

    if (r == -ENOENT) {
        return error_set(
            error, r,
            "no place for a generated certificate: set STATE_DIRECTORY, XDG_STATE_HOME "
            "or HOME, or rtsp.certificate and rtsp.key");
    }
    return r < 0 ? error_set(error, r, "out of memory") : 0;
}

static int add_name(gnutls_x509_crt_t crt, const char *name)
{
    return gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_DNSNAME, name,
                                                (unsigned)strlen(name), GNUTLS_FSAN_APPEND);
}

// Loopback addresses and those of a link alone are of no use to others.
static int add_address(gnutls_x509_crt_t crt, const struct sockaddr *address)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;

    if (address->sa_family == AF_INET) {
        return gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_IPADDRESS, &v4->sin_addr,
                                                    sizeof v4->sin_addr, GNUTLS_FSAN_APPEND);
    }
    if (address->sa_family == AF_INET6 && !IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr)) {
        return gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_IPADDRESS, &v6->sin6_addr,
                                                    sizeof v6->sin6_addr, GNUTLS_FSAN_APPEND);
    }
    return 0;
}

static int add_addresses(gnutls_x509_crt_t crt)
{
    const struct sockaddr_in loopback = {.sin_family = AF_INET,
                                         .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct sockaddr_in6 loopback6 = {.sin6_family = AF_INET6,
                                           .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    struct ifaddrs *list = NULL;
    unsigned count = 0;
    int failure = add_address(crt, (const struct sockaddr *)&loopback);

    failure = failure < 0 ? failure : add_address(crt, (const struct sockaddr *)&loopback6);
    if (getifaddrs(&list) < 0) {
        return failure; // then the certificate is for its names alone
    }
    for (const struct ifaddrs *at = list; at && failure >= 0 && count < ADDRESSES_MAX;
         at = at->ifa_next) {
        if (at->ifa_addr && !(at->ifa_flags & IFF_LOOPBACK)) {
            failure = add_address(crt, at->ifa_addr);
            count++;
        }
    }
    freeifaddrs(list);
    return failure;
}

// A name without a dot is also reached as NAME.local, by multicast DNS.
static int add_names(gnutls_x509_crt_t crt)
{
    char host[HOST_NAME_MAX + 1] = "", local[sizeof host + sizeof ".local"];
    int failure = add_name(crt, "localhost");

    if (gethostname(host, sizeof host - 1) < 0 || !*host)
        snprintf(host, sizeof host, "edged");
    failure = failure < 0 ? failure
                          : gnutls_x509_crt_set_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0, host,
                                                          (unsigned)MIN(strlen(host), 64));
    failure = failure < 0 ? failure : add_name(crt, host);
    if (failure >= 0 && !strchr(host, '.')) {
        snprintf(local, sizeof local, "%s.local", host);
        failure = add_name(crt, local);
    }
    return failure;
}

// It has no key usage: without keyCertSign in it an OpenSSL like Ubuntu 20.04's, 1.1.1f, does not
// take the certificate for its own issuer, and with it others refuse what is no authority.
static int describe_server(gnutls_x509_crt_t crt, gnutls_x509_privkey_t key)
{
    unsigned char serial[SERIAL_BYTES], id[20];
    size_t id_size = sizeof id;
    int64_t now_s = MAX(time(NULL), BEGINS_S);
    int failure = gnutls_rnd(GNUTLS_RND_NONCE, serial, sizeof serial);

    serial[0] = (serial[0] & 0x7f) | 0x40; // positive, and as long as it is (RFC 5280, 4.1.2.2)
    failure = failure < 0 ? failure : gnutls_x509_crt_set_version(crt, 3);
    failure = failure < 0 ? failure : gnutls_x509_crt_set_serial(crt, serial, sizeof serial);
    failure = failure < 0 ? failure : gnutls_x509_crt_set_activation_time(crt, BEGINS_S);
    failure = failure < 0
                  ? failure
                  : gnutls_x509_crt_set_expiration_time(crt, now_s + (int64_t)YEARS * YEAR_S);
    failure = failure < 0 ? failure : gnutls_x509_crt_set_key(crt, key);
    failure = failure < 0 ? failure : gnutls_x509_crt_set_basic_constraints(crt, 0, -1);
    failure = failure < 0 ? failure
                          : gnutls_x509_crt_set_key_purpose_oid(crt, GNUTLS_KP_TLS_WWW_SERVER, 0);
    failure = failure < 0 ? failure : gnutls_x509_crt_get_key_id(crt, 0, id, &id_size);
    return failure < 0 ? failure : gnutls_x509_crt_set_subject_key_id(crt, id, id_size);
}

static int sign(gnutls_x509_crt_t crt, gnutls_x509_privkey_t key, gnutls_datum_t *ret_key_text,
                gnutls_datum_t *ret_text)
{
    int failure = gnutls_x509_privkey_generate(key, GNUTLS_PK_EC,
                                               GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);

    failure = failure < 0 ? failure : describe_server(crt, key);
    failure = failure < 0 ? failure : add_names(crt);
    failure = failure < 0 ? failure : add_addresses(crt);
    failure = failure < 0 ? failure : gnutls_x509_crt_sign2(crt, crt, key, GNUTLS_DIG_SHA256, 0);
    failure =
        failure < 0 ? failure : gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, ret_key_text);
    return failure < 0 ? failure : gnutls_x509_crt_export2(crt, GNUTLS_X509_FMT_PEM, ret_text);
}

static int store(const char *path, const gnutls_datum_t *key_text, const gnutls_datum_t *text,
                 struct error *error)
{
    const struct stat like = {.st_mode = 0600, .st_uid = geteuid(), .st_gid = getegid()};
    g_autofree char *parent = g_path_get_dirname(path);
    size_t length = (size_t)key_text->size + text->size;
    char *content = malloc(length);
    int r;

    if (!content)
        return error_set(error, -ENOMEM, "out of memory");
    memcpy(content, key_text->data, key_text->size);
    memcpy(content + key_text->size, text->data, text->size);
    if (g_mkdir_with_parents(parent, 0700) < 0) {
        r = error_set(error, -errno, "cannot make the folder %s of the certificate: %s", parent,
                      strerror(errno));
    } else {
        r = replace_file(path, content, length, &like, error);
    }
    explicit_bzero(content, length);
    free(content);
    return r;
}

int certificate_store_generate(const char *path, struct error *error)
{
    gnutls_datum_t key_text = {0}, text = {0};
    gnutls_x509_privkey_t key = NULL;
    gnutls_x509_crt_t crt = NULL;
    int failure = gnutls_x509_privkey_init(&key), r;

    failure = failure < 0 ? failure : gnutls_x509_crt_init(&crt);
    failure = failure < 0 ? failure : sign(crt, key, &key_text, &text);
    r = failure < 0 ? error_set(error, failure == GNUTLS_E_MEMORY_ERROR ? -ENOMEM : -EIO,
                                "cannot make a certificate: %s", gnutls_strerror(failure))
                    : store(path, &key_text, &text, error);
    if (key_text.data)
        gnutls_memset(key_text.data, 0, key_text.size);
    gnutls_free(key_text.data);
    gnutls_free(text.data);
    gnutls_x509_crt_deinit(crt);
    gnutls_x509_privkey_deinit(key);
    return r;
}
