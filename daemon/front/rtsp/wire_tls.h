// A wire inside TLS, by GnuTLS: RTSPS. One thread, nothing blocks.
#pragma once

#include "daemon/front/account/certificate.h"
#include "daemon/front/rtsp/wire.h"

// Over a connected non-blocking socket, which it takes over in any case, as the server that shows
// `certificate` (referenced). The handshake is yet to be done. 0, -ENOMEM or -EIO.
int wire_new_tls(int fd, struct certificate *certificate, struct wire **ret_wire);
