#include "daemon/ctl/setup/setup_avahi.h"

#include "daemon/common/replace_file.h"

#include <errno.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FOLDER EDGED_SYSCONFDIR "/avahi/services"
#define FILE_PATH FOLDER "/edged.service"
#define MARK "<!-- Written by `edgectl setup`. -->" // edged.postrm looks for it, too

static void append(GString *text, const char *type, int port, const char *path)
{
    g_string_append_printf(text, "  <service>\n    <type>%s</type>\n    <port>%d</port>\n", type,
                           port);
    if (path)
        g_string_append_printf(text, "    <txt-record>path=%s</txt-record>\n", path);
    g_string_append(text, "  </service>\n");
}

// Names of cameras and views have no character that XML would read.
char *setup_avahi_text(const struct config *config)
{
    bool streams = config->rtsp.plain && !config_is_loopback(config->rtsp.address);
    bool http = config->http.port != 0 && !config_is_loopback(config->http.address);
    const struct config_camera *camera = &config->cameras[0];
    g_autofree char *path = config->camera_count && camera->view_count
                                ? g_strdup_printf("/%s/%s", camera->name, camera->views[0].name)
                                : NULL;
    GString *text;

    if (!streams && !http)
        return NULL;
    text = g_string_new("<?xml version=\"1.0\" standalone='no'?>\n" MARK "\n"
                        "<!DOCTYPE service-group SYSTEM \"avahi-service.dtd\">\n"
                        "<service-group>\n"
                        "  <name replace-wildcards=\"yes\">edged on %h</name>\n");
    if (streams)
        append(text, "_rtsp._tcp", config->rtsp.port, path);
    if (http)
        append(text, config->http.tls ? "_https._tcp" : "_http._tcp", config->http.port, NULL);
    g_string_append(text, "</service-group>\n");
    return g_string_free(text, FALSE);
}

// Whether the file is another one than setup writes.
static bool is_user_file(void)
{
    g_autofree char *content = NULL;

    return g_file_get_contents(FILE_PATH, &content, NULL, NULL) && !strstr(content, MARK);
}

void setup_avahi_place(const struct config *config)
{
    g_autofree char *text = setup_avahi_text(config);
    const struct stat like = {.st_uid = geteuid(), .st_gid = getegid(), .st_mode = S_IFREG | 0644};
    struct error error = {0};

    if (access(FOLDER, F_OK) < 0)
        return;
    if (is_user_file()) {
        fputs("edgectl: " FILE_PATH " is not setup's and stays as it is; without it, setup has "
              "avahi announce edged\n",
              stderr);
    } else if (!text) {
        if (unlink(FILE_PATH) < 0 && errno != ENOENT)
            fprintf(stderr, "edgectl: cannot remove " FILE_PATH ": %s\n", strerror(errno));
    } else if (replace_file(FILE_PATH, text, strlen(text), &like, &error) < 0) {
        fprintf(stderr, "edgectl: %s; avahi does not announce edged\n", error.text);
    }
}
