#include "daemon/front/notify.h"

#include "config/base.h"

#include <inttypes.h>
#include <systemd/sd-daemon.h>

void notify_ready(void)
{
    sd_notify(0, "READY=1");
}

void notify_reloading(void)
{
    sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRId64, clock_now_ns() / NS_PER_US);
}

void notify_stopping(void)
{
    sd_notify(0, "STOPPING=1");
}

void notify_status(const char *status)
{
    sd_notifyf(0, "STATUS=%s", status);
}

void notify_watchdog(void)
{
    sd_notify(0, "WATCHDOG=1");
}

unsigned notify_watchdog_interval_ms(void)
{
    uint64_t limit_us;

    // Half of the limit, as sd_watchdog_enabled(3) recommends.
    return sd_watchdog_enabled(0, &limit_us) > 0 ? (unsigned)(limit_us / 2 / 1000) : 0;
}
