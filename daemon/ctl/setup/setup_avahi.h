// edged among the services that this machine's avahi-daemon announces (mDNS), for `edgectl setup`.
#pragma once

#include "config/config.h"

// The file for avahi-daemon (avahi.service(5)): the streams (_rtsp._tcp) and, where other machines
// reach it, HTTP (_http._tcp, _https._tcp). The caller g_free()s it. NULL: nothing is open to the
// network.
char *setup_avahi_text(const struct config *config);
// Writes it, or removes it where it is NULL. Does nothing where there is no avahi-daemon; a failure
// is a warning, and so is a file of that name that setup did not write, which stays.
void setup_avahi_place(const struct config *config);
