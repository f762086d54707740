// Whether an answer to a Digest challenge is right (RFC 7616, section 3.4.1; without qop as in RFC
// 2069, section 2.1.2, which is what RTSP's clients send).
#pragma once

#include "daemon/front/account/authorization.h"

// The digits an answer has to have, for the user's HA1 of its algorithm.
void digest_response(const struct authorization *authorization, const char *method, const char *ha1,
                     char ret_hex[DIGEST_HEX_SIZE]);

// Whether the `uri` of an answer is that of the request.
//
// Both are compared byte for byte. But if the request's URI begins with rtsp: or rtsps:, only the
// paths are compared, without slashes at the end, and the request's may have one part more:
// - live555 (VLC, mplayer) signs one URL for all of its requests. It sends DESCRIBE for …/edges,
//   gets the Content-Base …/edges/ and sends SETUP for …/edges/stream=0, and signs one of the first
//   two each time.
// - Clients choose host, port and user: behind a forwarded port, or by another name of the server,
//   they differ from what the server knows. The nonce is this server's alone, so that is harmless.
// - DESCRIBE may have a query, which the URLs that are made from the Content-Base do not have.
// - curl and some recorders sign the path alone.
// So an answer is valid for the same method in the same mount.
bool digest_uri_matches(const char *uri, const char *request_uri);
