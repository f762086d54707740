// The keys of what others reach: the RTSP server, the control socket, and the control API over TCP.
#include "config/schema/schema.h"

#include "config/multicast_range.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <string.h>
#include <sys/un.h>

static bool accepts_address(const char *string)
{
    struct in6_addr address;

    return strcmp(string, "localhost") == 0 || inet_pton(AF_INET, string, &address) == 1 ||
           inet_pton(AF_INET6, string, &address) == 1;
}

static bool accepts_peer(const char *string)
{
    return strcmp(string, "localhost") != 0 && accepts_address(string);
}

static bool accepts_host(const char *string)
{
    static const char characters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";

    return *string && *string != '.' && strlen(string) < CONFIG_LONG_NAME_SIZE &&
           string[strspn(string, characters)] == '\0';
}

bool config_is_loopback(const char *address)
{
    struct in_addr v4;
    struct in6_addr v6;

    if (inet_pton(AF_INET, address, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET;
    return strcmp(address, "localhost") == 0 ||
           (inet_pton(AF_INET6, address, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6));
}

static bool is_port(const char *text, size_t length)
{
    unsigned port = 0;

    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9' || port > 65535)
            return false;
        port = 10 * port + (unsigned)(text[i] - '0');
    }
    return length == 0 || (port >= 1 && port <= 65535);
}

// "fe80::1%eth0" is one, too: the name of an interface may follow.
static bool is_v6(const char *host)
{
    size_t length = strcspn(host, "%");
    char address[INET6_ADDRSTRLEN] = "";
    struct in6_addr v6;

    if (length >= sizeof address)
        return false;
    memcpy(address, host, length);
    return inet_pton(AF_INET6, address, &v6) == 1;
}

bool config_read_host(const char *text, size_t length, char ret_host[CONFIG_HOST_SIZE])
{
    bool bracket = length > 0 && *text == '[';
    const char *host = text + bracket;
    const char *end = memchr(text, bracket ? ']' : ':', length);
    const char *rest = end ? end + bracket : text + length;
    size_t host_length = (size_t)((end ? end : text + length) - host);
    size_t rest_length = (size_t)(text + length - rest);

    if ((bracket && !end) || host_length == 0 || host_length >= CONFIG_HOST_SIZE ||
        memchr(host, '\0', host_length) ||
        (rest_length > 0 && (*rest != ':' || !is_port(rest + 1, rest_length - 1)))) {
        return false;
    }
    memcpy(ret_host, host, host_length);
    ret_host[host_length] = '\0';
    return bracket ? is_v6(ret_host) : !strpbrk(ret_host, "[]");
}

static bool accepts_socket(const char *string)
{
    return strlen(string) < sizeof((struct sockaddr_un *)NULL)->sun_path;
}

static bool accepts_multicast(const char *string)
{
    struct multicast_range range;

    return multicast_range_parse(string, &range) == 0;
}

static bool accepts_interface(const char *string)
{
    return strlen(string) < IFNAMSIZ && !strpbrk(string, "/ \t\r\n");
}

static const struct schema_rule address_rule = {
    accepts_address,
    "a loopback address; with users or auth = \"none\", any of this machine",
};
static const struct schema_rule proxy_rule = {
    accepts_peer,
    "an address of IPv4 or IPv6",
};
static const struct schema_rule host_rule = {
    accepts_host,
    "a host name of letters, digits, '-', '_' and '.', of at most 127 bytes",
};
static const struct schema_rule socket_rule = {
    accepts_socket,
    "a path of at most 107 bytes",
};

static const struct schema_rule multicast_rule = {accepts_multicast, MULTICAST_RANGE_ALLOWED};
static const struct schema_rule interface_rule = {
    accepts_interface,
    "\"\" or the name of a network interface, as `ip link` shows it",
};

static const char *const auth_words[] = {
    [CONFIG_AUTH_UNSET] = "",
    [CONFIG_AUTH_NONE] = "none",
    NULL,
};

#define LIMIT(field, least, most, usual, sentence)                                                 \
    {                                                                                              \
#field, SCHEMA_INTEGER, .offset = offsetof(struct config, rtsp.limits.field),              \
                                .minimum = (least), .maximum = (most), .default_text = (usual),    \
                                .help = (sentence)                                                 \
    }

static const struct schema_key limits_keys[] = {
    LIMIT(
        connections, 1, 65536, "1024",
        "Connections at a time. When full, edged closes an idle connection of the address that has "
        "most; if all play or have logged in, it refuses the new one."),
    LIMIT(connections_an_address, 1, 65536, "256",
          "The same of one address: of IPv4 an address, of IPv6 a /64."),
    LIMIT(
        sessions, 1, 65536, "1024",
        "Viewers that are set up or play at a time. A new one replaces the one paused longest, of "
        "the address with the most viewers; if all play, it is answered 453."),
    LIMIT(
        sessions_an_address, 1, 65536, "256",
        "Viewers of one address; one more is answered 453. A recorder, or all behind a router, is "
        "one address."),
    LIMIT(sessions_a_connection, 1, 256, "8",
          "Viewers on one connection; one more is answered 453."),
    LIMIT(requests_a_second, 1, 10000, "100",
          "Requests a second on a connection; a further one is answered 429, and the connection is "
          "closed."),
    LIMIT(play_within_s, 1, 3600, "10",
          "How long a connection or a viewer that has not played yet is kept."),
};

static const struct schema_group limits_group = {
    .title = "rtsp.limits",
    .help = "Limits for clients of the RTSP server, so that one client cannot use up everything.",
    .keys = limits_keys,
    .key_count = ARRAY_LENGTH(limits_keys),
    .cost = CONFIG_COST_FRAME,
};

#define MULTICAST_FIELD(member) .offset = offsetof(struct config, rtsp.multicast.member)
static const struct schema_key multicast_keys[] = {
    {"addresses", SCHEMA_STRING, MULTICAST_FIELD(addresses), .rule = &multicast_rule,
     .default_text = "",
     .help = "The group addresses; \"\" turns multicast off, and a request for it is answered 461. "
             "A stream has the first free address for as long as it has viewers; if all are taken, "
             "the request is answered 453."},
    {"port", SCHEMA_INTEGER, MULTICAST_FIELD(port), .unit = "UDP port", .minimum = 1024,
     .maximum = 65534 - 2 * (CONFIG_MULTICAST_MAX - 1), .even = true, .default_text = "5004",
     .help =
         "The port of the first group, with RTCP on the next one; each further group has the two "
         "ports that follow, because some systems hand a player all that comes to its port."},
    {"ttl", SCHEMA_INTEGER, MULTICAST_FIELD(ttl), .minimum = 1, .maximum = 255, .default_text = "1",
     .help = "How far packets go: 1 is the network of the interface; each router on the way takes "
             "one away."},
    {"interface", SCHEMA_STRING, MULTICAST_FIELD(interface), .rule = &interface_rule,
     .default_text = "",
     .help =
         "The network interface they leave by, for example \"eth0\"; \"\" is that of rtsp.address, "
         "or where that is 0.0.0.0 or of IPv6, that of the routes (`ip route get 239.255.0.1`)."},
    {"public", SCHEMA_BOOLEAN, MULTICAST_FIELD(public), .default_text = "false",
     .help = "Must be true with users and multicast: a user needs a password to start it, but then "
             "anybody in the network can join the group and watch. A view that not every user may "
             "watch (allow) is never sent by multicast."},
};

static const struct schema_group multicast_group = {
    .title = "rtsp.multicast",
    .help =
        "Streams that are sent once, however many watch, to a multicast group of IPv4, for "
        "clients that ask for it (ffmpeg's -rtsp_transport udp_multicast, rtspsrc's "
        "protocols=udp-mcast). Multicast is not secret: anybody in the network can join a "
        "group, and a switch without IGMP snooping sends it to every port. A change applies to "
        "groups that begin later; viewers of a group that is no longer allowed are disconnected.",
    .keys = multicast_keys,
    .key_count = ARRAY_LENGTH(multicast_keys),
    .cost = CONFIG_COST_FRAME,
};

static const struct schema_key rtsp_keys[] = {
    {"address", SCHEMA_STRING, .offset = offsetof(struct config, rtsp.address),
     .rule = &address_rule, .default_text = "127.0.0.1",
     .help = "The address the RTSP server listens on; 0.0.0.0 and :: are all of the machine."},
    {"auth", SCHEMA_WORD, .offset = offsetof(struct config, rtsp.auth), .words = auth_words,
     .default_text = "", .cost = CONFIG_COST_FRAME,
     .help = "Who may watch. \"\" is the users; without users this machine only, and the server "
             "listens on a loopback address. \"none\": anybody who can reach the address may watch "
             "every view, without a password. Use it only on a network that you trust. It cannot "
             "be combined with users."},
    {"users", SCHEMA_STRING, .offset = offsetof(struct config, rtsp.users), .default_text = "",
     .cost = CONFIG_COST_FRAME,
     .help =
         "The file of users with their roles and password hashes, which edgectl passwd writes, for "
         "example \"/etc/edged/rtsp.users\". Only its owner, the user that edged runs as, may read "
         "it (chmod 600). A relative name is one beside this file. \"\" is the systemd credential "
         "rtsp.users where the service has one, else no users. A reload reads the file again, "
         "refuses one with a mistake, and disconnects users that are gone."},
    {"tokens", SCHEMA_STRING, .offset = offsetof(struct config, rtsp.tokens), .default_text = "",
     .cost = CONFIG_COST_FRAME,
     .help =
         "The file of programs that ask over HTTP with a token, with their roles and the tokens' "
         "hashes, which edgectl token writes. \"\" is the systemd credential rtsp.tokens, else the "
         "file rtsp.tokens beside this one, if it is there. The rest is as of users."},
    {"port", SCHEMA_INTEGER, .offset = offsetof(struct config, rtsp.port), .unit = "TCP port",
     .minimum = 0, .maximum = 65535, .default_text = "8554",
     .help = "The port the RTSP server listens on; 0 takes any free one."},
    {"plain", SCHEMA_BOOLEAN, .offset = offsetof(struct config, rtsp.plain), .default_text = "true",
     .help = "Whether to serve RTSP without TLS; with false, only inside TLS, at tls_port. A "
             "reload that changes this key is refused."},
    {"tls_port", SCHEMA_INTEGER, .offset = offsetof(struct config, rtsp.tls_port),
     .unit = "TCP port", .minimum = 0, .maximum = 65535, .default_text = "0",
     .cost = CONFIG_COST_FRAME,
     .help = "The port for RTSP inside TLS, rtsps://ADDRESS:TLS_PORT/CAMERA/VIEW; 0 turns it off, "
             "8322 is the usual port. Passwords and pictures are encrypted and go over TCP: there "
             "is no SRTP for UDP."},
    {"certificate", SCHEMA_STRING, .offset = offsetof(struct config, rtsp.certificate),
     .default_text = "", .cost = CONFIG_COST_FRAME,
     .help = "The server's certificate for tls_port and http.tls, a PEM file; certificates up to "
             "its issuer's may follow it. If this and key are \"\", edged makes a self-signed one "
             "at its first start; the log and edgectl status show the fingerprint. A relative name "
             "is one beside this file."},
    {"key", SCHEMA_STRING, .offset = offsetof(struct config, rtsp.key), .default_text = "",
     .cost = CONFIG_COST_FRAME,
     .help = "The certificate's key, a PEM file without a passphrase, which only its owner and "
             "group may read (chmod 640). A reload reads both files again."},
    {"limits", SCHEMA_GROUP, .group = &limits_group, .help = "Limits for clients."},
    {"multicast", SCHEMA_GROUP, .group = &multicast_group,
     .help = "Streams sent once for many viewers."},
};
const struct schema_group schema_rtsp = {
    .title = "rtsp",
    .help = "The streams' server: rtsp://ADDRESS:PORT/CAMERA/VIEW.",
    .keys = rtsp_keys,
    .key_count = ARRAY_LENGTH(rtsp_keys),
    .cost = CONFIG_COST_START,
};

static const struct schema_key control_keys[] = {
    {"socket", SCHEMA_STRING, .offset = offsetof(struct config, control.socket),
     .rule = &socket_rule, .default_text = "",
     .help = "The path of the unix socket; \"\" is $XDG_RUNTIME_DIR/edged/control.sock for a user "
             "other than root that has it, else /run/edged/control.sock. Its owner and group alone "
             "may use it."},
};
const struct schema_group schema_control = {
    .title = "control",
    .help = "The socket that serves status and metrics, read by edgectl status.",
    .keys = control_keys,
    .key_count = ARRAY_LENGTH(control_keys),
    .cost = CONFIG_COST_START,
};

#define HTTP_CLIENT(field) .offset = offsetof(struct config, http.clients.field)
static const struct schema_key http_limits_keys[] = {
    {"connections", SCHEMA_INTEGER, HTTP_CLIENT(connections), .minimum = 1, .maximum = 65536,
     .default_text = "256",
     .help =
         "Connections at a time; each video is one. When full, edged closes one that waits for a "
         "request or reads slowly, of the address that has most, or else refuses the new one."},
    {"connections_an_address", SCHEMA_INTEGER, HTTP_CLIENT(connections_an_address), .minimum = 1,
     .maximum = 65536, .default_text = "64",
     .help = "The same of one address, but for proxies: of IPv4 an address, of IPv6 a /64. A "
             "browser opens up to six; all behind a router are one address."},
    {"streams", SCHEMA_INTEGER, HTTP_CLIENT(streams), .minimum = 1, .maximum = 65536,
     .default_text = "64",
     .help = "Replies that go on at a time (videos, events, downloads), and snapshots that wait "
             "for a picture. The last 8 are for clients that have logged in. One more ends the "
             "newest of the user or address that has most, or gets 503 where all have as many."},
    {"streams_a_client", SCHEMA_INTEGER, HTTP_CLIENT(streams_a_client), .minimum = 0,
     .maximum = 65536, .default_text = "0",
     .help = "The same of one user or, without a login, of one address but for proxies; one more "
             "gets 503. 0 is a quarter of streams."},
};

static const struct schema_group http_limits_group = {
    .title = "http.limits",
    .help = "Limits for clients over TCP, so that one client cannot use up everything. Connections "
            "are at "
            "most a quarter of the descriptors that edged may have.",
    .keys = http_limits_keys,
    .key_count = ARRAY_LENGTH(http_limits_keys),
    .cost = CONFIG_COST_FRAME,
};

static const struct schema_key http_keys[] = {
    {"address", SCHEMA_STRING, .offset = offsetof(struct config, http.address),
     .rule = &address_rule, .default_text = "127.0.0.1",
     .help = "The address it listens on; 0.0.0.0 and :: are all of the machine."},
    {"port", SCHEMA_INTEGER, .offset = offsetof(struct config, http.port), .unit = "TCP port",
     .minimum = 0, .maximum = 65535, .default_text = "9854",
     .help = "The port it listens on; 0 turns it off. If neither this nor the address is set and "
             "the port is taken, edged goes on without."},
    {"tls", SCHEMA_BOOLEAN, .offset = offsetof(struct config, http.tls), .default_text = "false",
     .help = "Whether to use https, with the certificate of the RTSP server, and redirect http to "
             "it. Only with https can clients log in by Basic; without it they use Digest."},
    {"proxies", SCHEMA_NAMES, HTTP_CLIENT(proxies), .rule = &proxy_rule,
     .default_text = "127.0.0.1,::1", .default_note = "( \"127.0.0.1\", \"::1\" )",
     .help = "Addresses that stand for many clients, as a reverse proxy's. Limits of one address "
             "do not count for them; their X-Forwarded-Proto does."},
    {"names", SCHEMA_NAMES, HTTP_CLIENT(names), .rule = &host_rule, .default_note = "( )",
     .help = "Names by which clients reach this machine, besides its own (edged(8)), localhost and "
             "addresses. Where nobody is asked for a password, another name in Host is refused: a "
             "page of a stranger can make any name lead here."},
    {"embed", SCHEMA_BOOLEAN, HTTP_CLIENT(embed), .default_text = "false",
     .help = "With users, whether pages of other servers may show snapshots and video. Any page "
             "that a viewer's browser opens may then show, but not read, them."},
    {"limits", SCHEMA_GROUP, .group = &http_limits_group, .help = "Limits for clients."},
};
const struct schema_group schema_http = {
    .title = "http",
    .help =
        "The page, status, metrics, events, pictures and video over TCP, for the users of the RTSP "
        "server; without users for this machine. Every viewer can read them; only an operator "
        "can change something.",
    .keys = http_keys,
    .key_count = ARRAY_LENGTH(http_keys),
    .cost = CONFIG_COST_FRAME,
};

static const struct schema_key onvif_keys[] = {
    {"enabled", SCHEMA_BOOLEAN, .offset = offsetof(struct config, onvif.enabled),
     .default_text = "false",
     .help = "Whether to answer ONVIF, at the address and port of http. It takes a user that "
             "edgectl passwd --onvif makes."},
    {"plain", SCHEMA_BOOLEAN, .offset = offsetof(struct config, onvif.plain),
     .default_text = "true",
     .help = "With http.tls, whether to answer ONVIF without TLS as well: most recorders, and Home "
             "Assistant, know no https. Everything else at that port stays inside TLS."},
    {"discovery", SCHEMA_BOOLEAN, .offset = offsetof(struct config, onvif.discovery),
     .default_text = "true",
     .help =
         "Whether to answer clients in the same network that look for cameras (WS-Discovery, "
         "UDP port 3702). Only with enabled, and where http.address is not a loopback address."},
};
const struct schema_group schema_onvif = {
    .title = "onvif",
    .help = "ONVIF, by which recorders and Home Assistant take in cameras: streams, snapshots and "
            "motion. A camera's H.264 and MJPEG views are its profiles.",
    .keys = onvif_keys,
    .key_count = ARRAY_LENGTH(onvif_keys),
    .cost = CONFIG_COST_FRAME,
};
