#include "daemon/front/onvif/onvif.h"

#include "daemon/front/model/lookup.h"

#include <errno.h>
#include <string.h>

static const struct onvif_operation *const services[SOAP_SERVICE_COUNT] = {
    [SOAP_DEVICE] = onvif_device_operations,
    [SOAP_MEDIA] = onvif_media_operations,
    [SOAP_EVENTS] = onvif_event_operations,
    [SOAP_NOTIFICATION] = onvif_notification_operations,
};

const struct onvif_operation *onvif_find(const struct soap_request *request,
                                         struct soap_fault *fault)
{
    const struct onvif_operation *list =
        request->service < SOAP_SERVICE_COUNT ? services[request->service] : NULL;

    for (; list && list->name; list++) {
        if (strcmp(list->name, request->operation) == 0)
            return list;
    }
    soap_fault_set(fault, "ter:ActionNotSupported", NULL, "%s is not implemented here",
                   request->operation);
    fault->is_server = true;
    return NULL;
}

static bool has_camera(const struct onvif_ask *ask)
{
    return !ask->camera ||
           lookup_view(ask->model->cameras, ask->role, ask->camera, NULL, NULL) != NULL;
}

char *onvif_reply(const struct onvif_operation *operation, struct onvif_ask *ask, int *ret_r)
{
    const char *prefix = soap_prefix(ask->request->service);
    g_autoptr(GString) body = g_string_new(NULL);

    ask->answer = body;
    soap_append(body, "<%s:%sResponse>", prefix, operation->name);
    if (!operation->is_open && !has_camera(ask)) {
        *ret_r = soap_fault_set(&ask->fault, "ter:InvalidArgVal", NULL, "there is no camera \"%s\"",
                                ask->camera);
    } else {
        *ret_r = operation->answer ? operation->answer(ask) : 0;
    }
    ask->answer = NULL;
    if (*ret_r < 0)
        return soap_fault_envelope(ask->request, &ask->fault);
    soap_append(body, "</%s:%sResponse>", prefix, operation->name);
    return soap_envelope(ask->request, body->str);
}

void onvif_append_address(struct onvif_ask *ask, const char *service)
{
    soap_append(ask->answer, "%s/onvif/%s%s%s", ask->base, ask->camera ? ask->camera : "",
                ask->camera ? "/" : "", service);
}
