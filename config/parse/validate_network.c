// Who may reach what: addresses, TLS, multicast.
#include "config/parse/validate.h"

#include "config/users.h"

#include <string.h>

static void check_http(struct problems *problems, const config_setting_t *root,
                       const struct config *config, bool has_users)
{
    const config_setting_t *http = config_setting_get_member(root, "http");

    if (http && config->http.port != 0 && config->rtsp.auth == CONFIG_AUTH_UNSET && !has_users &&
        !config_is_loopback(config->http.address)) {
        problems_error(
            problems, config_setting_get_member(http, "address"), NULL,
            "got \"%s\", allowed: " CONFIG_LOOPBACK
            ", or this with rtsp.users (`edgectl passwd`), or with rtsp.auth = \"none\", "
            "which lets whoever reaches it ask",
            config->http.address);
    }
}

static void check_tls(struct problems *problems, const config_setting_t *rtsp,
                      const struct config *config)
{
    const char *given = *config->rtsp.certificate ? "certificate" : "key";
    const char *missing = *config->rtsp.certificate ? "key" : "certificate";

    if (!config->rtsp.plain && config->rtsp.tls_port == 0) {
        problems_error(problems, config_setting_get_member(rtsp, "plain"), NULL,
                       "got false without tls_port, allowed: true, or this with tls_port (8322)");
    }
    if (config->rtsp.plain && config->rtsp.tls_port != 0 &&
        config->rtsp.tls_port == config->rtsp.port) {
        problems_error(problems, config_setting_get_member(rtsp, "tls_port"), NULL,
                       "got %d, which is rtsp.port, too; allowed: a port of its own, or 0",
                       config->rtsp.tls_port);
    }
    if (!*config->rtsp.certificate != !*config->rtsp.key) {
        problems_error(problems, config_setting_get_member(rtsp, given), NULL,
                       "got %s without %s, allowed: both, or neither for a generated certificate",
                       given, missing);
    }
}

// Who joins a group is asked for no password, and is not always on this machine.
static void check_multicast(struct problems *problems, const config_setting_t *rtsp,
                            const struct config *config, bool has_users)
{
    const config_setting_t *group = config_setting_get_member(rtsp, "multicast");
    const struct config_multicast *multicast = &config->rtsp.multicast;

    if (!group || !*multicast->addresses) {
        return;
    }
    if (has_users && !multicast->public) {
        problems_error(problems, config_setting_get_member(group, "addresses"), NULL,
                       "got \"%s\" with users, allowed: \"\"; or this with public = true, which "
                       "lets whoever is in the network watch without a password",
                       multicast->addresses);
    }
    if (!has_users && config->rtsp.auth == CONFIG_AUTH_UNSET && *multicast->interface &&
        strcmp(multicast->interface, "lo") != 0) {
        problems_error(
            problems, config_setting_get_member(group, "interface"), NULL,
            "got \"%s\", allowed: \"\" or \"lo\", or this with users (`edgectl passwd`), "
            "or with auth = \"none\", which lets whoever reaches it watch",
            multicast->interface);
    }
}

// Not where the address itself was refused: then it still is the default.
void validate_check_network(struct problems *problems, const config_setting_t *root,
                            const struct config *config)
{
    const config_setting_t *rtsp = config_setting_get_member(root, "rtsp");
    _cleanup_(cleanup_free) char *users = users_path(USERS_PASSWORDS, config);

    check_http(problems, root, config, users);
    if (rtsp) {
        check_tls(problems, rtsp, config);
        check_multicast(problems, rtsp, config, users);
    }
    if (rtsp && config->rtsp.auth == CONFIG_AUTH_NONE && users) {
        problems_error(problems, config_setting_get_member(rtsp, "auth"), NULL,
                       "got \"none\" with users, allowed: \"\"; or no users");
    }
    if (rtsp && config->rtsp.auth == CONFIG_AUTH_UNSET && !users &&
        !config_is_loopback(config->rtsp.address)) {
        problems_error(problems, config_setting_get_member(rtsp, "address"), NULL,
                       "got \"%s\", allowed: " CONFIG_LOOPBACK
                       ", or this with users (`edgectl passwd`), or with auth = \"none\", which "
                       "lets whoever reaches it watch",
                       config->rtsp.address);
    }
}
