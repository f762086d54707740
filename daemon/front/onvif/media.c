// ONVIF's Media service, version 1: each H.264 or MJPEG view that the user may watch is a profile.
// H.265 is not in this version, and clients drop what they do not know.
//
// Nothing can be set: what a profile has is edged.conf's to say.
#include "daemon/front/onvif/onvif.h"

#include <errno.h>
#include <string.h>

#define TOKEN_MAX 64 // characters of a tt:ReferenceToken, and of a tt:Name (ONVIF's onvif.xsd)
#define QUALITY 5    // of 1 to 10; edged has a bit rate instead
#define FPS_MAX 240

// A profile, which is a view. All is borrowed.
struct media_profile {
    const struct front_camera *camera;
    const struct config_camera *settings;
    const struct config_view *view;
    const struct parameter_sets *sets;
    struct stream *stream;
    int width, height;
    bool is_first;      // of its camera
    unsigned of_camera; // profiles that the camera has
};

static bool is_offered(const struct config_view *view)
{
    return view->codec == CONFIG_CODEC_H264 || view->codec == CONFIG_CODEC_MJPEG;
}

static struct media_profile profile_of(const struct front_camera *camera, size_t index)
{
    struct media_profile profile = {.camera = camera, .settings = front_camera_settings(camera)};

    profile.view = &profile.settings->views[index];
    profile.stream = front_camera_stream(camera, index);
    profile.sets = stream_parameter_sets(profile.stream);
    profile.width = profile.sets->width ? (int)profile.sets->width : profile.settings->width;
    profile.height = profile.sets->height ? (int)profile.sets->height : profile.settings->height;
    return profile;
}

// Adds the views of a camera that the user is shown.
static void list_camera(const struct onvif_ask *ask, const struct front_camera *camera,
                        GArray *profiles)
{
    const struct config_camera *settings = front_camera_settings(camera);
    guint first = profiles->len;

    if (ask->camera && strcmp(ask->camera, settings->name) != 0)
        return;
    for (size_t i = 0; i < settings->view_count; i++) {
        if (front_camera_shows(camera, i, ask->role) && is_offered(&settings->views[i])) {
            struct media_profile profile = profile_of(camera, i);

            profile.is_first = profiles->len == first;
            g_array_append_val(profiles, profile);
        }
    }
    for (guint i = first; i < profiles->len; i++)
        g_array_index(profiles, struct media_profile, i).of_camera = profiles->len - first;
}

// All profiles that the user is shown, of struct media_profile.
static GArray *list_profiles(const struct onvif_ask *ask)
{
    GArray *profiles = g_array_new(FALSE, FALSE, sizeof(struct media_profile));

    for (guint i = 0; i < ask->model->cameras->len; i++)
        list_camera(ask, g_ptr_array_index(ask->model->cameras, i), profiles);
    return profiles;
}

// Calls `append` with each profile, or with the first of each camera alone.
static void each_profile(struct onvif_ask *ask, bool firsts,
                         void (*append)(struct onvif_ask *ask, const char *element,
                                        const struct media_profile *profile),
                         const char *element)
{
    g_autoptr(GArray) profiles = list_profiles(ask);

    for (guint i = 0; i < profiles->len; i++) {
        const struct media_profile *profile = &g_array_index(profiles, struct media_profile, i);

        if (!firsts || profile->is_first)
            append(ask, element, profile);
    }
}

// The names of the camera and the view. Only two of the longest leave no room for the separator, so
// a text without it can be no other's.
static void join_names(const struct media_profile *profile, const char *separator,
                       char ret_text[TOKEN_MAX + 1])
{
    const char *camera = profile->settings->name, *view = profile->view->name;
    bool has_room = strlen(camera) + strlen(view) < TOKEN_MAX;

    g_snprintf(ret_text, TOKEN_MAX + 1, "%s%s%s", camera, has_room ? separator : "", view);
}

static void append_names(struct onvif_ask *ask, const struct media_profile *profile,
                         const char *separator)
{
    char text[TOKEN_MAX + 1];

    join_names(profile, separator, text);
    g_string_append(ask->answer, text);
}

static bool has_token(const struct media_profile *profile, const char *token)
{
    char own[TOKEN_MAX + 1];

    join_names(profile, "/", own);
    return strcmp(own, token) == 0;
}

static bool has_name(const struct media_profile *profile, const char *token)
{
    return strcmp(profile->settings->name, token) == 0;
}

// The first profile that fits the argument `name`; with `any`, the first of all where the argument
// is not there.
static int find(struct onvif_ask *ask, const char *name, bool any,
                bool (*fits)(const struct media_profile *profile, const char *token),
                struct media_profile *ret)
{
    g_autoptr(GArray) profiles = list_profiles(ask);
    const char *token = soap_request_find(ask->request, name);

    for (guint i = 0; i < profiles->len; i++) {
        const struct media_profile *profile = &g_array_index(profiles, struct media_profile, i);

        if (token ? fits(profile, token) : any) {
            *ret = *profile;
            return 0;
        }
    }
    soap_fault_set(&ask->fault, "ter:InvalidArgVal",
                   strcmp(name, "ProfileToken") == 0 ? "ter:NoProfile" : "ter:NoConfig",
                   "%s: got \"%s\", allowed: %s", name, token ? token : "",
                   fits == has_name ? "the name of a camera"
                                    : "CAMERA/VIEW, as GetProfiles lists them");
    return -EINVAL;
}

// A profile, or its encoder's configuration, which has the same token.
static int find_profile(struct onvif_ask *ask, const char *name, struct media_profile *ret)
{
    return find(ask, name, false, has_token, ret);
}

// The first profile of the camera that a token means.
static int find_source(struct onvif_ask *ask, const char *name, struct media_profile *ret)
{
    return find(ask, name, false, has_name, ret);
}

// Parts of answers
// ---------------------------------------------------------------------

static void append_source(struct onvif_ask *ask, const char *element,
                          const struct media_profile *profile)
{
    const char *name = profile->settings->name;

    soap_append(ask->answer,
                "<%s token=\"%s\"><tt:Name>%s</tt:Name><tt:UseCount>%u</tt:UseCount>"
                "<tt:SourceToken>%s</tt:SourceToken>"
                "<tt:Bounds x=\"0\" y=\"0\" width=\"%d\" height=\"%d\"/></%s>",
                element, name, name, profile->of_camera, name, profile->width, profile->height,
                element);
}

// By profile_idc, the first byte of the SPS behind its header (ITU-T H.264, 7.3.2.1.1).
static const char *h264_profile(const struct parameter_sets *sets)
{
    unsigned profile = sets->sizes[0] > 1 ? sets->sets[0][1] : 0;

    return profile == 66   ? "Baseline"
           : profile == 88 ? "Extended"
           : profile == 77 ? "Main"
                           : "High";
}

static int key_frame_distance(const struct media_profile *profile)
{
    return MAX((int)(profile->view->keyframe_s * profile->settings->fps + 0.5), 1);
}

// UniFi Protect takes no profile without RateControl.
static void append_encoder(struct onvif_ask *ask, const char *element,
                           const struct media_profile *profile)
{
    bool is_h264 = profile->view->codec == CONFIG_CODEC_H264;

    soap_append(ask->answer, "<%s token=\"", element);
    append_names(ask, profile, "/");
    g_string_append(ask->answer, "\"><tt:Name>");
    append_names(ask, profile, " ");
    soap_append(ask->answer,
                "</tt:Name><tt:UseCount>1</tt:UseCount>"
                "<tt:Encoding>%s</tt:Encoding><tt:Resolution><tt:Width>%d</tt:Width>"
                "<tt:Height>%d</tt:Height></tt:Resolution><tt:Quality>%d</tt:Quality>"
                "<tt:RateControl><tt:FrameRateLimit>%d</tt:FrameRateLimit>"
                "<tt:EncodingInterval>1</tt:EncodingInterval>"
                "<tt:BitrateLimit>%d</tt:BitrateLimit></tt:RateControl>",
                is_h264 ? "H264" : "JPEG", profile->width, profile->height, QUALITY,
                profile->settings->fps, profile->view->bitrate_kbps);
    if (is_h264) {
        soap_append(ask->answer,
                    "<tt:H264><tt:GovLength>%d</tt:GovLength><tt:H264Profile>%s</tt:H264Profile>"
                    "</tt:H264>",
                    key_frame_distance(profile), h264_profile(profile->sets));
    }
    soap_append(ask->answer,
                "<tt:Multicast><tt:Address><tt:Type>IPv4</tt:Type>"
                "<tt:IPv4Address>0.0.0.0</tt:IPv4Address></tt:Address><tt:Port>0</tt:Port>"
                "<tt:TTL>0</tt:TTL><tt:AutoStart>false</tt:AutoStart></tt:Multicast>"
                "<tt:SessionTimeout>PT60S</tt:SessionTimeout></%s>",
                element);
}

static void append_profile(struct onvif_ask *ask, const char *element,
                           const struct media_profile *profile)
{
    soap_append(ask->answer, "<%s token=\"", element);
    append_names(ask, profile, "/");
    g_string_append(ask->answer, "\" fixed=\"true\"><tt:Name>");
    append_names(ask, profile, " ");
    g_string_append(ask->answer, "</tt:Name>");
    append_source(ask, "tt:VideoSourceConfiguration", profile);
    append_encoder(ask, "tt:VideoEncoderConfiguration", profile);
    soap_append(ask->answer, "</%s>", element);
}

// Operations
// ---------------------------------------------------------------------

static int answer_capabilities(struct onvif_ask *ask)
{
    g_autoptr(GArray) profiles = list_profiles(ask);

    soap_append(
        ask->answer,
        "<trt:Capabilities SnapshotUri=\"true\" Rotation=\"false\" VideoSourceMode=\"false\""
        " OSD=\"false\"><trt:ProfileCapabilities MaximumNumberOfProfiles=\"%u\"/>"
        "<trt:StreamingCapabilities RTPMulticast=\"%s\" RTP_TCP=\"true\""
        " RTP_RTSP_TCP=\"true\"/></trt:Capabilities>",
        profiles->len, *ask->model->config->rtsp.multicast.addresses ? "true" : "false");
    return 0;
}

static int answer_profiles(struct onvif_ask *ask)
{
    each_profile(ask, false, append_profile, "trt:Profiles");
    return 0;
}

static int answer_profile(struct onvif_ask *ask)
{
    struct media_profile profile;
    int r = find_profile(ask, "ProfileToken", &profile);

    if (r == 0)
        append_profile(ask, "trt:Profile", &profile);
    return r;
}

static void append_video_source(struct onvif_ask *ask, const char *element,
                                const struct media_profile *profile)
{
    soap_append(ask->answer,
                "<%s token=\"%s\"><tt:Framerate>%d</tt:Framerate><tt:Resolution>"
                "<tt:Width>%d</tt:Width><tt:Height>%d</tt:Height></tt:Resolution></%s>",
                element, profile->settings->name, profile->settings->fps, profile->width,
                profile->height, element);
}

static int answer_sources(struct onvif_ask *ask)
{
    each_profile(ask, true, append_video_source, "trt:VideoSources");
    return 0;
}

static int answer_source_configurations(struct onvif_ask *ask)
{
    each_profile(ask, true, append_source, "trt:Configurations");
    return 0;
}

static int answer_compatible_sources(struct onvif_ask *ask)
{
    struct media_profile profile;
    int r = find_profile(ask, "ProfileToken", &profile);

    if (r == 0)
        append_source(ask, "trt:Configurations", &profile);
    return r;
}

static int answer_source_configuration(struct onvif_ask *ask)
{
    struct media_profile profile;
    int r = find_source(ask, "ConfigurationToken", &profile);

    if (r == 0)
        append_source(ask, "trt:Configuration", &profile);
    return r;
}

static int answer_encoder_configurations(struct onvif_ask *ask)
{
    each_profile(ask, false, append_encoder, "trt:Configurations");
    return 0;
}

static int answer_compatible_encoders(struct onvif_ask *ask)
{
    struct media_profile profile;
    int r = find_profile(ask, "ProfileToken", &profile);

    if (r == 0)
        append_encoder(ask, "trt:Configurations", &profile);
    return r;
}

static int answer_encoder_configuration(struct onvif_ask *ask)
{
    struct media_profile profile;
    int r = find_profile(ask, "ConfigurationToken", &profile);

    if (r == 0)
        append_encoder(ask, "trt:Configuration", &profile);
    return r;
}

static void append_range(struct onvif_ask *ask, const char *element, int minimum, int maximum)
{
    soap_append(ask->answer, "<tt:%s><tt:Min>%d</tt:Min><tt:Max>%d</tt:Max></tt:%s>", element,
                minimum, maximum, element);
}

// One choice, the one in force; without a token that of the first profile.
static int answer_encoder_options(struct onvif_ask *ask)
{
    const char *argument = soap_request_find(ask->request, "ConfigurationToken")
                               ? "ConfigurationToken"
                               : "ProfileToken";
    struct media_profile profile;
    int r = find(ask, argument, true, has_token, &profile);

    if (r < 0)
        return r;
    bool is_h264 = profile.view->codec == CONFIG_CODEC_H264;
    const char *codec = is_h264 ? "H264" : "JPEG";
    g_string_append(ask->answer, "<trt:Options>");
    append_range(ask, "QualityRange", 1, 10);
    soap_append(ask->answer,
                "<tt:%s><tt:ResolutionsAvailable><tt:Width>%d</tt:Width><tt:Height>%d</tt:Height>"
                "</tt:ResolutionsAvailable>",
                codec, profile.width, profile.height);
    if (is_h264)
        append_range(ask, "GovLengthRange", 1, 10 * FPS_MAX);
    append_range(ask, "FrameRateRange", 1, FPS_MAX);
    append_range(ask, "EncodingIntervalRange", 1, 1);
    if (is_h264) {
        soap_append(ask->answer, "<tt:H264ProfilesSupported>%s</tt:H264ProfilesSupported>",
                    h264_profile(profile.sets));
    }
    soap_append(ask->answer, "</tt:%s></trt:Options>", codec);
    return 0;
}

static int answer_instances(struct onvif_ask *ask)
{
    struct media_profile profile;
    int r = find_source(ask, "ConfigurationToken", &profile);

    if (r == 0)
        soap_append(ask->answer, "<trt:TotalNumber>%u</trt:TotalNumber>", profile.of_camera);
    return r;
}

static void append_uri_end(struct onvif_ask *ask)
{
    g_string_append(ask->answer, "</tt:Uri><tt:InvalidAfterConnect>false</tt:InvalidAfterConnect>"
                                 "<tt:InvalidAfterReboot>false</tt:InvalidAfterReboot>"
                                 "<tt:Timeout>PT0S</tt:Timeout></trt:MediaUri>");
}

// The RTSP server, at the host by which the client reaches this one. Which transport a client asks
// for does not matter: the URL is the same.
static int answer_stream(struct onvif_ask *ask)
{
    const char *url = ask->model->places.rtsp_url, *port = url ? strrchr(url, ':') : NULL;
    const char *cast = soap_request_find(ask->request, "Stream");
    struct media_profile profile;
    int r = find_profile(ask, "ProfileToken", &profile);

    if (r < 0)
        return r;
    if (cast && g_str_has_suffix(cast, "ulticast") &&
        !*ask->model->config->rtsp.multicast.addresses) {
        return soap_fault_set(&ask->fault, "ter:InvalidArgVal", "ter:InvalidStreamSetup",
                              "Stream: got \"%s\" without rtsp.multicast.addresses, allowed: "
                              "RTP-Unicast",
                              cast);
    }
    soap_append(ask->answer, "<trt:MediaUri><tt:Uri>%s://%s%s%s",
                url && g_str_has_prefix(url, "rtsps:") ? "rtsps" : "rtsp", ask->host,
                port ? port : "", stream_path(profile.stream));
    append_uri_end(ask);
    return 0;
}

static int answer_snapshot(struct onvif_ask *ask)
{
    struct media_profile profile;
    int r = find_profile(ask, "ProfileToken", &profile);

    if (r < 0)
        return r;
    soap_append(ask->answer, "<trt:MediaUri><tt:Uri>%s/snapshot.jpg?camera=%s&amp;view=%s",
                ask->pictures, profile.settings->name, profile.view->name);
    append_uri_end(ask);
    return 0;
}

static int answer_synchronization_point(struct onvif_ask *ask)
{
    struct media_profile profile;
    int r = find_profile(ask, "ProfileToken", &profile);

    if (r == 0 && stream_is_watched(profile.stream))
        stream_want_key_frame(profile.stream, DEMAND_REPAIR);
    return r;
}

const struct onvif_operation onvif_media_operations[] = {
    {"GetServiceCapabilities", answer_capabilities, true},
    {"GetProfiles", answer_profiles, false},
    {"GetProfile", answer_profile, false},
    {"GetVideoSources", answer_sources, false},
    {"GetVideoSourceConfigurations", answer_source_configurations, false},
    {"GetVideoSourceConfiguration", answer_source_configuration, false},
    {"GetCompatibleVideoSourceConfigurations", answer_compatible_sources, false},
    {"GetVideoEncoderConfigurations", answer_encoder_configurations, false},
    {"GetVideoEncoderConfiguration", answer_encoder_configuration, false},
    {"GetCompatibleVideoEncoderConfigurations", answer_compatible_encoders, false},
    {"GetVideoEncoderConfigurationOptions", answer_encoder_options, false},
    {"GetGuaranteedNumberOfVideoEncoderInstances", answer_instances, false},
    {"GetStreamUri", answer_stream, false},
    {"GetSnapshotUri", answer_snapshot, false},
    {"SetSynchronizationPoint", answer_synchronization_point, false},
    // There is no sound, no metadata and no analytics.
    {"GetAudioSources", NULL, false},
    {"GetAudioSourceConfigurations", NULL, false},
    {"GetAudioEncoderConfigurations", NULL, false},
    {"GetAudioOutputs", NULL, false},
    {"GetAudioOutputConfigurations", NULL, false},
    {"GetAudioDecoderConfigurations", NULL, false},
    {"GetMetadataConfigurations", NULL, false},
    {"GetVideoAnalyticsConfigurations", NULL, false},
    {"GetCompatibleAudioSourceConfigurations", NULL, false},
    {"GetCompatibleAudioEncoderConfigurations", NULL, false},
    {"GetCompatibleMetadataConfigurations", NULL, false},
    {"GetCompatibleVideoAnalyticsConfigurations", NULL, false},
    {NULL, NULL, false},
};
