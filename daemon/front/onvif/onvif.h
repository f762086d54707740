// ONVIF's services as text in, text out: Device, Media (version 1) and events by pull points. Its
// requests come over HTTP (http/onvif_route.c), which also knows who asks.
//
// edged is one device, whose profiles are the H.264 and MJPEG views of all cameras that the user
// may watch. For systems that take one camera a device, each camera is a device as well. A
// profile's token is "CAMERA/VIEW", as is that of its encoder's configuration; a source's is
// "CAMERA".
//
// There is no Subscribe, which would have edged connect to any address that a client names, and no
// second version of Media, which some clients would then ask for all they know of the first.
#pragma once

#include "daemon/front/model/model.h"
#include "daemon/front/onvif/pull_points.h"
#include "daemon/front/onvif/soap.h"

#define ONVIF_DEVICE_PATH "device_service"
#define ONVIF_MEDIA_PATH "media_service"
#define ONVIF_EVENTS_PATH "events_service"
#define ONVIF_PULL_POINT_PATH "subscription"
#define ONVIF_PULL "PullMessages" // the operation that may wait

// A request on its way to its answer. All is borrowed, except `answer`.
struct onvif_ask {
    struct model *model;
    struct pull_points *points;
    const struct soap_request *request;
    enum config_role role;        // of its user
    const char *user;             // "": nobody is asked
    const char *camera;           // the device that is asked; NULL: all of edged
    const char *point;            // the pull point that is asked; NULL: a service
    const char *base;             // "http://192.168.1.5:9854", as the client reaches this server
    const char *pictures;         // the same of snapshots, which may be inside TLS alone
    const char *host;             // "192.168.1.5"; "[2001:db8::5]"
    const struct sockaddr *local; // by which it came; NULL: not known
    GString *answer;              // what the operation says
    struct soap_fault fault;
};

// Appends the answer, without the element around it. -EINVAL: a fault.
typedef int onvif_answer(struct onvif_ask *ask);

struct onvif_operation {
    const char *name;
    onvif_answer *answer; // NULL: an empty list, which takes no more than a name
    bool is_open;         // everybody may ask, before a login
};

// Each ends in a row without a name.
extern const struct onvif_operation onvif_device_operations[];
extern const struct onvif_operation onvif_media_operations[];
extern const struct onvif_operation onvif_event_operations[];
extern const struct onvif_operation onvif_notification_operations[];

// NULL, with the fault: there is none of that name and service. Its text has the words "not
// implemented" in lower case, which Home Assistant looks for.
const struct onvif_operation *onvif_find(const struct soap_request *request,
                                         struct soap_fault *fault);
// The whole envelope of the answer or, with -EINVAL in *ret_r, of the fault; the caller g_free()s
// it.
char *onvif_reply(const struct onvif_operation *operation, struct onvif_ask *ask, int *ret_r);

// Appends "http://…/onvif/device_service", or that of the camera's device.
void onvif_append_address(struct onvif_ask *ask, const char *service);
