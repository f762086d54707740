// Whether an answer to a Digest challenge is right (RFC 7616, section 3.4.1; without qop as in RFC
// 2069, section 2.1.2, which is what RTSP's clients send).
#pragma once

#include "daemon/front/account/authorization.h"

// The digits an answer has to have, for the user's HA1 of its algorithm.
void digest_response(const struct authorization *authorization, const char *method, const char *ha1,
                     char ret_hex[DIGEST_HEX_SIZE]);

// Whether the `uri` of an answer is that of the request.
//
// Both are compared byte for byte, but where the request's begins with rtsp: or rtsps:, only their
// paths are, without slashes at the end, and the request's may have one part more:
// - live555 (VLC, mplayer) signs the base URL for all of its requests: it DESCRIBEs …/edges, is
// told
//   the Content-Base …/edges/ and SETs UP …/edges/stream=0, each with one of the first two as uri.
// - Host, port and user are left to the client: behind a forwarded port, or with another name of
// the
//   server, they differ from what the server knows, and the nonce is this server's alone.
// - A query stands in what is DESCRIBEd but not in the URLs that the Content-Base makes.
// - curl and some recorders sign the path alone.
// So an answer is good for the same method in the same mount.
bool digest_uri_matches(const char *uri, const char *request_uri);
