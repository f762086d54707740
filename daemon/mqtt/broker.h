// The connection to a broker of MQTT 3.1.1, by libmosquitto, whose socket is a source of GLib's
// default main context. Looking up the broker's name blocks.
//
// A connection that fails or is lost is made anew: after 1 s, then 2 s, … up to 5 s; where the
// broker refuses the login, up to 60 s. A broker that confirms nothing for 30 s is left as well.
// Each cause is logged once, until it changes. Nothing that was published is kept for the next
// connection: connected() tells all of it again.
#pragma once

#include "config/base.h"

#include <stdbool.h>

struct broker;

struct broker_settings {
    const char *host;
    int port;
    bool tls;
    const char *ca;            // PEM; "": the system's
    const char *user;          // "": none
    const char *password_file; // "": none, unless there is the credential mqtt.password
    const char *client_id;
    const char *will_topic; // has "offline", retained, once the connection is lost
};

struct broker_handler {
    // All is to be subscribed and published.
    void (*connected)(void *context);
    // `payload` has `size` bytes and a NUL behind them.
    void (*message)(void *context, const char *topic, const char *payload, size_t size,
                    bool is_retained);
    void *context;
};

// Begins to connect. `settings` are copied. Never fails: what is wrong is logged and tried again.
struct broker *broker_new(const struct broker_settings *settings,
                          const struct broker_handler *handler);
// Says goodbye, within 1 s, so that the will is not sent. Takes NULL.
void broker_free(struct broker *broker);

bool broker_is_connected(const struct broker *broker);
// At QoS 1.
void broker_subscribe(struct broker *broker, const char *pattern);
// Has the broker send what it keeps in these topics, once.
void broker_ask_retained(struct broker *broker, const char *pattern);
// Without a connection nothing is sent. `qos` is 0 or 1.
void broker_publish(struct broker *broker, const char *topic, const void *payload, size_t size,
                    int qos, bool is_retained);
// Messages of QoS 1 that the broker has not confirmed: it may be frozen.
unsigned broker_unconfirmed(const struct broker *broker);
