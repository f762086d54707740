// `edgectl snapshot`: a JPEG of a view of the running edged, in a file that appears whole or not at
// all.
#include "daemon/ctl/commands.h"

#include "daemon/client/client.h"
#include "daemon/ctl/arguments.h"
#include "daemon/ctl/process/whole_file.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

static const char usage[] =
    "Usage: edgectl snapshot [--scale SCALE] " CLIENT_SYNOPSIS "\n"
    "                        [CAMERA/VIEW] FILE\n"
    "A JPEG of what a view shows now, also of one that nobody watches; by default of the first.\n"
    "FILE appears whole or not at all, \"-\" is standard output.\n"
    "\n"
    "  --scale SCALE  1, 1/2, 1/4 or 1/8 of the width and height, default 1\n" CLIENT_HELP;

// "front/edges", "/front/edges", "edges"; NULL: the first view. g_free() the result.
static char *make_page(const char *place, const char *scale)
{
    GString *page = g_string_new("/snapshot.jpg?scale=");
    const char *slash;

    g_string_append_uri_escaped(page, scale, NULL, FALSE);
    if (place) {
        place += *place == '/';
        slash = strchr(place, '/');
        if (slash) {
            g_autofree char *camera = g_strndup(place, (gsize)(slash - place));

            g_string_append(page, "&camera=");
            g_string_append_uri_escaped(page, camera, NULL, FALSE);
        }
        g_string_append(page, "&view=");
        g_string_append_uri_escaped(page, slash ? slash + 1 : place, NULL, FALSE);
    }
    return g_string_free(page, FALSE);
}

static int write_file(const char *target, const char *bytes, size_t size, struct error *error)
{
    struct whole_file file = {0};
    int r = whole_file_new(target, error, &file);

    if (r == 0) {
        FILE *stream = fopen(file.path, "w");
        bool written = stream && fwrite(bytes, 1, size, stream) == size;
        int code = errno;

        if (stream && fclose(stream) != 0) {
            written = false;
            code = errno;
        }
        r = written ? whole_file_publish(&file, target, error)
                    : error_set(error, -code, "%s: %s", target, strerror(code));
    }
    whole_file_finish(&file);
    return r;
}

int ctl_snapshot(int argc, char **argv)
{
    const char *scale = "1";
    struct client_options where = {0};
    const struct command_option options[] = {
        {"scale", .text = &scale}, CLIENT_OPTIONS(&where), {0}};
    const struct command_line line = {.command = "snapshot",
                                      .usage = usage,
                                      .options = options,
                                      .argument_count = 1,
                                      .optional_count = 1,
                                      .takes = "a view, which may be left out, and a file"};
    _cleanup_(client_cleanup) struct client *client = NULL;
    _cleanup_(cleanup_free) char *bytes = NULL;
    struct error error = {0};
    size_t size;
    int status;

    if (!command_line_parse(&line, argc, argv, &status))
        return status;
    const char *place = argc - optind == 2 ? argv[optind] : NULL;
    g_autofree char *page = make_page(place, scale);
    int r = client_new(&where, &error, &client);

    r = r < 0 ? r : client_get_bytes(client, page, &error, &bytes, &size);
    r = r < 0 ? r : write_file(argv[argc - 1], bytes, size, &error);
    if (r < 0)
        fprintf(stderr, "edgectl: %s\n", error.text);
    return r < 0 ? 1 : 0;
}
