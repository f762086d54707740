#include "daemon/common/control_path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

int control_path_check(const char *path, struct error *error)
{
    size_t most = sizeof((struct sockaddr_un *)NULL)->sun_path - 1;

    if (strlen(path) > most) {
        return error_set(error, -EINVAL,
                         "control.socket: %s is %zu bytes long, a unix socket takes at most %zu",
                         path, strlen(path), most);
    }
    return 0;
}

int control_path_find(const char *configured, struct error *error, char **ret_path)
{
    const char *service = getenv("RUNTIME_DIRECTORY"), *user = getenv("XDG_RUNTIME_DIR");
    _cleanup_(cleanup_free) char *path = NULL;
    int result, length;

    if (configured[0])
        length = asprintf(&path, "%s", configured);
    else if (service && service[0]) // the first of a list separated by colons
        length = asprintf(&path, "%.*s/control.sock", (int)strcspn(service, ":"), service);
    else if (getuid() != 0 && user && user[0])
        length = asprintf(&path, "%s/edged/control.sock", user);
    else
        length = asprintf(&path, "/run/edged/control.sock");
    if (length < 0) {
        path = NULL;
        return error_set(error, -ENOMEM, "out of memory");
    }
    result = control_path_check(path, error);
    if (result < 0)
        return result;
    *ret_path = TAKE(path);
    return 0;
}
