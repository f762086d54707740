#include "daemon/ctl/setup/setup_service.h"

#include "daemon/common/replace_file.h"
#include "daemon/common/service_files.h"

#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <netdb.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#define DROP_INS EDGED_SYSCONFDIR "/systemd/system"
#define DROP_IN_HEADER "# Written by `edgectl setup`.\n"

// Runs systemctl. Returns whether it succeeded. `quiet`: its output is dropped.
static bool systemctl(bool quiet, const char *verb, const char *option, const char *unit)
{
    const char *const arguments[] = {"systemctl", verb, option, unit, NULL};
    int flags = G_SPAWN_SEARCH_PATH;
    int status = -1;

    if (quiet)
        flags |= G_SPAWN_STDOUT_TO_DEV_NULL | G_SPAWN_STDERR_TO_DEV_NULL;
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

    if (strcmp(address, "localhost") == 0)
        return true;
    if (getaddrinfo(address, NULL, &hints, &found) != 0)
        return false;
    _cleanup_(cleanup_close) int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    has = fd >= 0 && bind(fd, found->ai_addr, found->ai_addrlen) == 0;
    freeaddrinfo(found);
    return has;
}

// The socket's drop-in as it was before; without a path it has not been changed.
static struct replaced_file drop_in;

// Writes DROP_INS/UNIT.d/NAME, and keeps in `file` what was there.
static int write_drop_in(const char *unit, const char *name, const char *text,
                         struct replaced_file *file, struct error *error)
{
    g_autofree char *folder = g_strdup_printf(DROP_INS "/%s.d", unit);
    g_autofree char *path = g_build_filename(folder, name, NULL);

    if (g_mkdir_with_parents(folder, 0755) < 0)
        return error_set(error, -errno, "cannot make %s: %s", folder, strerror(errno));
    int r = replaced_file_read(path, error, file);

    return r < 0 ? r : replaced_file_write(file, text, strlen(text), error);
}

void setup_service_put_socket_back(void)
{
    if (!drop_in.path)
        return;
    replaced_file_put_back(&drop_in);
    replaced_file_finish(&drop_in);
    systemctl(true, "stop", "--quiet", "edged.service");
    systemctl(true, "daemon-reload", "--quiet", NULL);
    systemctl(true, "restart", "--quiet", "edged.socket");
}

// A socket takes another address only while its service does not run.
int setup_service_place_socket(const char *address, int port, struct error *error)
{
    g_autofree char *place = setup_service_socket_text(address, port);
    g_autofree char *text =
        g_strdup_printf(DROP_IN_HEADER "[Socket]\nListenStream=\nListenStream=%s\n", place);
    int r;

    if (!socket_is_used())
        return 0;
    r = write_drop_in("edged.socket", "address.conf", text, &drop_in, error);
    if (r < 0)
        return r;
    if (!systemctl(false, "stop", "--quiet", "edged.service") ||
        !systemctl(false, "daemon-reload", "--quiet", NULL) ||
        !systemctl(false, "restart", "--quiet", "edged.socket")) {
        return error_set(error, -EIO,
                         "edged.socket does not start: see `systemctl status edged.socket`");
    }
    return 0;
}

// The path as a word of a unit (systemd.syntax(7)).
static char *quote_path(const char *path)
{
    GString *word = g_string_new(NULL);

    for (; *path; path++) {
        if (strchr("\\\"", *path))
            g_string_append_c(word, '\\');
        g_string_append_printf(word, *path == '%' ? "%%%%" : "%c", *path);
    }
    return g_string_free(word, FALSE);
}

// Makes the folder for the user edged, or checks that it is that user's.
static int make_folder(const char *path, struct error *error)
{
    struct stat status;
    uid_t uid;
    gid_t gid;

    if (!service_user_find(&uid, &gid)) {
        return 0; // the recorder makes it as whoever runs it
    }
    if (mkdir(path, 0750) == 0) {
        return chown(path, uid, gid) == 0
                   ? 0
                   : error_set(error, -errno, "cannot give %s to the user edged: %s", path,
                               strerror(errno));
    }
    if (errno != EEXIST || stat(path, &status) < 0)
        return error_set(error, -errno, "cannot make the folder %s: %s", path, strerror(errno));
    if (!S_ISDIR(status.st_mode) || status.st_uid != uid) {
        return error_set(error, -EACCES,
                         "%s is not a folder of the user edged: name one in it that is not there "
                         "yet, for example %s/clips",
                         path, path);
    }
    return 0;
}

// The folder in which the service is to be let write so that it can in `path`. A folder so named is
// mounted in the service's own view for as long as that runs, and would cover a disk that is
// unmounted and mounted again. For a folder on a disk of its own that is the one in which the disk
// is mounted, unless that is the root. The caller g_free()s it.
static char *writable_folder(const char *path)
{
    g_autofree char *folder = g_strdup(path);
    struct stat status, above;

    while (stat(folder, &status) == 0 && strcmp(folder, "/") != 0) {
        g_autofree char *parent = g_path_get_dirname(folder);

        if (stat(parent, &above) == 0 && above.st_dev != status.st_dev)
            return g_strdup(strcmp(parent, "/") == 0 ? path : parent);
        g_free(folder);
        folder = g_steal_pointer(&parent);
    }
    return g_strdup(path);
}

int setup_service_place_storage(const char *path, struct error *error)
{
    struct replaced_file file = {0};
    int r = make_folder(path, error);

    if (r < 0 || !setup_service_exists())
        return r;
    // The minus: without its disk the recorder starts all the same, and says what is missing.
    g_autofree char *folder = writable_folder(path);
    g_autofree char *word = quote_path(folder);
    g_autofree char *text =
        g_strdup_printf(DROP_IN_HEADER "[Service]\nReadWritePaths=\"-%s\"\n", word);
    r = write_drop_in("edged-recorder.service", "storage.conf", text, &file, error);
    replaced_file_finish(&file);
    if (r == 0 && (!systemctl(false, "daemon-reload", "--quiet", NULL) ||
                   !systemctl(false, "try-restart", "--quiet", "edged-recorder.service"))) {
        return error_set(error, -EIO,
                         "edged-recorder does not start: `journalctl -eu edged-recorder` says why");
    }
    return r;
}

int setup_service_start(bool enable, struct error *error)
{
    if (enable && !systemctl(false, "enable", "--quiet", "edged.service"))
        return error_set(error, -EIO, "`systemctl enable edged` failed");
    if (!systemctl(false, "restart", "--quiet", "edged.service"))
        return error_set(error, -EIO, "edged does not start: `journalctl -eu edged` says why");
    return 0;
}

bool setup_service_has_broker(void)
{
    return g_getenv("EDGED_MQTT_PROGRAM") ||
           (sd_booted() > 0 && systemctl(true, "cat", "--no-pager", "edged-mqtt.service"));
}

int setup_service_place_password(const char *path, const char *password, struct error *error)
{
    struct stat like = {.st_mode = 0600, .st_uid = geteuid(), .st_gid = getegid()};
    struct passwd entry, *user = NULL;
    char strings[1024];

    if (geteuid() == 0 && getpwnam_r("edged-mqtt", &entry, strings, sizeof strings, &user) == 0 &&
        user) {
        like.st_uid = user->pw_uid;
        like.st_gid = user->pw_gid;
    }
    return replace_file(path, password, strlen(password), &like, error);
}

int setup_service_start_broker(struct error *error)
{
    if (!systemctl(false, "enable", "--quiet", "edged-mqtt.service") ||
        !systemctl(false, "restart", "--quiet", "edged-mqtt.service")) {
        return error_set(error, -EIO,
                         "edged-mqtt does not start: `journalctl -eu edged-mqtt` says why");
    }
    return 0;
}
