// Messages of the front to a camera process, configurations first; its lane is never started.
//
// Parsers: daemon/camera/settings.c
#include "tests/fuzz/fuzz_includes.h"
#include "tests/fuzz/fuzz_link_messages.h"

#include "daemon/camera/camera.c"

// The report on the views, which have different numbers.
static void check_views(const struct settings *settings)
{
    struct link_telemetry telemetry = {0};

    settings_describe(settings, &telemetry);
    fuzz_claim(settings->count == settings_camera(settings)->view_count);
    for (size_t i = 0; i < settings->count; i++)
        fuzz_claim(settings_find(settings, telemetry.views[i].view) == settings->channels[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct camera *camera;
    struct error error = {0};
    int fds[2];

    fuzz_take_files(NULL, 0); // there is nothing to include
    fuzz_claim(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    while (fuzz_send_message(fds[1], &data, &size)) {
    }
    shutdown(fds[1], SHUT_WR);
    int r = camera_new(fds[0], &error, &camera);
    fuzz_claim(r == 0 || error.text[0]);
    if (r == 0) {
        // It ends at the end of what was sent, if not before.
        do {
            check_views(camera->newest);
        } while (turn(camera) == 0);
        camera_free(camera);
    }
    close(fds[1]);
    return 0;
}
