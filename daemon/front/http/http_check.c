#include "daemon/front/http/http_check.h"

#include <arpa/inet.h>
#include <glib.h>
#include <limits.h>
#include <resolv.h>
#include <string.h>

// Headers of which there may be one alone.
enum single { AUTHORIZATION, HOST, ORIGIN, CONTENT_LENGTH, TRANSFER_ENCODING, SINGLE_COUNT };

static const char *const single_names[SINGLE_COUNT] = {
    [AUTHORIZATION] = MHD_HTTP_HEADER_AUTHORIZATION,
    [HOST] = MHD_HTTP_HEADER_HOST,
    [ORIGIN] = MHD_HTTP_HEADER_ORIGIN,
    [CONTENT_LENGTH] = MHD_HTTP_HEADER_CONTENT_LENGTH,
    [TRANSFER_ENCODING] = MHD_HTTP_HEADER_TRANSFER_ENCODING,
};

struct headers {
    const char *values[SINGLE_COUNT]; // NULL: it is not there
    const struct http_check_fault *fault;
};

static const struct http_check_fault two_headers = {
    "got more than one header Authorization, Host, Origin, Content-Length or Transfer-Encoding,",
    "one of each"};
static const struct http_check_fault odd_header = {
    "a header has a blank in its name, or a control character", NULL};
static const struct http_check_fault two_lengths = {
    "got both Content-Length and Transfer-Encoding,", "one of them"};
static const struct http_check_fault odd_length = {"Content-Length is no number", NULL};
static const struct http_check_fault odd_encoding = {"got another Transfer-Encoding than is",
                                                     "chunked, of HTTP/1.1"};
static const struct http_check_fault no_version = {"the request line has no version,",
                                                   "HTTP/1.1 or HTTP/1.0"};
static const struct http_check_fault odd_target = {"the address has a blank or a control character",
                                                   NULL};
static const struct http_check_fault no_host = {"HTTP/1.1 needs the header Host", NULL};

static bool is_control(char byte)
{
    return ((unsigned char)byte < 0x20 && byte != '\t') || byte == 0x7f;
}

// Of RFC 9110, section 5.6.2.
static bool is_token(const char *name, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (!g_ascii_isalnum(name[i]) && !(name[i] && strchr("!#$%&'*+-.^_`|~", name[i])))
            return false;
    }
    return size > 0;
}

static bool has_control(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (is_control(text[i]))
            return true;
    }
    return false;
}

static void take_single(struct headers *headers, enum single which, const char *value)
{
    if (headers->values[which])
        headers->fault = &two_headers;
    headers->values[which] = value;
}

static HTTP_RESULT look(void *context, enum MHD_ValueKind kind, const char *name, size_t name_size,
                        const char *value, size_t value_size)
{
    struct headers *headers = context;

    (void)kind;
    value = value ? value : "";
    if (!is_token(name, name_size) || has_control(value, value_size))
        headers->fault = &odd_header;
    for (unsigned i = 0; i < SINGLE_COUNT; i++) {
        if (g_ascii_strcasecmp(name, single_names[i]) == 0)
            take_single(headers, i, value);
    }
    return MHD_YES;
}

// Whether the request target, as it was sent, has a blank or a control character, also encoded.
static bool is_odd_target(const char *uri)
{
    for (const char *at = uri; *at; at++) {
        if (*at == ' ' || *at == '\t' || is_control(*at))
            return true;
        if (*at == '%' && g_ascii_isxdigit(at[1]) && g_ascii_isxdigit(at[2]) &&
            is_control((char)(g_ascii_xdigit_value(at[1]) << 4 | g_ascii_xdigit_value(at[2])))) {
            return true;
        }
    }
    return false;
}

static const struct http_check_fault *find_body_fault(const struct headers *headers, bool is_old)
{
    const char *length = headers->values[CONTENT_LENGTH];
    const char *encoding = headers->values[TRANSFER_ENCODING];

    if (length && encoding)
        return &two_lengths;
    if (length && (!*length || strspn(length, "0123456789") != strlen(length)))
        return &odd_length;
    if (encoding && (is_old || g_ascii_strcasecmp(encoding, "chunked") != 0))
        return &odd_encoding;
    return NULL;
}

const struct http_check_fault *http_check_fault(const struct http_request *request)
{
    struct headers headers = {0};
    bool is_old = strcmp(request->version, MHD_HTTP_VERSION_1_0) == 0;

    if (!is_old && strcmp(request->version, MHD_HTTP_VERSION_1_1) != 0)
        return &no_version;
    if (is_odd_target(request->uri))
        return &odd_target;
    MHD_get_connection_values_n(request->connection, MHD_HEADER_KIND, look, &headers);
    if (headers.fault)
        return headers.fault;
    if (!is_old && !headers.values[HOST])
        return &no_host;
    return find_body_fault(&headers, is_old);
}

// The name of this machine
// ---------------------------------------------------------------------

// The header Host without its port and a last dot. False: it is none.
static bool read_host(const struct http_request *request, char ret_name[CONFIG_HOST_SIZE])
{
    const char *host =
        MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
    size_t length;

    if (!host || !config_read_host(host, strlen(host), ret_name))
        return false;
    length = strlen(ret_name);
    if (length > 1 && ret_name[length - 1] == '.')
        ret_name[length - 1] = '\0';
    return true;
}

char *http_check_https(const struct http_request *request)
{
    char name[CONFIG_HOST_SIZE];

    if (*request->uri != '/' || !read_host(request, name) || strpbrk(name, "/?#@\\"))
        return NULL;
    return g_strconcat(
        "https://",
        MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST),
        request->uri, NULL);
}

static bool is_named(const char *name, const struct config_names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        if (g_ascii_strcasecmp(name, names->list[i]) == 0)
            return true;
    }
    return false;
}

static bool is_without_host(const struct http_request *request)
{
    return !MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
}

bool http_check_is_loopback(const struct http_request *request, const struct config_names *names)
{
    char name[CONFIG_HOST_SIZE];

    if (is_without_host(request))
        return true;
    return read_host(request, name) &&
           (config_is_loopback(name) || g_ascii_strcasecmp(name, "localhost") == 0 ||
            is_named(name, names));
}

static bool is_address(const char *name)
{
    char address[INET6_ADDRSTRLEN];
    struct in6_addr v6;
    size_t length = strcspn(name, "%");

    if (length >= sizeof address)
        return false;
    memcpy(address, name, length);
    address[length] = '\0';
    return inet_pton(AF_INET, name, &v6) == 1 || inet_pton(AF_INET6, address, &v6) == 1;
}

// Whether it is `host` and a dot and `domain`.
static bool is_in(const char *name, const char *host, const char *domain)
{
    size_t length = strlen(host);

    return g_ascii_strncasecmp(name, host, length) == 0 && name[length] == '.' &&
           g_ascii_strcasecmp(name + length + 1, domain) == 0;
}

// Whether it is `host` in a domain of resolv.conf(5).
static bool is_in_own_domain(const char *name, const char *host)
{
    struct __res_state state = {0};
    bool found = false;

    if (res_ninit(&state) < 0)
        return false;
    for (unsigned i = 0; state.dnsrch[i] && !found; i++)
        found = is_in(name, host, state.dnsrch[i]);
    res_nclose(&state);
    return found;
}

static bool is_of_host(const char *name)
{
    char host[HOST_NAME_MAX + 1] = "";

    if (gethostname(host, sizeof host - 1) < 0 || !*host)
        return false;
    if (g_ascii_strcasecmp(name, host) == 0)
        return true;
    host[strcspn(host, ".")] = '\0';
    return g_ascii_strcasecmp(name, host) == 0 || is_in(name, host, "local") ||
           is_in_own_domain(name, host);
}

bool http_check_is_own(const struct http_request *request, const struct config_names *names)
{
    char name[CONFIG_HOST_SIZE];

    if (is_without_host(request))
        return true;
    return read_host(request, name) &&
           (is_address(name) || g_ascii_strcasecmp(name, "localhost") == 0 ||
            is_named(name, names) || is_of_host(name));
}
