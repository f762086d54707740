// The certificate that RTSPS and HTTPS show: the user's own PEM files, or a self-signed one that is
// generated once and kept, so that clients that trust it need not be asked
// again. One that has expired by a clock that may be wrong is kept, too.
//
// Immutable and shared: a reload makes a second one, and connections keep the one they began with.
// Main loop only.
#pragma once

#include "config/base.h"

#include <gnutls/gnutls.h>
#include <stdbool.h>
#include <stddef.h>

struct certificate;

// TLS 1.2 and 1.3 with forward secrecy and authenticated ciphers alone, in the words of GnuTLS.
extern const char certificate_priority[];

// Loads `path`, which may go on with the chain up to its issuer, and `key_path`, both
// PEM; with both "" the generated one. -EACCES (the file system's, or a key that others may read),
// -ENOENT and others as open() says, -EFBIG (over 1 MiB), -EINVAL for what is no certificate or
// key, a key with a passphrase, or two that do not belong together; the sentence in `error` names
// the file and what is allowed. The caller owns a reference.
int certificate_load(const char *path, const char *key_path, struct error *error,
                     struct certificate **ret_certificate);
// The same, but writes nothing: -ENODATA if one has to be generated first, and *ret_missing, which
// the caller frees, is the path for certificate_store_generate().
int certificate_find(const char *path, const char *key_path, struct error *error,
                     struct certificate **ret_certificate, char **ret_missing);
struct certificate *certificate_ref(struct certificate *certificate);
// Takes NULL.
void certificate_unref(struct certificate *certificate);

// Where it came from, its first file.
const char *certificate_path(const struct certificate *certificate);
// Of its DER: "SHA-256 3F:A0:…", as `openssl x509 -fingerprint -sha256` has it.
const char *certificate_fingerprint(const struct certificate *certificate);
// The last moment at which it is valid, seconds since 1970; at `now_s` "has expired" or "is not
// valid yet", else NULL.
int64_t certificate_expires_s(const struct certificate *certificate);
const char *certificate_fault(const struct certificate *certificate, int64_t now_s);
// Whether it names a host, or a numeric address, so that a client that checks it and was given that
// name goes on (RFC 6125).
bool certificate_names(const struct certificate *certificate, const char *host);
// Whether both are the same certificate with the same key.
bool certificate_is_equal(const struct certificate *a, const struct certificate *b);

// The texts for libmicrohttpd, valid as long as the certificate is. The second one is a secret.
const char *certificate_text(const struct certificate *certificate);
const char *certificate_key_text(const struct certificate *certificate);

// Begins a server's session that shows the certificate: non-blocking, without signals, and asks no
// client for a certificate. The certificate must outlive it; gnutls_deinit() ends it. -ENOMEM,
// -EIO.
int certificate_begin_session(struct certificate *certificate, gnutls_session_t *ret_session);
// Lets a server's session that another library has begun show this certificate, in place of any
// other. Only before its handshake; the certificate must outlive it. Errors are GnuTLS's.
int certificate_show(const struct certificate *certificate, gnutls_session_t session);

// The self-signed certificate of a machine that was given none: ECDSA on P-256, for the machine's
// names and addresses, valid for ten years, kept with its key in one file of mode 0600. Its path is
// the first of the files: tls.pem in $STATE_DIRECTORY, which systemd sets for the service, else in
// $XDG_STATE_HOME/edged, else in ~/.local/state/edged; -ENOENT without a home, -ENOMEM. The caller
// frees *ret_path.
int certificate_store_path(struct error *error, char **ret_path);

// Generates one at `path`, in one step, and makes the parent directories (0700) that are missing.
// Errors of the file system, -EIO for GnuTLS's, -ENOMEM; the sentence in `error`. Any thread.
int certificate_store_generate(const char *path, struct error *error);
