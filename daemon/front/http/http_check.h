// Checks whether two readers may take a request for two different ones, and by which name it asks
// for this machine.
//
// A proxy in front of edged may read a body or a header where edged reads another (RFC 9112,
// section 11.2). libmicrohttpd takes the first of two headers, so this looks at all of them before
// a body is read. Bytes that libmicrohttpd hides stay unseen: before 1.0 a byte 0 ends a value or
// an address.
#pragma once

#include "config/config.h"
#include "daemon/front/http/http_server.h"

// The fault in the request line or the headers, and what is allowed instead (may be NULL).
struct http_check_fault {
    const char *got, *allowed;
};
// NULL: there is none.
const struct http_check_fault *http_check_fault(const struct http_request *request);

// The address that the request asks for, with https and the header Host as it was sent; for
// g_free(). NULL: it has no Host that is one, or asks for something without a path.
char *http_check_https(const struct http_request *request);

// Whether the header Host is a loopback address or "localhost", or one of `names`. Also for a
// client older than HTTP/1.1 without the header.
bool http_check_is_loopback(const struct http_request *request, const struct config_names *names);
// Whether it is an address, "localhost", a name of this machine, or one of `names`. A page of a
// stranger can make any other name lead here. No name is looked up: the names are the host's, alone
// and with ".local" or the domains of resolv.conf(5) behind it.
bool http_check_is_own(const struct http_request *request, const struct config_names *names);
