#include "daemon/mqtt/identity.h"

#include <glib.h>

#define LETTERS G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "_-"

char *identity_make(void)
{
    const char *given = g_getenv("EDGED_MQTT_ID");
    g_autofree char *machine = NULL;
    char *id;

    if (given && *given)
        id = g_strdup(given);
    else if (g_file_get_contents("/etc/machine-id", &machine, NULL, NULL))
        id = g_strdup_printf("%s-%.4s", g_get_host_name(), machine);
    else
        id = g_strdup(g_get_host_name());
    return g_strcanon(id, LETTERS, '_');
}
