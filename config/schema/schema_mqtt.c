// The keys of the group mqtt, which edged-mqtt follows.
#include "config/schema/schema.h"

#include <arpa/inet.h>
#include <string.h>

#define TOPIC_MAX 100u

static bool accepts_broker(const char *string)
{
    static const char characters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    struct in6_addr v6;

    return strlen(string) < CONFIG_HOST_SIZE &&
           (string[strspn(string, characters)] == '\0' || inet_pton(AF_INET6, string, &v6) == 1);
}

// Levels of a topic of MQTT (section 4.7 of its specification), without wildcards.
static bool accepts_topic(const char *string)
{
    size_t length = strlen(string);

    for (const char *at = string; *at; at++) {
        if (*at <= ' ' || *at > '~' || strchr("+#$\"\\", *at) || (at[0] == '/' && at[1] == '/'))
            return false;
    }
    return length > 0 && length <= TOPIC_MAX && string[0] != '/' && string[length - 1] != '/';
}

static bool accepts_prefix(const char *string)
{
    return !*string || accepts_topic(string);
}

static bool accepts_path(const char *string)
{
    return !*string || *string == '/';
}

static const struct schema_rule broker_rule = {accepts_broker,
                                               "a name or an address, without a port; \"\""};
static const struct schema_rule topic_rule = {
    accepts_topic, "up to 100 letters, digits and signs without +, # and $, with / in between"};
static const struct schema_rule prefix_rule = {accepts_prefix, "the same as of topic, or \"\""};
static const struct schema_rule path_rule = {accepts_path, "a path that begins with \"/\"; \"\""};

#define MQTT_FIELD(member) .offset = offsetof(struct config, mqtt.member)
static const struct schema_key mqtt_keys[] = {
    {"broker", SCHEMA_STRING, MQTT_FIELD(broker), .rule = &broker_rule, .default_text = "",
     .help = "The broker's name or address, for example \"homeassistant.local\"; \"\" is none."},
    {"port", SCHEMA_INTEGER, MQTT_FIELD(port), .unit = "TCP port", .minimum = 0, .maximum = 65535,
     .default_text = "0",
     .help = "The port it listens on; 0 is the usual one, 1883, or 8883 inside TLS."},
    {"tls", SCHEMA_BOOLEAN, MQTT_FIELD(tls), .default_text = "false",
     .help = "Whether to connect inside TLS. The broker's certificate must have its name and be "
             "signed by ca. Without TLS the password is sent in the clear."},
    {"ca", SCHEMA_STRING, MQTT_FIELD(ca), .rule = &path_rule, .default_text = "",
     .help = "A PEM file of the authorities that may sign the broker's certificate; \"\" is those "
             "of the system. The user edged-mqtt must be able to read it."},
    {"user", SCHEMA_STRING, MQTT_FIELD(user), .default_text = "",
     .help = "The user of the broker that edged is; \"\" is none."},
    {"password_file", SCHEMA_STRING, MQTT_FIELD(password_file), .rule = &path_rule,
     .default_text = "",
     .help = "The file with that user's password, for example \"/etc/edged/mqtt.password\". Only "
             "its owner, the user edged-mqtt, may read it (chmod 600). The systemd credential "
             "mqtt.password counts instead where the service edged-mqtt has one. It is read at "
             "each connection."},
    {"topic", SCHEMA_STRING, MQTT_FIELD(topic), .rule = &topic_rule, .default_text = "edged",
     .help = "What topics begin with; the ID of this machine follows."},
    {"discovery", SCHEMA_STRING, MQTT_FIELD(discovery), .rule = &prefix_rule,
     .default_text = "homeassistant",
     .help = "What the topics begin with by which Home Assistant finds devices; \"\": it shall "
             "not find edged."},
};
const struct schema_group schema_mqtt = {
    .title = "mqtt",
    .help = "The broker to which edged-mqtt, a package of its own, takes events, states and "
            "settings, and from which it takes changes of settings (edged-mqtt(8)). A reload puts "
            "changes into force.",
    .keys = mqtt_keys,
    .key_count = ARRAY_LENGTH(mqtt_keys),
    .cost = CONFIG_COST_FRAME,
};
