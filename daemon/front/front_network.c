#include "daemon/front/front_network.h"

#include "daemon/common/log.h"
#include "daemon/common/service_files.h"
#include "daemon/front/http/control_socket.h"
#include "daemon/front/model/slow_write.h"
#include "daemon/front/socket/listener.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define CLOCK_STEP_S 3600        // more than a clock is corrected by without being set
#define END_NS (500 * NS_PER_MS) // for a certificate that is being written

// A generated certificate on its way to the disk.
struct certificate_file {
    char *path; // owned
    struct error error;
    int r;
};

static bool is_encrypted(const struct config *config)
{
    return config->rtsp.tls_port != 0 || (config->http.port != 0 && config->http.tls);
}

// Seconds since 1970 as "2026-11-23".
static const char *day_text(int64_t at_s, char text[16])
{
    time_t at = at_s;
    struct tm parts;

    strftime(text, 16, "%Y-%m-%d", gmtime_r(&at, &parts));
    return text;
}

static void log_certificate(const struct certificate *certificate, const struct certificate *before)
{
    const char *fault = certificate_fault(certificate, time(NULL));
    char day[16];

    day_text(certificate_expires_s(certificate), day);
    if (fault) {
        log_warning("the certificate in %s %s (its last day is %s), serving with it all the same",
                    certificate_path(certificate), fault, day);
    }
    if (!before || !certificate_is_equal(certificate, before)) {
        log_notice("the certificate in %s has the fingerprint %s and is valid until %s",
                   certificate_path(certificate), certificate_fingerprint(certificate), day);
    }
}

static void free_file(struct certificate_file *file)
{
    if (file) {
        free(file->path);
        g_free(file);
    }
}

static void run_making(void *work)
{
    struct certificate_file *file = work;

    file->r = certificate_store_generate(file->path, &file->error);
}

static void on_made(void *context)
{
    struct front_network *network = context;

    network->made = slow_write_end(TAKE(network->making));
}

static int take_made(struct front_network *network, struct error *error,
                     struct certificate **ret_certificate)
{
    struct certificate_file *file = TAKE(network->made);
    int r = file->r < 0 ? error_set(error, file->r, "%s", file->error.text)
                        : certificate_load(file->path, file->path, error, ret_certificate);

    free_file(file);
    return r;
}

// Nobody is served yet at the start. Later one that has to be generated is written by a thread:
// -EAGAIN until that is done.
static int load_certificate(struct front_network *network, const struct config *config,
                            struct error *error, struct certificate **ret_certificate)
{
    const char *path = config->rtsp.certificate, *key_path = config->rtsp.key;
    char *missing = NULL;

    if (*path || *key_path || !network->is_open)
        return certificate_load(path, key_path, error, ret_certificate);
    if (network->made)
        return take_made(network, error, ret_certificate);
    int r = network->making ? -EAGAIN
                            : certificate_find(path, key_path, error, ret_certificate, &missing);
    if (r == -ENODATA) {
        struct certificate_file *file = g_new0(struct certificate_file, 1);

        file->path = missing;
        network->making = slow_write_begin(run_making, file, on_made, network);
        r = -EAGAIN;
    }
    return r == -EAGAIN ? error_set(error, r, "edged's own is still being written") : r;
}

// Whether the rest may be served without the certificate. A user's own one that cannot be used is a
// mistake to mend first, and nothing may be served plainly that was to be encrypted.
static bool can_do_without(const struct front_network *network, const struct config *config)
{
    return !*config->rtsp.certificate && config->rtsp.plain &&
           (!network->is_open || *network->fault.text);
}

// Without an address of its own in the configuration HTTP is not worth a refusal.
static int listen_http(const struct front_network *network, const struct config *config,
                       struct certificate *certificate, struct error *error)
{
    struct config without = *config; // borrows all that it points to
    int r = control_listen(network->control, config, certificate, error);

    if (r == 0 || !config->http.is_default)
        return r;
    log_notice("%s, going on without HTTP; set http.port to another port, or to 0", error->text);
    without.http.port = 0;
    return control_listen(network->control, &without, certificate, error);
}

static int listen_all(struct front_network *network, const struct config *asked,
                      struct error *error)
{
    struct certificate *certificate = NULL, *before = network->certificate;
    struct config served = *asked; // borrows all that it points to
    const struct config *config = &served;
    struct error fault = {0};
    int fd = -1, r = 0;

    if (is_encrypted(asked)) {
        r = load_certificate(network, asked, error, &certificate);
        r = r < 0 ? error_prefix(error, r, "rtsp.certificate") : 0;
    }
    if (r < 0 && r != -EAGAIN && can_do_without(network, asked)) {
        fault = *error;
        served.rtsp.tls_port = 0;
        served.http.port = asked->http.tls ? 0 : asked->http.port;
        r = 0;
    }
    r = r < 0 ? r : rtsp_server_open_tls(network->server, config->rtsp.tls_port, error, &fd);
    r = r < 0 ? r : listen_http(network, config, certificate, error);
    if (r < 0) {
        if (fd >= 0)
            listener_end(fd);
        certificate_unref(certificate);
        return r;
    }
    rtsp_server_take_tls(network->server, config->rtsp.tls_port, fd,
                         config->rtsp.tls_port ? certificate : NULL);
    if (certificate)
        log_certificate(certificate, before);
    network->certificate = certificate;
    network->fault = fault;
    certificate_unref(before);
    return 0;
}

// Answers those who look for cameras. A failure is not worth a refusal.
static void answer_discovery(struct front_network *network, const struct config *config)
{
    const char *url = control_url(network->control);
    bool is_wanted = config->onvif.enabled && config->onvif.discovery && url;
    g_autofree char *plain = NULL;
    struct error error = {0};

    if (is_wanted && config->onvif.plain && g_str_has_prefix(url, "https:"))
        plain = g_strconcat("http:", url + strlen("https:"), NULL);
    if (discovery_set(&network->discovery, is_wanted ? plain ? plain : url : NULL, &error) < 0)
        log_warning("%s, going on without", error.text);
}

int front_network_listen(struct front_network *network, const struct config *config,
                         struct error *error)
{
    int r = listen_all(network, config, error);

    if (r == 0)
        answer_discovery(network, config);
    network->model->places = (struct model_places){
        .rtsp_url = rtsp_server_url(network->server),
        .rtsps_url = rtsp_server_tls_url(network->server),
        .http_url = control_url(network->control),
        .certificate = network->certificate,
        .certificate_error = network->fault.text,
    };
    return r;
}

static int64_t clock_offset_s(void)
{
    return (int64_t)time(NULL) - clock_now_ns() / NS_PER_S;
}

void front_network_watch_clock(struct front_network *network, const struct config *config)
{
    int64_t before_s = network->clock_offset_s;
    struct error error = {0};

    network->clock_offset_s = clock_offset_s();
    network->was_set |= llabs(network->clock_offset_s - before_s) >= CLOCK_STEP_S;
    if (!network->was_set)
        return;
    int r = network->certificate && !*config->rtsp.certificate
                ? front_network_listen(network, config, &error)
                : 0;
    network->was_set = r == -EAGAIN;
    if (r < 0 && r != -EAGAIN)
        log_error("the clock was set, and %s, keeping the certificate", error.text);
}

int front_network_open(struct front_network *network, struct model *model,
                       struct rtsp_server *server, struct error *error)
{
    _cleanup_(cleanup_free) char *socket = NULL;
    int r = control_path_find(model->config->control.socket, error, &socket);

    network->model = model;
    network->server = server;
    r = r < 0 ? r : control_new(socket, model, error, &network->control);
    network->clock_offset_s = clock_offset_s();
    r = r < 0 ? r : front_network_listen(network, model->config, error);
    network->is_open = r == 0;
    if (*network->fault.text)
        log_error("%s, serving nothing inside TLS until a reload can", network->fault.text);
    if (r == 0 && *rtsp_server_tls_url(server))
        log_notice("streams inside TLS: %s/", rtsp_server_tls_url(server));
    if (r == 0 && control_url(network->control))
        log_notice("page, status, metrics and events: %s/", control_url(network->control));
    return r;
}

void front_network_take_users(struct front_network *network, const struct config *config,
                              struct users *users, struct users *tokens, struct users *onvif)
{
    account_take_users(network->model->account, config, users);
    account_take_tokens(network->model->account, tokens);
    account_take_onvif(network->model->account, onvif);
    control_recheck(network->control);
}

void front_network_finish(struct front_network *network)
{
    discovery_free(network->discovery);
    control_free(network->control);
    certificate_unref(network->certificate);
    if (network->making) {
        slow_write_wait(network->making, clock_now_ns() + END_NS);
        on_made(network);
    }
    free_file(network->made);
    *network = (struct front_network){0};
}

int front_network_check_certificate(const struct config *config, const char *path, FILE *problems)
{
    struct certificate *certificate = NULL;
    struct error error = {0};
    const char *fault;
    int r;

    if (!*config->rtsp.certificate)
        return 0;
    // The user who runs --check may be another one than edged runs as.
    if (access(config->rtsp.key, R_OK) < 0 && errno == EACCES) {
        fprintf(problems,
                "%s: warning: rtsp.key: cannot read \"%s\": %s; edged does not start where it "
                "cannot either\n",
                path, config->rtsp.key, strerror(EACCES));
        return 0;
    }
    r = certificate_load(config->rtsp.certificate, config->rtsp.key, &error, &certificate);
    if (r < 0) {
        fprintf(problems, "%s: error: rtsp.certificate: %s\n", path, error.text);
        return r;
    }
    fault = certificate_fault(certificate, time(NULL));
    if (fault) {
        fprintf(problems, "%s: warning: rtsp.certificate: the certificate in \"%s\" %s\n", path,
                config->rtsp.certificate, fault);
    }
    certificate_unref(certificate);
    return 0;
}
