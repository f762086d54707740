#include "daemon/common/pipeline_check.h"

#include <errno.h>
#include <gst/gst.h>

int pipeline_check(const char *pipeline, struct error *error)
{
    g_autoptr(GError) failure = NULL;
    GstElement *element;

    gst_init(NULL, NULL);
    element = gst_parse_launch_full(pipeline, NULL, GST_PARSE_FLAG_FATAL_ERRORS, &failure);
    if (element) {
        gst_object_unref(gst_object_ref_sink(element));
    }
    return failure ? error_set(error, -ENOENT, "%s", failure->message) : 0;
}
