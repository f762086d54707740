// Access over HTTP.
//
// A program proves its user with each request, by Digest, inside TLS also by Basic, or is known by
// its token (account.h). A browser logs in once and then has a cookie (sessions.h). Without users
// clients on this machine read; to change something a program needs a token and a person opens the
// link that `edgectl page` prints. auth = "none" lets everybody read.
//
// A browser may send a request because a page of another site tells it to. There are two guards.
// Where nobody is asked for a password, only requests to an address, "localhost" or a name of this
// machine are answered (http_check.h), because any other name can be made to resolve to it. And a
// browser may change something only from a page of this server, which the headers Origin, Host and
// Sec-Fetch-Site show. No page can send X-Forwarded-Proto to another server. A request with neither
// of them and no cookie comes from a program.
#pragma once

#include "daemon/front/account/sessions.h"
#include "daemon/front/http/http_reply.h"

#define ACCESS_COOKIE_SIZE 32
// For struct http_route: everybody who reaches the server may ask.
#define ACCESS_EVERYBODY ((enum config_role)(-1))

struct http_access {
    struct account *account;   // borrowed; NULL: there are no users
    struct sessions *sessions; // borrowed
    bool is_local; // by the control socket: everyone but edged-mqtt who can open it may do all
    bool encrypted;
    const struct config_http_clients *clients; // borrowed; NULL where it is local
    char cookie[ACCESS_COOKIE_SIZE];           // the name of its cookie
};

// Names the cookie of a server at `port`, of which `encrypted` is set. Browsers send a cookie to
// all ports of a host, so each edged on it has a name of its own. Inside TLS the name begins with
// "__Host-": browsers then take the cookie from this host alone, and only inside TLS (RFC 6265bis,
// section 4.1.3.2).
void access_name_cookie(struct http_access *access, int port);

// Whether a request on the control socket comes from edged-mqtt. A broker's clients may have taken
// it over, so it is an operator who may ask for what it needs alone (struct http_route).
bool access_is_broker(const struct http_access *access, const struct http_request *request);

// Replies 400, 401, 403 or 429 to a request whose sender may not make it, and sets *ret_refused.
// `role` is the least that may ask, or ACCESS_EVERYBODY, for which only the cookie is looked at.
// Afterwards the request's login says who the client is. `changes`: the request would change
// something.
HTTP_RESULT access_check(const struct http_access *access, enum config_role role, bool changes,
                         const struct http_request *request, bool *ret_refused);
// The role of the client of an allowed request, which says what it may watch.
enum config_role access_role(const struct http_access *access, const struct http_request *request);
// The role by which the client changes settings, also where all may watch everything: an
// administrator's on the control socket, else that of its login.
enum config_role access_rank(const struct http_access *access, const struct http_request *request);
// Whether the client may do what takes an operator.
bool access_can_change(const struct http_access *access, const struct http_request *request);
// The session of a request's cookie; NULL: it has none. Borrowed until the next call.
const struct account_login *access_session(const struct http_access *access,
                                           const struct http_request *request);
bool access_is_loopback(const struct http_request *request); // whether it comes from this machine
// Whether the client uses https: to this server, or to one of http.proxies in front of it, which
// says so by X-Forwarded-Proto.
bool access_is_encrypted(const struct http_access *access, const struct http_request *request);
// Whether a password may be sent: inside TLS, or from this machine.
bool access_is_private(const struct http_access *access, const struct http_request *request);
// Replies what account_check() says of a request that is not allowed. `by_form`: the browser shall
// not ask for a password by a prompt of its own.
HTTP_RESULT access_refuse(const struct http_request *request, const struct account_answer *answer,
                          bool by_form);
// Whether pages of other origins may show pictures: nobody is asked for a password, or http.embed
// says so.
bool access_may_embed(const struct http_access *access);
// Of a header; NULL: it is not there.
const char *http_header_of(const struct http_request *request, const char *name);
bool http_is_read(const struct http_request *request);
