#include "daemon/ctl/setup/setup_service.h"

#include "daemon/common/replace_file.h"

#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#define DROP_IN_FOLDER EDGED_SYSCONFDIR "/systemd/system/edged.socket.d"
#define DROP_IN DROP_IN_FOLDER "/address.conf"

// Runs systemctl. Returns whether it succeeded. `quiet`: its output is dropped.
static bool systemctl(bool quiet, const char *verb, const char *option, const char *unit)
{
    const char *const arguments[] = {"systemctl", verb, option, unit, NULL};
    int flags = G_SPAWN_SEARCH_PATH;
    int status = -1;

    if (quiet) {
        flags |= G_SPAWN_STDOUT_TO_DEV_NULL | G_SPAWN_STDERR_TO_DEV_NULL;
    }
    return g_spawn_sync(NULL, (char **)(void *)arguments, NULL, (GSpawnFlags)flags, NULL, NULL,
                        NULL, NULL, &status, NULL) &&
           status == 0;
}

bool setup_service_exists(void)
{
    return sd_booted() > 0 && systemctl(true, "cat", "--no-pager", "edged.service");
}

bool setup_service_runs(void)
{
    return sd_booted() > 0 && systemctl(true, "is-active", "--quiet", "edged.service");
}

static bool socket_is_used(void)
{
    return systemctl(true, "is-enabled", "--quiet", "edged.socket") ||
           systemctl(true, "is-active", "--quiet", "edged.socket");
}

char *setup_service_socket_text(const char *address, int port)
{
    return g_strdup_printf(strchr(address, ':') ? "[%s]:%d" : "%s:%d",
                           strcmp(address, "localhost") == 0 ? "127.0.0.1" : address, port);
}

bool setup_service_has_address(const char *address)
{
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_PASSIVE,
                                   .ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    bool has = false;

    if (strcmp(address, "localhost") == 0) {
        return true;
    }
    if (getaddrinfo(address, NULL, &hints, &found) != 0) {
        return false;
    }
    _cleanup_(cleanup_close) int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    has = fd >= 0 && bind(fd, found->ai_addr, found->ai_addrlen) == 0;
    freeaddrinfo(found);
    return has;
}

// The drop-in as it was before write_drop_in(); without a path it has not been changed.
static struct replaced_file drop_in;

static int write_drop_in(const char *address, int port, struct error *error)
{
    g_autofree char *place = setup_service_socket_text(address, port);
    g_autofree char *text = g_strdup_printf(
        "# Written by `edgectl setup`.\n[Socket]\nListenStream=\nListenStream=%s\n", place);

    if (g_mkdir_with_parents(DROP_IN_FOLDER, 0755) < 0) {
        return error_set(error, -errno, "cannot make %s: %s", DROP_IN_FOLDER, strerror(errno));
    }
    int r = replaced_file_read(DROP_IN, error, &drop_in);

    return r < 0 ? r : replaced_file_write(&drop_in, text, strlen(text), error);
}

void setup_service_put_socket_back(void)
{
    if (!drop_in.path) {
        return;
    }
    replaced_file_put_back(&drop_in);
    replaced_file_finish(&drop_in);
    systemctl(true, "stop", "--quiet", "edged.service");
    systemctl(true, "daemon-reload", "--quiet", NULL);
    systemctl(true, "restart", "--quiet", "edged.socket");
}

// A socket takes another address only while its service does not run.
int setup_service_place_socket(const char *address, int port, struct error *error)
{
    int r;

    if (!socket_is_used()) {
        return 0;
    }
    r = write_drop_in(address, port, error);
    if (r < 0) {
        return r;
    }
    if (!systemctl(false, "stop", "--quiet", "edged.service") ||
        !systemctl(false, "daemon-reload", "--quiet", NULL) ||
        !systemctl(false, "restart", "--quiet", "edged.socket")) {
        return error_set(error, -EIO,
                         "edged.socket does not start: see `systemctl status edged.socket`");
    }
    return 0;
}

int setup_service_start(bool enable, struct error *error)
{
    if (enable && !systemctl(false, "enable", "--quiet", "edged.service")) {
        return error_set(error, -EIO, "`systemctl enable edged` failed");
    }
    if (!systemctl(false, "restart", "--quiet", "edged.service")) {
        return error_set(error, -EIO, "edged does not start: `journalctl -eu edged` says why");
    }
    return 0;
}
