// A wire inside TLS, by GnuTLS: RTSPS. One thread, nothing blocks.
#pragma once

#include "daemon/front/account/certificate.h"
#include "daemon/front/rtsp/wire.h"

// Over a connected non-blocking socket, which it takes over in any case, as a server with
// `certificate` (referenced). The handshake still has to be done. 0, -ENOMEM or -EIO.
int wire_new_tls(int fd, struct certificate *certificate, struct wire **ret_wire);
