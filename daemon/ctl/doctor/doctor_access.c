// The checks of access: the certificate of encrypted connections, and the file of users.
#include "config/users.h"
#include "daemon/client/client.h"
#include "daemon/common/host_address.h"
#include "daemon/ctl/doctor/doctor_checks.h"
#include "daemon/front/account/certificate.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SOON_S (30 * 24 * 3600)

// Only the running edged knows the one that it has made.
static void check_generated(struct doctor *doctor)
{
    JsonObject *certificate = doctor->status ? get_object(doctor->status, "certificate") : NULL;

    if (certificate) {
        doctor_say(doctor, DOCTOR_OK, "certificate", "a generated one until %.10s, %s",
                   get_string(certificate, "expires"), get_string(certificate, "fingerprint"));
    } else {
        doctor_say(doctor, DOCTOR_INFO, "certificate",
                   "edged generates one at its first start, and `edgectl status` shows it");
    }
}

// Whether it names this machine in one of the ways that viewers do.
static bool names_this_machine(const struct certificate *certificate, const char *address,
                               char ret_name[HOST_NAME_MAX + 1], char ret_address[INET6_ADDRSTRLEN])
{
    char local[HOST_NAME_MAX + sizeof ".local"];

    gethostname(ret_name, HOST_NAME_MAX + 1);
    ret_name[HOST_NAME_MAX] = '\0';
    snprintf(local, sizeof local, "%s.local", ret_name);
    if (strcmp(address, "0.0.0.0") != 0 && strcmp(address, "::") != 0)
        snprintf(ret_address, INET6_ADDRSTRLEN, "%s", address);
    else if (host_address_find(strchr(address, ':') ? AF_UNSPEC : AF_INET, ret_address) < 0)
        snprintf(ret_address, INET6_ADDRSTRLEN, "127.0.0.1");
    return certificate_names(certificate, ret_name) || certificate_names(certificate, local) ||
           certificate_names(certificate, ret_address);
}

static void check_validity(struct doctor *doctor, const struct certificate *certificate)
{
    const struct config *config = doctor->config;
    const char *fault = certificate_fault(certificate, time(NULL));
    char name[HOST_NAME_MAX + 1], address[INET6_ADDRSTRLEN];
    int64_t left_s = certificate_expires_s(certificate) - time(NULL);

    if (fault) {
        doctor_say(doctor, DOCTOR_FAILED, "certificate", "the one in %s %s: renew it",
                   config->rtsp.certificate, fault);
    } else if (!names_this_machine(certificate, config->rtsp.address, name, address)) {
        doctor_say(doctor, DOCTOR_WARNING, "certificate",
                   "the one in %s names neither %s, %s.local nor %s, so that viewers who check it "
                   "hang up: renew it with the name that they use",
                   config->rtsp.certificate, name, name, address);
    } else {
        doctor_say(doctor, left_s < SOON_S ? DOCTOR_WARNING : DOCTOR_OK, "certificate",
                   "%s is valid for %lld days%s", config->rtsp.certificate,
                   (long long)left_s / (24 * 3600), left_s < SOON_S ? ": renew it soon" : "");
    }
}

void doctor_check_certificate(struct doctor *doctor)
{
    const struct config *config = doctor->config;
    struct certificate *certificate;
    struct error error = {0};
    int r;

    if (config->rtsp.tls_port == 0 && (config->http.port == 0 || !config->http.tls)) {
        doctor_say(doctor, DOCTOR_INFO, "certificate", "nothing is encrypted: rtsp.tls_port is 0");
        return;
    }
    if (!*config->rtsp.certificate) {
        check_generated(doctor);
        return;
    }
    r = certificate_load(config->rtsp.certificate, config->rtsp.key, &error, &certificate);
    if (r < 0) {
        doctor_say(doctor, DOCTOR_FAILED, "certificate", "%s", error.text);
        return;
    }
    check_validity(doctor, certificate);
    certificate_unref(certificate);
}

void doctor_check_users(struct doctor *doctor)
{
    _cleanup_(cleanup_users) struct users *users = NULL;
    _cleanup_(cleanup_free) char *path = users_path(USERS_PASSWORDS, doctor->config, NULL);
    struct error error = {0};
    int r = path ? users_read(USERS_PASSWORDS, path, &error, &users) : 0;

    if (!path) {
        doctor_say(doctor, DOCTOR_INFO, "users", "none: %s",
                   doctor->config->rtsp.auth == CONFIG_AUTH_NONE
                       ? "whoever reaches edged may watch"
                       : "only this machine may watch; `edgectl setup` makes one");
    } else if (r == -EACCES && access(path, R_OK) < 0) { // which the service's user may do
        doctor_say(doctor, DOCTOR_WARNING, "users",
                   "%s is not for this user to read: `sudo edgectl doctor` looks at it", path);
    } else if (r < 0) {
        doctor_say(doctor, DOCTOR_FAILED, "users", "%s", error.text);
    } else {
        doctor_say(doctor, DOCTOR_OK, "users", "%s: %zu user%s", path, users->count,
                   users->count == 1 ? "" : "s");
    }
}
