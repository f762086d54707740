#include "daemon/common/state_path.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int state_path(const char *name, char **ret_path)
{
    const char *service = getenv("STATE_DIRECTORY"), *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    char *path;
    int length;

    if (service && *service) { // the first of a list separated by colons
        length = asprintf(&path, "%.*s/%s", (int)strcspn(service, ":"), service, name);
    } else if (state && *state == '/') { // the specification says to ignore relative paths
        length = asprintf(&path, "%s/edged/%s", state, name);
    } else if (home && *home) {
        length = asprintf(&path, "%s/.local/state/edged/%s", home, name);
    } else {
        return -ENOENT;
    }
    if (length < 0) {
        return -ENOMEM;
    }
    *ret_path = path;
    return 0;
}
