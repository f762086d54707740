#include "capture/gstreamer/rtsp_host.h"

#include <gio/gio.h>
#include <string.h>

#define CONNECT_TIMEOUT_S 1

int rtsp_host_find(const char *url, const char **ret_host)
{
    const char *host = strstr(url, "://"), *at;
    size_t length;

    host = host ? host + 3 : url;
    length = strcspn(host, "/?#");
    at = memrchr(host, '@', length);
    *ret_host = at ? at + 1 : host;
    return (int)(length - (size_t)(*ret_host - host));
}

// The length of "host" or "[::1" before a port.
static size_t name_length(const char *host, int length)
{
    const char *end = memchr(host, *host == '[' ? ']' : ':', (size_t)length);

    return end ? (size_t)(end - host) : (size_t)length;
}

// Whether all that reads the URL finds the host at one place: GStreamer ends a user at the first @,
// and lets a # begin no fragment.
static bool is_plain(const char *url)
{
    const char *authority = strstr(url, "://");

    authority = authority ? authority + 3 : url;
    return strcspn(authority, "@#\\") >= strcspn(authority, "/?");
}

bool rtsp_host_is_same(const char *a, const char *b)
{
    const char *host_a, *host_b;
    int length_a = rtsp_host_find(a, &host_a), length_b = rtsp_host_find(b, &host_b);
    size_t length = name_length(host_a, length_a);

    return is_plain(a) && is_plain(b) && length == name_length(host_b, length_b) &&
           g_ascii_strncasecmp(host_a, host_b, length) == 0;
}

char *rtsp_host_try(const char *url, uint16_t default_port)
{
    g_autoptr(GSocketClient) tried = g_socket_client_new();
    g_autoptr(GSocketConnection) connection = NULL;
    g_autoptr(GError) problem = NULL;
    g_autofree char *address = NULL;
    const char *host;
    int length = rtsp_host_find(url, &host);

    address = g_strndup(host, (size_t)length);
    g_socket_client_set_timeout(tried, CONNECT_TIMEOUT_S);
    g_socket_client_set_enable_proxy(tried, FALSE);
    connection = g_socket_client_connect_to_host(tried, address, default_port, NULL, &problem);
    if (connection)
        return NULL;
    if (g_error_matches(problem, G_IO_ERROR, G_IO_ERROR_CONNECTION_REFUSED)) {
        return strrchr(address, ':') > strrchr(address, ']')
                   ? g_strdup_printf("connection refused by %s", address)
                   : g_strdup_printf("connection refused by %s:%u", address, default_port);
    }
    if (problem->domain == G_RESOLVER_ERROR)
        return g_strdup_printf("no such host: %s", address);
    if (g_error_matches(problem, G_IO_ERROR, G_IO_ERROR_TIMED_OUT))
        return g_strdup_printf("%s does not answer", address);
    return g_strdup_printf("cannot connect to %s: %s", address, problem->message);
}
