// Reports to systemd (sd_notify). Without systemd these functions do nothing.
#pragma once

#include <stdint.h>

void notify_ready(void);
void notify_reloading(void);
void notify_stopping(void);
// `status` is one line for `systemctl status`.
void notify_status(const char *status);
void notify_watchdog(void);
// How often notify_watchdog() has to be called, in milliseconds; 0: no watchdog.
unsigned notify_watchdog_interval_ms(void);
