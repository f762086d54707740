#include "daemon/common/media_bus.h"

#include <errno.h>

int media_pipeline_new(const char *launch, struct error *error, GstElement **ret_pipeline)
{
    g_autoptr(GError) failure = NULL;
    GstElement *pipeline;

    gst_init(NULL, NULL); // only the first call does anything; PGM and PPM need none of it
    pipeline = gst_parse_launch_full(launch, NULL, GST_PARSE_FLAG_FATAL_ERRORS, &failure);
    if (!pipeline) {
        return error_set(error, -ENOTSUP, "%s; is every GStreamer plugin installed?",
                         failure->message);
    }
    *ret_pipeline = pipeline;
    return 0;
}

void cleanup_pipeline(GstElement **pipeline)
{
    if (*pipeline) {
        gst_element_set_state(*pipeline, GST_STATE_NULL);
        gst_object_unref(*pipeline);
    }
}

void media_set_location(GstElement *pipeline, const char *name, const char *path)
{
    g_autoptr(GstElement) element = gst_bin_get_by_name(GST_BIN(pipeline), name);

    g_object_set(element, "location", path, NULL);
}

int media_failure(GstMessage *message, const char *name, struct error *error)
{
    g_autoptr(GError) failure = NULL;

    gst_message_parse_error(message, &failure, NULL);
    return error_set(error, -EIO, "%s: %s", name, failure->message);
}

int media_wait(GstElement *pipeline, const char *name, struct error *error)
{
    g_autoptr(GstBus) bus = gst_element_get_bus(pipeline);
    g_autoptr(GstMessage) message =
        gst_bus_timed_pop_filtered(bus, GST_CLOCK_TIME_NONE, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);

    return GST_MESSAGE_TYPE(message) == GST_MESSAGE_EOS ? 0 : media_failure(message, name, error);
}
