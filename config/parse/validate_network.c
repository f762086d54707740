// Checks of the network's keys: addresses, TLS, multicast.
#include "config/parse/validate.h"

#include "config/users.h"

#include <string.h>

static void check_http(struct validation *validation, const struct config *config, bool has_users)
{
    if (config->http.port != 0 && config->rtsp.auth == CONFIG_AUTH_UNSET && !has_users &&
        !config_is_loopback(config->http.address)) {
        validation_refuse(validation, "http.address", "got \"%s\",",
                          CONFIG_LOOPBACK
                          ", or this with rtsp.users (`edgectl passwd`), or with rtsp.auth = "
                          "\"none\", which lets whoever reaches it ask",
                          config->http.address);
    }
}

static void check_tls(struct validation *validation, const struct config *config)
{
    bool has_certificate = *config->rtsp.certificate;

    if (!config->rtsp.plain && config->rtsp.tls_port == 0) {
        validation_refuse(validation, "rtsp.plain", "got false without tls_port,",
                          "true, or this with tls_port (8322)");
    }
    if (config->rtsp.plain && config->rtsp.tls_port != 0 &&
        config->rtsp.tls_port == config->rtsp.port) {
        validation_refuse(validation, "rtsp.tls_port", "got %d, which is rtsp.port, too;",
                          "a port of its own, or 0", config->rtsp.tls_port);
    }
    if (has_certificate != (*config->rtsp.key != '\0')) {
        validation_refuse(validation, has_certificate ? "rtsp.certificate" : "rtsp.key",
                          "got %s without %s,", "both, or neither for a generated certificate",
                          has_certificate ? "certificate" : "key",
                          has_certificate ? "key" : "certificate");
    }
}

// Members of a multicast group are asked for no password, and are not always on this machine.
static void check_multicast(struct validation *validation, const struct config *config,
                            bool has_users)
{
    const struct config_multicast *multicast = &config->rtsp.multicast;

    if (!*multicast->addresses)
        return;
    if (has_users && !multicast->public) {
        validation_refuse(validation, "rtsp.multicast.addresses", "got \"%s\" with users,",
                          "\"\"; or this with public = true, which lets whoever is in the network "
                          "watch without a password",
                          multicast->addresses);
    }
    if (!has_users && config->rtsp.auth == CONFIG_AUTH_UNSET && *multicast->interface &&
        strcmp(multicast->interface, "lo") != 0) {
        validation_refuse(validation, "rtsp.multicast.interface", "got \"%s\",",
                          "\"\" or \"lo\", or this with users (`edgectl passwd`), or with auth = "
                          "\"none\", which lets whoever reaches it watch",
                          multicast->interface);
    }
}

static void check_mqtt(struct validation *validation, const struct config *config)
{
    if (*config->mqtt.password_file && !*config->mqtt.user) {
        validation_refuse(validation, "mqtt.password_file", "got \"%s\" without user,",
                          "both, or neither for a broker that asks nobody",
                          config->mqtt.password_file);
    }
    if (*config->mqtt.ca && !config->mqtt.tls) {
        validation_refuse(validation, "mqtt.ca", "got \"%s\" without tls,", "\"\"; or tls = true",
                          config->mqtt.ca);
    }
    for (size_t i = 0; *config->mqtt.broker && i < config->camera_count; i++) {
        struct validation_path camera = validation_element(validation, "cameras", i);

        if (strcmp(config->cameras[i].name, "set") == 0) {
            validation_refuse(validation, validation_key(camera.text, "name").text,
                              "got \"set\" with mqtt.broker,",
                              "another name: commands are sent below the topic set");
        }
    }
}

static void check_onvif(struct validation *validation, const struct config *config)
{
    if (config->onvif.enabled && config->http.port == 0) {
        validation_refuse(validation, "onvif.enabled", "got true with http.port = 0,",
                          "false; or true with a port for HTTP, where ONVIF is served");
    }
}

// Not where the address itself was refused: then it still is the default.
void validate_check_network(struct validation *validation, const struct config *config)
{
    _cleanup_(cleanup_free) char *users = users_path(USERS_PASSWORDS, config, NULL);

    check_http(validation, config, users);
    check_tls(validation, config);
    check_multicast(validation, config, users);
    check_mqtt(validation, config);
    check_onvif(validation, config);
    if (config->rtsp.auth == CONFIG_AUTH_NONE && users)
        validation_refuse(validation, "rtsp.auth", "got \"none\" with users,", "\"\"; or no users");
    if (config->rtsp.auth == CONFIG_AUTH_UNSET && !users &&
        !config_is_loopback(config->rtsp.address)) {
        validation_refuse(validation, "rtsp.address", "got \"%s\",",
                          CONFIG_LOOPBACK
                          ", or this with users (`edgectl passwd`), or with auth = \"none\", which "
                          "lets whoever reaches it watch",
                          config->rtsp.address);
    }
}
