// SOAP 1.2 as ONVIF's clients send it: a request is read into its operation, arguments and login;
// an answer is written as text.
//
// Anybody may send a request, before any login. GMarkup reads it, which knows no entities but XML's
// own five and loads nothing; a DOCTYPE is refused. Size, depth, elements and namespaces are
// bounded. Elements are known by their local names, and an operation by its namespace as well, as
// clients choose prefixes freely.
#pragma once

#include "daemon/front/account/username_token.h"

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

#define SOAP_BYTES_MAX 16384u
#define SOAP_DEPTH_MAX 16u
#define SOAP_ELEMENTS_MAX 256u
#define SOAP_SCOPES_MAX 64u // namespaces that are declared around one element
#define SOAP_ARGUMENTS_MAX 32u
#define SOAP_TEXT_MAX 1024u // bytes of one value

#define SOAP_CONTENT_TYPE "application/soap+xml; charset=utf-8"

// ONVIF's services, what of WS-BaseNotification they use, and WS-Discovery, which is no service.
enum soap_service {
    SOAP_DEVICE,
    SOAP_MEDIA,
    SOAP_EVENTS,
    SOAP_NOTIFICATION,
    SOAP_DISCOVERY,
    SOAP_SERVICE_COUNT
};

// The namespace of a service, and the prefix that stands for it in answers.
const char *soap_namespace(enum soap_service service);
const char *soap_prefix(enum soap_service service);

struct soap_argument {
    const char *name, *text; // in `texts`
};

// A request whose texts are its own. End it with soap_request_finish().
struct soap_request {
    enum soap_service service; // SOAP_SERVICE_COUNT: none of them
    const char *operation;     // "GetProfiles"
    // Elements within the operation that hold text, by their local names, in order.
    struct soap_argument arguments[SOAP_ARGUMENTS_MAX];
    size_t argument_count;
    const char *message_id, *action; // of WS-Addressing; NULL: none
    bool has_token;
    struct username_token token;
    GStringChunk *texts; // owned
};

struct soap_fault {
    bool is_server;     // Receiver, else Sender
    const char *code;   // "ter:InvalidArgVal"; a literal, as the next
    const char *detail; // the code within it; NULL: none
    char text[400];
};

// Reads a request. -EINVAL, with the fault: it is not well-formed, no SOAP 1.2, not in UTF-8, has a
// DOCTYPE, or goes beyond a limit. The result is to be finished after an error, too.
int soap_request_parse(const char *body, size_t size, struct soap_request *ret_request,
                       struct soap_fault *fault);
// Wipes a password in it. Takes a zeroed one.
void soap_request_finish(struct soap_request *request);
// The first argument of a name; NULL: there is none.
const char *soap_request_find(const struct soap_request *request, const char *name);

// Sets the fault of a client; returns -EINVAL. `detail` may be NULL.
__attribute__((format(printf, 4, 5))) int soap_fault_set(struct soap_fault *fault, const char *code,
                                                         const char *detail, const char *format,
                                                         ...);

// Appends text whose arguments are escaped for XML. `format` has %s, %d and
// their like, and no width or precision of '*', which GLib's escaping does not know.
__attribute__((format(printf, 2, 3))) void soap_append(GString *text, const char *format, ...);
// A whole envelope, with the request's MessageID as what it relates to, and `body` in it; the
// caller g_free()s it. `request` may be a zeroed one.
char *soap_envelope(const struct soap_request *request, const char *body);
// The same with a fault.
char *soap_fault_envelope(const struct soap_request *request, const struct soap_fault *fault);

// Moments as xs:dateTime in UTC, "2026-11-29T14:00:00.123Z"; for g_free().
char *soap_time(int64_t wall_ns);
// Reads an xs:duration ("PT1M30S"), or the distance from `now_wall_ns` to an xs:dateTime. -EINVAL:
// it is neither, is negative, or has years or months. More than a year is a year.
int soap_read_duration(const char *text, int64_t now_wall_ns, int64_t *ret_ns);
