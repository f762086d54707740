#include "daemon/mqtt/broker.h"

#include "config/credentials.h"
#include "daemon/common/log.h"

#include <errno.h>
#include <glib-unix.h>
#include <mosquitto.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define KEEPALIVE_S 15
#define MISC_S 5        // between two looks at the keepalive
#define ANSWER_S 10     // until the broker has accepted the connection
#define CONFIRM_S 30    // in which it confirms one of those that wait for that
#define GOODBYE_MS 1000 // for what is still to be sent at the end
#define DELAY_MS 1000u
#define DELAY_MAX_MS 5000u
#define REFUSED_DELAY_MAX_MS 60000u
#define TAKEN_S 5     // in which a connection that is lost TAKEN_TIMES is another client's
#define TAKEN_TIMES 3 // losses
#define PASSWORD_MAX_BYTES 1024

struct broker {
    char *host, *ca, *user, *password_file, *client_id, *will_topic; // owned
    int port;
    bool tls;
    struct broker_handler handler;
    struct mosquitto *mosquitto; // owned, of one connection; NULL: none
    guint source, misc, timer;   // GLib source ids: the socket, the keepalive, what comes next
    GIOCondition condition;      // of the source
    bool is_opening;             // the socket is not connected yet
    bool is_ipv4;                // IPv6 did not reach it
    bool is_connected;           // the broker has accepted
    bool is_refused;             // by the broker, the login
    unsigned unconfirmed;
    int64_t confirmed_ns; // when there was none of them, or one was confirmed
    unsigned delay_ms;    // until the next attempt
    int64_t
        lost_ns[TAKEN_TIMES]; // when connections were lost that had been accepted, the newest first
    char reason[256];         // why there is no connection; "": there is one
    char detail[256];         // what the library says of that
};

static gboolean on_attempt(gpointer data);

static void set_timer(struct broker *broker, unsigned delay_ms, GSourceFunc then)
{
    g_clear_handle_id(&broker->timer, g_source_remove);
    broker->timer = g_timeout_add(delay_ms, then, broker);
}

static void close_connection(struct broker *broker)
{
    g_clear_handle_id(&broker->source, g_source_remove);
    g_clear_handle_id(&broker->misc, g_source_remove);
    g_clear_handle_id(&broker->timer, g_source_remove);
    if (broker->mosquitto)
        mosquitto_destroy(TAKE(broker->mosquitto));
    broker->is_connected = false;
    broker->unconfirmed = 0;
}

// Whether another client has taken the connection again and again: a broker hangs up on a client
// when another one comes with its id.
static bool is_taken(struct broker *broker)
{
    memmove(broker->lost_ns + 1, broker->lost_ns, sizeof broker->lost_ns[0] * (TAKEN_TIMES - 1));
    broker->lost_ns[0] = clock_now_ns();
    return broker->lost_ns[TAKEN_TIMES - 1] &&
           broker->lost_ns[0] - broker->lost_ns[TAKEN_TIMES - 1] < TAKEN_S * NS_PER_S;
}

// There is no connection any more, or there was none. A cause is told once.
static void lose(struct broker *broker, const char *reason)
{
    bool was_connected = broker->is_connected, taken = was_connected && is_taken(broker);
    unsigned most_ms = broker->is_refused || taken ? REFUSED_DELAY_MAX_MS : DELAY_MAX_MS;
    unsigned delay_ms = was_connected ? DELAY_MS : MIN(broker->delay_ms, most_ms);
    char text[sizeof broker->reason];

    if (taken)
        delay_ms = REFUSED_DELAY_MAX_MS / 6;
    snprintf(text, sizeof text, "%s%s%.120s", reason, *broker->detail ? ": " : "", broker->detail);
    close_connection(broker);
    broker->delay_ms = MIN(2 * delay_ms, most_ms);
    set_timer(broker, delay_ms, on_attempt);
    if (taken) {
        log_warning("another client takes the connection as \"%s\": give each machine a host name "
                    "of its own, trying again in %.0f s",
                    broker->client_id, delay_ms / 1e3);
    } else if (strcmp(text, broker->reason) != 0) {
        log_warning("the broker %s:%d: %s, trying again in %.0f s", broker->host, broker->port,
                    text, delay_ms / 1e3);
    }
    snprintf(broker->reason, sizeof broker->reason, "%s", text);
}

// The socket
// ---------------------------------------------------------------------

static gboolean on_socket(gint fd, GIOCondition condition, gpointer data);

// From the first bytes of TLS until the broker has accepted.
static bool is_shaking_hands(const struct broker *broker)
{
    return broker->tls && !broker->is_opening && !broker->is_connected;
}

// Waits for what the library waits for. While hands are shaken that is what the broker says:
// libmosquitto 2.0.21 wants to write all the while.
static void watch(struct broker *broker)
{
    GIOCondition condition = G_IO_IN;
    int fd = broker->mosquitto ? mosquitto_socket(broker->mosquitto) : -1;
    bool has_more = fd >= 0 && mosquitto_want_write(broker->mosquitto);

    if (broker->is_opening || (has_more && !is_shaking_hands(broker)))
        condition |= G_IO_OUT;
    if (broker->source && (fd < 0 || condition != broker->condition))
        g_clear_handle_id(&broker->source, g_source_remove);
    if (fd >= 0 && !broker->source)
        broker->source = g_unix_fd_add(fd, condition, on_socket, broker);
    broker->condition = condition;
}

// For a certificate that cannot be trusted libmosquitto 2.0.21 returns MOSQ_ERR_ERRNO with EPROTO,
// earlier ones MOSQ_ERR_TLS. All log what OpenSSL says.
static bool has_tls_failed(const struct broker *broker, int result)
{
    return result == MOSQ_ERR_TLS || (broker->tls && !broker->is_connected &&
                                      g_str_has_prefix(broker->detail, "OpenSSL Error"));
}

static const char *explain(const struct broker *broker, int result)
{
    if (has_tls_failed(broker, result))
        return "TLS failed; see mqtt.tls and mqtt.ca";
    switch (result) {
    case MOSQ_ERR_CONN_LOST:
        return broker->is_connected ? "it ended the connection" : "it hung up";
    case MOSQ_ERR_KEEPALIVE:
        return "it does not answer";
    case MOSQ_ERR_EAI:
        return "its name cannot be found";
    case MOSQ_ERR_ERRNO:
        return strerror(errno);
    default:
        return mosquitto_strerror(result);
    }
}

static bool has_ipv4(const char *host)
{
    const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    bool has = getaddrinfo(host, NULL, &hints, &found) == 0;

    if (has)
        freeaddrinfo(found);
    return has;
}

// The socket cannot be connected. libmosquitto has tried the first address of the name alone: if
// that was one of IPv6, those of IPv4 come next.
static void fail_to_open(struct broker *broker, const char *reason)
{
    struct sockaddr_storage own = {0};
    socklen_t size = sizeof own;

    if (getsockname(mosquitto_socket(broker->mosquitto), (struct sockaddr *)&own, &size) == 0 &&
        own.ss_family == AF_INET6 && has_ipv4(broker->host)) {
        broker->is_ipv4 = true;
        close_connection(broker);
        set_timer(broker, 0, on_attempt);
    } else {
        broker->is_ipv4 = false;
        lose(broker, reason);
    }
}

// Each message is sent at once. Else one behind a confirmation waits for the broker's kernel, which
// acknowledges that up to 40 ms later. libmosquitto 1.6 has no option for it.
static void send_at_once(int fd)
{
    const int yes = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

// Whether connecting the socket has failed. Where TLS has tried to write before, it has taken the
// error.
static bool has_failed_to_open(const struct broker *broker, int fd, GIOCondition condition,
                               int *ret_code)
{
    socklen_t size = sizeof *ret_code;

    return broker->is_opening &&
           ((getsockopt(fd, SOL_SOCKET, SO_ERROR, ret_code, &size) == 0 && *ret_code) ||
            condition & G_IO_HUP);
}

static gboolean on_socket(gint fd, GIOCondition condition, gpointer data)
{
    struct broker *broker = data;
    bool begins_tls = broker->tls && broker->is_opening;
    int code = 0, r = MOSQ_ERR_SUCCESS;

    if (has_failed_to_open(broker, fd, condition, &code)) {
        fail_to_open(broker, code ? strerror(code) : "it cannot be reached");
        return G_SOURCE_CONTINUE; // it is removed already
    }
    if (broker->is_opening)
        send_at_once(fd);
    broker->is_opening = false;
    if (begins_tls || condition & ~G_IO_OUT) // libmosquitto before 2.0.21 begins TLS when it reads
        r = mosquitto_loop_read(broker->mosquitto, 1);
    if (is_shaking_hands(broker) && mosquitto_want_write(broker->mosquitto))
        condition |= G_IO_OUT;
    if (r == MOSQ_ERR_SUCCESS && condition & G_IO_OUT)
        r = mosquitto_loop_write(broker->mosquitto, 1);
    if (broker->is_refused)
        lose(broker, broker->detail[0] ? "it refuses the connection" : "it refuses the login");
    else if (r != MOSQ_ERR_SUCCESS)
        lose(broker, explain(broker, r));
    else if (condition & G_IO_HUP && is_shaking_hands(broker)) // libmosquitto 1.6.9 tries on
        lose(broker, "it hung up");
    else
        watch(broker);
    return G_SOURCE_CONTINUE;
}

static gboolean on_misc(gpointer data)
{
    struct broker *broker = data;
    int r = mosquitto_loop_misc(broker->mosquitto);
    bool is_overdue =
        broker->unconfirmed && clock_now_ns() - broker->confirmed_ns > CONFIRM_S * NS_PER_S;

    if (r == MOSQ_ERR_SUCCESS && is_overdue)
        lose(broker, "it confirms nothing");
    else if (r != MOSQ_ERR_SUCCESS)
        lose(broker, explain(broker, r == MOSQ_ERR_NO_CONN ? MOSQ_ERR_KEEPALIVE : r));
    else
        watch(broker);
    return G_SOURCE_CONTINUE;
}

static gboolean on_no_answer(gpointer data)
{
    struct broker *broker = data;

    broker->timer = 0;
    if (broker->is_opening)
        fail_to_open(broker, "it does not answer");
    else
        lose(broker, "it does not answer");
    return G_SOURCE_REMOVE;
}

// Called by the library, while it reads
// ---------------------------------------------------------------------

static void on_connect(struct mosquitto *mosquitto, void *data, int result)
{
    struct broker *broker = data;

    (void)mosquitto;
    if (result) { // of these codes of MQTT 3.1.1, 4 and 5 are about the login
        broker->is_refused = true;
        if (result < 4)
            snprintf(broker->detail, sizeof broker->detail, "%s", mosquitto_connack_string(result));
        return;
    }
    g_clear_handle_id(&broker->timer, g_source_remove);
    broker->is_connected = true;
    broker->delay_ms = DELAY_MS;
    if (*broker->reason || !broker->lost_ns[0]) {
        log_notice("connected to the broker %s:%d as \"%s\"", broker->host, broker->port,
                   broker->client_id);
    }
    broker->reason[0] = 0;
    broker->detail[0] = 0;
    broker->handler.connected(broker->handler.context);
}

static void on_message(struct mosquitto *mosquitto, void *data,
                       const struct mosquitto_message *message)
{
    const struct broker *broker = data;
    size_t size = (size_t)MAX(message->payloadlen, 0);
    g_autofree char *payload = g_malloc(size + 1);

    (void)mosquitto;
    if (size)
        memcpy(payload, message->payload, size);
    payload[size] = 0;
    broker->handler.message(broker->handler.context, message->topic, payload, size,
                            message->retain);
}

static void on_confirmed(struct mosquitto *mosquitto, void *data, int id)
{
    struct broker *broker = data;

    (void)mosquitto, (void)id;
    broker->unconfirmed -= broker->unconfirmed > 0;
    broker->confirmed_ns = clock_now_ns();
}

static void on_log(struct mosquitto *mosquitto, void *data, int level, const char *text)
{
    struct broker *broker = data;

    (void)mosquitto;
    if (level == MOSQ_LOG_ERR)
        snprintf(broker->detail, sizeof broker->detail, "%s", text);
}

// Attempts
// ---------------------------------------------------------------------

// The systemd credential, else the file that the configuration names; NULL: neither.
static char *find_password(const struct broker *broker)
{
    const char *folder = g_getenv("CREDENTIALS_DIRECTORY");
    char *path = folder ? g_build_filename(folder, "mqtt.password", NULL) : NULL;

    if (path && g_file_test(path, G_FILE_TEST_EXISTS))
        return path;
    g_free(path);
    return *broker->password_file ? g_strdup(broker->password_file) : NULL;
}

static int set_login(const struct broker *broker, struct error *error)
{
    const struct private_file_rules rules = {
        .refused = 077, .proposed = 0600, .what = "a password", .limit_bytes = PASSWORD_MAX_BYTES};
    g_autofree char *path = find_password(broker);
    struct private_file file = {0};
    int r = path ? private_file_read(path, &rules, error, &file) : 0;

    if (r < 0)
        return r;
    if (file.text)
        file.text[strcspn(file.text, "\r\n")] = 0;
    if (*broker->user)
        r = mosquitto_username_pw_set(broker->mosquitto, broker->user, file.text);
    private_file_finish(&file);
    return r ? error_set(error, -ENOMEM, "out of memory") : 0;
}

static int set_tls(const struct broker *broker, struct error *error)
{
    const char *ca = *broker->ca ? broker->ca : NULL;
    int r = broker->tls ? mosquitto_tls_set(broker->mosquitto, ca, ca ? NULL : "/etc/ssl/certs",
                                            NULL, NULL, NULL)
                        : MOSQ_ERR_SUCCESS;

    return r ? error_set(error, -EINVAL, "mqtt.ca: %s", mosquitto_strerror(r)) : 0;
}

static int begin(struct broker *broker, struct error *error)
{
    int r;

    broker->is_refused = false;
    broker->detail[0] = 0;
    broker->mosquitto = mosquitto_new(broker->client_id, true, broker);
    if (!broker->mosquitto)
        return error_set(error, -errno, "%s", strerror(errno));
    mosquitto_connect_callback_set(broker->mosquitto, on_connect);
    mosquitto_message_callback_set(broker->mosquitto, on_message);
    mosquitto_publish_callback_set(broker->mosquitto, on_confirmed);
    mosquitto_log_callback_set(broker->mosquitto, on_log);
    // Nothing is written before the socket is writable: 2.0.21 would begin TLS before TCP is
    // connected, and fail.
    mosquitto_threaded_set(broker->mosquitto, true);
    mosquitto_int_option(broker->mosquitto, MOSQ_OPT_PROTOCOL_VERSION, MQTT_PROTOCOL_V311);
    mosquitto_will_set(broker->mosquitto, broker->will_topic, strlen("offline"), "offline", 1,
                       true);
    r = set_login(broker, error);
    r = r < 0 ? r : set_tls(broker, error);
    if (r < 0)
        return r;
    // Addresses of another family than the own one are passed over.
    r = mosquitto_connect_bind_async(broker->mosquitto, broker->host, broker->port, KEEPALIVE_S,
                                     broker->is_ipv4 ? "0.0.0.0" : NULL);
    return r == MOSQ_ERR_SUCCESS || r == MOSQ_ERR_CONN_PENDING
               ? 0
               : error_set(error, -ECONNREFUSED, "%s", explain(broker, r));
}

static gboolean on_attempt(gpointer data)
{
    struct broker *broker = data;
    struct error error = {0};

    broker->timer = 0;
    if (begin(broker, &error) < 0) {
        broker->is_ipv4 = false;
        lose(broker, error.text);
        return G_SOURCE_REMOVE;
    }
    broker->is_opening = true;
    broker->misc = g_timeout_add_seconds(MISC_S, on_misc, broker);
    set_timer(broker, ANSWER_S * 1000, on_no_answer);
    watch(broker);
    return G_SOURCE_REMOVE;
}

struct broker *broker_new(const struct broker_settings *settings,
                          const struct broker_handler *handler)
{
    struct broker *broker = g_new0(struct broker, 1);

    mosquitto_lib_init();
    broker->host = g_strdup(settings->host);
    broker->port = settings->port;
    broker->tls = settings->tls;
    broker->ca = g_strdup(settings->ca);
    broker->user = g_strdup(settings->user);
    broker->password_file = g_strdup(settings->password_file);
    broker->client_id = g_strdup(settings->client_id);
    broker->will_topic = g_strdup(settings->will_topic);
    broker->handler = *handler;
    broker->delay_ms = DELAY_MS;
    set_timer(broker, 0, on_attempt);
    return broker;
}

// Sends what waits, and that no will is wanted. Nothing else of the process runs meanwhile.
static void say_goodbye(const struct broker *broker)
{
    int64_t until_ns = clock_now_ns() + GOODBYE_MS * NS_PER_MS;
    int r = mosquitto_disconnect(broker->mosquitto);

    while (r == MOSQ_ERR_SUCCESS && mosquitto_want_write(broker->mosquitto)) {
        struct pollfd socket = {.fd = mosquitto_socket(broker->mosquitto), .events = POLLOUT};
        int64_t left_ns = until_ns - clock_now_ns();

        if (left_ns <= 0 || poll(&socket, 1, (int)(left_ns / NS_PER_MS) + 1) <= 0)
            return;
        r = mosquitto_loop_write(broker->mosquitto, 1);
    }
}

void broker_free(struct broker *broker)
{
    if (!broker)
        return;
    if (broker->is_connected)
        say_goodbye(broker);
    close_connection(broker);
    g_free(broker->host);
    g_free(broker->ca);
    g_free(broker->user);
    g_free(broker->password_file);
    g_free(broker->client_id);
    g_free(broker->will_topic);
    g_free(broker);
    mosquitto_lib_cleanup();
}

bool broker_is_connected(const struct broker *broker)
{
    return broker && broker->is_connected;
}

void broker_subscribe(struct broker *broker, const char *pattern)
{
    mosquitto_subscribe(broker->mosquitto, NULL, pattern, 1);
    watch(broker);
}

void broker_ask_retained(struct broker *broker, const char *pattern)
{
    mosquitto_subscribe(broker->mosquitto, NULL, pattern, 0);
    mosquitto_unsubscribe(broker->mosquitto, NULL, pattern);
    watch(broker);
}

void broker_publish(struct broker *broker, const char *topic, const void *payload, size_t size,
                    int qos, bool is_retained)
{
    if (!broker_is_connected(broker))
        return;
    if (!broker->unconfirmed)
        broker->confirmed_ns = clock_now_ns();
    if (mosquitto_publish(broker->mosquitto, NULL, topic, (int)size, payload, qos, is_retained) ==
        MOSQ_ERR_SUCCESS) {
        broker->unconfirmed++;
    }
    watch(broker);
}

unsigned broker_unconfirmed(const struct broker *broker)
{
    return broker->unconfirmed;
}
