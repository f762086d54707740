#include "daemon/front/account/certificate_store.h"

#include "daemon/common/replace_file.h"
#include "daemon/common/service_files.h"

#include <arpa/inet.h>
#include <errno.h>
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

    if (gethostname(host, sizeof host - 1) < 0 || !*host) {
        snprintf(host, sizeof host, "edged");
    }
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

    if (!content) {
        return error_set(error, -ENOMEM, "out of memory");
    }
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
    if (key_text.data) {
        gnutls_memset(key_text.data, 0, key_text.size);
    }
    gnutls_free(key_text.data);
    gnutls_free(text.data);
    gnutls_x509_crt_deinit(crt);
    gnutls_x509_privkey_deinit(key);
    return r;
}
