#include "config/schema/schema.h"

#include <string.h>

static bool accepts_format(const char *string)
{
    if (strcmp(string, "auto") == 0)
        return true;
    for (const char *at = string; *at; at++) {
        if (*at < ' ' || *at > '~')
            return false;
    }
    return strlen(string) == 4;
}

// A password belongs into a file that not everybody reads.
static bool accepts_url(const char *string)
{
    size_t scheme = strncmp(string, "rtsp://", 7) == 0 ? 7 : 8;
    const char *host = string + scheme;
    char name[CONFIG_HOST_SIZE];

    if (!*string)
        return true;
    return (scheme == 7 || strncmp(string, "rtsps://", 8) == 0) && !strchr(host, '@') &&
           !strpbrk(host, " \t\r\n\"") && config_read_host(host, strcspn(host, "/?#"), name);
}

static const struct schema_rule url_rule = {
    accepts_url,
    "\"rtsp://HOST/PATH\" or \"rtsps://HOST/PATH\", HOST with :PORT (1 to 65535) or without; "
    "user and password stand in the file that credentials names",
};
// As tools print it: digits, with a colon after each second one or without.
static bool accepts_fingerprint(const char *string)
{
    size_t digits = 0;

    for (const char *at = string; *at; at++) {
        if (*at == ':' && digits % 2 == 0 && digits > 0 && at[-1] != ':' && at[1])
            continue;
        if (!strchr("0123456789abcdefABCDEF", *at))
            return false;
        digits++;
    }
    return digits == 0 || digits == 64;
}

static const struct schema_rule fingerprint_rule = {
    accepts_fingerprint,
    "64 hexadecimal digits, with a colon after every two or without; \"\"",
};
static const struct schema_rule format_rule = {
    accepts_format,
    "\"auto\" or a fourcc as V4L2 names it: \"YUYV\", \"UYVY\", \"NV12\", \"NV21\", \"YU12\", "
    "\"GREY\", \"MJPG\", \"RGB3\", \"BGR3\", \"XR24\", a sensor's raw samples (\"RGGB\", \"RG10\", "
    "\"pRAA\", \"RG12\", \"pRCC\", \"RG16\" and their other orders) or any other that libv4l2 "
    "converts",
};
static const char *const backend_words[] = {
    [CONFIG_BACKEND_AUTO] = "auto",
    [CONFIG_BACKEND_CUDA] = "cuda",
    [CONFIG_BACKEND_CPU] = "cpu",
    NULL,
};
static const char *const memory_words[] = {
    [CONFIG_MEMORY_AUTO] = "auto",
    [CONFIG_MEMORY_NVMM] = "nvmm",
    [CONFIG_MEMORY_REGISTERED] = "registered",
    [CONFIG_MEMORY_PINNED] = "pinned",
    [CONFIG_MEMORY_MANAGED] = "managed",
    [CONFIG_MEMORY_HOST] = "host",
    NULL,
};
static const char *const source_words[] = {
    [CONFIG_SOURCE_AUTO] = "auto",           [CONFIG_SOURCE_V4L2] = "v4l2",
    [CONFIG_SOURCE_GSTREAMER] = "gstreamer", [CONFIG_SOURCE_FILE] = "file",
    [CONFIG_SOURCE_PATTERN] = "pattern",     [CONFIG_SOURCE_RTSP] = "rtsp",
    [CONFIG_SOURCE_ARGUS] = "argus",         NULL,
};
static const char *const flip_words[] = {
    [CONFIG_FLIP_NONE] = "none",
    [CONFIG_FLIP_ROTATE_90] = "rotate-90",
    [CONFIG_FLIP_ROTATE_180] = "rotate-180",
    [CONFIG_FLIP_ROTATE_270] = "rotate-270",
    [CONFIG_FLIP_HORIZONTAL] = "horizontal",
    [CONFIG_FLIP_VERTICAL] = "vertical",
    NULL,
};
static const char *const transport_words[] = {
    [CONFIG_TRANSPORT_AUTO] = "auto",
    [CONFIG_TRANSPORT_TCP] = "tcp",
    [CONFIG_TRANSPORT_UDP] = "udp",
    NULL,
};
static const char *const io_words[] = {
    [CONFIG_V4L2_IO_AUTO] = "auto",
    [CONFIG_V4L2_IO_USERPTR] = "userptr",
    [CONFIG_V4L2_IO_MMAP] = "mmap",
    NULL,
};

#define CAMERA_FIELD(member) .offset = offsetof(struct config_camera, member)
#define MAY_BE_V4L2 (SCHEMA_BIT(CONFIG_SOURCE_AUTO) | SCHEMA_BIT(CONFIG_SOURCE_V4L2))
static const struct schema_key camera_keys[] = {
    {"name", SCHEMA_STRING, CAMERA_FIELD(name), .rule = &schema_name_rule,
     .default_note = "\"camera\" and the place in the list, counted from 0",
     .help = "The first part of the stream's path; unique."},
    {"source", SCHEMA_WORD, CAMERA_FIELD(source), .words = source_words, .default_text = "auto",
     .help = "Where frames come from. argus: a Jetson's own camera stack, for a CSI connector. "
             "auto: argus if it has a camera, else the first V4L2 camera that works, else the "
             "moving pattern, marked NO CAMERA."},
    {"device", SCHEMA_STRING, CAMERA_FIELD(device), .default_text = "",
     .used_by = SCHEMA_BIT(CONFIG_SOURCE_V4L2),
     .help = "A V4L2 device, for example \"/dev/video0\" or a link in /dev/v4l/by-path; \"\" takes "
             "the first that works."},
    {"pipeline", SCHEMA_STRING, CAMERA_FIELD(pipeline), .default_text = "",
     .used_by = SCHEMA_BIT(CONFIG_SOURCE_GSTREAMER),
     .needed_by = SCHEMA_BIT(CONFIG_SOURCE_GSTREAMER),
     .help = "A GStreamer launch fragment without a sink, for example \"videotestsrc "
             "is-live=true\"."},
    {"path", SCHEMA_STRING, CAMERA_FIELD(path), .default_text = "",
     .used_by = SCHEMA_BIT(CONFIG_SOURCE_FILE), .needed_by = SCHEMA_BIT(CONFIG_SOURCE_FILE),
     .help = "A clip or a JPEG or PNG picture that GStreamer decodes. A clip is played at its own "
             "rate, again and again. The picture is turned as a clip or a JPEG's EXIF data say. "
             "It has square pixels and the size of the first one. A relative name is one beside "
             "this file."},
    {"url", SCHEMA_STRING, CAMERA_FIELD(url), .rule = &url_rule, .default_text = "",
     .used_by = SCHEMA_BIT(CONFIG_SOURCE_RTSP), .needed_by = SCHEMA_BIT(CONFIG_SOURCE_RTSP),
     .help = "The stream of a camera in the network, H.264, H.265 or MJPEG, for example "
             "\"rtsp://192.168.1.20/stream1\"."},
    {"credentials", SCHEMA_STRING, CAMERA_FIELD(credentials), .default_text = "",
     .used_by = SCHEMA_BIT(CONFIG_SOURCE_RTSP),
     .help = "A file with the line user:password for that camera, which only its owner and group "
             "may read (chmod 640). A relative name is one beside this file. A camera that refuses "
             "them may lock the account, so edged tries again after 1, 2 and 5 minutes, then every "
             "10, and at once after a reload or a change of the file."},
    {"fingerprint", SCHEMA_STRING, CAMERA_FIELD(fingerprint), .rule = &fingerprint_rule,
     .default_text = "", .used_by = SCHEMA_BIT(CONFIG_SOURCE_RTSP),
     .help = "The SHA-256 of the certificate that a camera with an rtsps:// URL must show, whoever "
             "has signed it; with \"\" any that is signed by an authority of the system. edgectl "
             "status names the one that a refused camera showed."},
    {"transport", SCHEMA_WORD, CAMERA_FIELD(transport), .words = transport_words,
     .default_text = "auto", .used_by = SCHEMA_BIT(CONFIG_SOURCE_RTSP),
     .help = "How pictures come. auto tries udp, and takes tcp if udp cannot be set up or no "
             "picture comes within 2 s."},
    {"sensor", SCHEMA_INTEGER, CAMERA_FIELD(sensor), .minimum = 0, .maximum = 15,
     .default_text = "0", .used_by = SCHEMA_BIT(CONFIG_SOURCE_ARGUS),
     .help = "The number of the camera on the CSI connectors."},
    {"flip", SCHEMA_WORD, .remote = true, .reveals = SCHEMA_REVEALS_PRIVATE, CAMERA_FIELD(flip),
     .words = flip_words, .default_text = "none",
     .help = "Which way up the picture is: turned clockwise, or mirrored; horizontal swaps left "
             "and right, vertical top and bottom. width, height, regions, privacy, polygons and "
             "masks are those of the flipped picture. If the camera cannot do it, edged copies "
             "each frame once more, which status counts as flip."},
    {"format", SCHEMA_STRING, CAMERA_FIELD(format), .rule = &format_rule, .default_text = "auto",
     .help = "The pixel format to ask for. auto takes a sensor's raw samples where there is "
             "nothing else; edged then makes a picture of them, without a gamma curve."},
    {"raw_black", SCHEMA_INTEGER, .remote = true, CAMERA_FIELD(raw_black), .minimum = 0,
     .maximum = 65534, .default_text = "0", .used_by = MAY_BE_V4L2,
     .help = "The value of a sensor's raw samples where there is no light, for example 64 of 10 "
             "bits. It is subtracted before the factors. This key and the next three are for raw "
             "formats alone."},
    {"raw_gain", SCHEMA_NUMBER, .remote = true, CAMERA_FIELD(raw_gain), .minimum = 0.1,
     .maximum = 256, .default_text = "1.0", .used_by = MAY_BE_V4L2,
     .help = "The factor of all raw samples. A gain of the sensor's own, set by controls, costs "
             "fewer shades."},
    {"raw_red", SCHEMA_NUMBER, .remote = true, CAMERA_FIELD(raw_red), .minimum = 0.1, .maximum = 16,
     .default_text = "1.0", .used_by = MAY_BE_V4L2,
     .help = "The factor of red, beside raw_gain: for the white balance, as raw_blue is."},
    {"raw_blue", SCHEMA_NUMBER, .remote = true, CAMERA_FIELD(raw_blue), .minimum = 0.1,
     .maximum = 16, .default_text = "1.0", .used_by = MAY_BE_V4L2, .help = "The factor of blue."},
    {"io", SCHEMA_WORD, CAMERA_FIELD(io), .words = io_words, .default_text = "auto",
     .used_by = MAY_BE_V4L2,
     .help = "How frames come from V4L2: into edged's memory (userptr), or in the driver's (mmap), "
             "where the GPU reads them if CUDA takes it, else by one copy; auto tries both in this "
             "order."},
    {"width", SCHEMA_INTEGER, .remote = true, .reveals = SCHEMA_REVEALS_PRIVATE,
     CAMERA_FIELD(width), .unit = "pixels", .minimum = 16, .maximum = 8192, .even = true,
     .default_text = "1280",
     .help = "The width to ask for; the source delivers the nearest it can."},
    {"height", SCHEMA_INTEGER, .remote = true, .reveals = SCHEMA_REVEALS_PRIVATE,
     CAMERA_FIELD(height), .unit = "pixels", .minimum = 16, .maximum = 8192, .even = true,
     .default_text = "720",
     .help = "The height to ask for; the source delivers the nearest it can."},
    {"fps", SCHEMA_INTEGER, .remote = true, .reveals = SCHEMA_REVEALS_PRIVATE, CAMERA_FIELD(fps),
     .unit = "frames a second", .minimum = 1, .maximum = 240, .default_text = "30",
     .help = "The rate to ask for; the source delivers the nearest it can."},
    {"controls", SCHEMA_CONTROLS, CAMERA_FIELD(controls),
     .count_offset = offsetof(struct config_camera, control_count),
     .used_by = MAY_BE_V4L2 | SCHEMA_BIT(CONFIG_SOURCE_ARGUS),
     .default_note = "none, the camera's own settings stay",
     .help = "V4L2 controls by the names that v4l2-ctl -l prints, set at every start, for example "
             "{ exposure_time_absolute = 100; }. A camera without one of them is not used. With "
             "source = \"argus\", properties of nvarguscamerasrc that are whole numbers, or "
             "ranges, of which both ends become the value: { exposuretimerange = 20000000; "
             "gainrange = 4; } is 20 ms at a gain of 4, whatever the light."},
    {"views", SCHEMA_LIST, CAMERA_FIELD(views), .cost = CONFIG_COST_VIEW, .minimum = 0,
     .maximum = 16, .count_offset = offsetof(struct config_camera, view_count),
     .group = &schema_view, .default_note = "one view \"edges\"",
     .help = "The streams made of this camera."},
    {"armed", SCHEMA_BOOLEAN, .remote = true, CAMERA_FIELD(armed), .cost = CONFIG_COST_FRAME,
     .default_text = "true",
     .help = "Whether motion in the regions becomes events. With false nothing is measured, and "
             "status shows no regions."},
    {"regions", SCHEMA_LIST, .remote = true, CAMERA_FIELD(regions), .cost = CONFIG_COST_FRAME,
     .minimum = 0, .maximum = 8, .count_offset = offsetof(struct config_camera, region_count),
     .group = &schema_region, .default_note = "none",
     .help = "Parts of the picture in which motion raises an event, even if nobody watches."},
    {"privacy", SCHEMA_LIST, .remote = true, .reveals = SCHEMA_REVEALS_PRIVATE,
     CAMERA_FIELD(privacy), .cost = CONFIG_COST_FRAME, .minimum = 0, .maximum = 8,
     .count_offset = offsetof(struct config_camera, privacy_count), .group = &schema_privacy,
     .default_note = "none", .help = "Parts of the picture that are black for everybody."},
    {"record", SCHEMA_GROUP, .group = &schema_record, .help = "The recording of this camera."},
};
const struct schema_group schema_camera = {
    .title = "cameras",
    .help = "One camera, run by a process of its own.",
    .keys = camera_keys,
    .key_count = ARRAY_LENGTH(camera_keys),
    .cost = CONFIG_COST_CAMERA,
    .size = sizeof(struct config_camera),
    .selector = &camera_keys[1],
};

static const struct schema_key root_keys[] = {
    {"backend", SCHEMA_WORD, .offset = offsetof(struct config, backend), .words = backend_words,
     .default_text = "auto",
     .help =
         "The processor that computes the views. auto: the GPU where CUDA works, else the CPU; "
         "cuda: as "
         "auto, and warns when the CPU computes; cpu leaves the GPU alone. When a GPU "
         "fails the CPU goes on at once, and the GPU is tried again after 1 s, 2 s, up to 60 s."},
    {"memory", SCHEMA_WORD, .offset = offsetof(struct config, memory), .words = memory_words,
     .default_text = "auto",
     .help =
         "The memory in which camera, GPU and encoder share a frame. nvmm: a Jetson's own, for its "
         "encoder and for source = \"argus\"; other cameras then have registered. registered: "
         "edged's own, made known to the GPU. pinned: the driver's. managed: cached by the GPU, "
         "moved by the driver. host: plain memory, for the CPU. A kind that fails its test at the "
         "start is replaced by the next; auto begins with nvmm on a Jetson, else with registered."},
    {"cpu_threads", SCHEMA_INTEGER, .offset = offsetof(struct config, cpu_threads),
     .unit = "threads", .minimum = 1, .maximum = 16, .default_text = "1",
     .help = "How many threads of each camera compute views on the CPU, to the same picture. One "
             "is enough for most machines; if processors are idle, more of them make a picture "
             "sooner, but not more pictures."},
    {"rtsp", SCHEMA_GROUP, .front = true, .group = &schema_rtsp, .help = "The streams' server."},
    {"control", SCHEMA_GROUP, .front = true, .group = &schema_control,
     .help = "The status socket."},
    {"http", SCHEMA_GROUP, .front = true, .group = &schema_http,
     .help = "Status and metrics over TCP."},
    {"mqtt", SCHEMA_GROUP, .front = true, .group = &schema_mqtt, .help = "A broker of MQTT."},
    {"onvif", SCHEMA_GROUP, .front = true, .group = &schema_onvif,
     .help = "ONVIF, for recorders and for Home Assistant."},
    {"storage", SCHEMA_GROUP, .front = true, .group = &schema_storage,
     .help = "Where clips are kept."},
    {"cameras", SCHEMA_LIST, .offset = offsetof(struct config, cameras), .minimum = 0,
     .maximum = 64, .count_offset = offsetof(struct config, camera_count), .group = &schema_camera,
     .default_note = "one camera \"front\"", .help = "The cameras."},
    {"kernels", SCHEMA_GROUP, .group = &schema_kernels,
     .help = "How the CUDA kernels' work is cut up."},
};
const struct schema_group schema_root = {
    .title = "",
    .help = "",
    .keys = root_keys,
    .key_count = ARRAY_LENGTH(root_keys),
    .cost = CONFIG_COST_CAMERA,
    .size = sizeof(struct config),
};

const struct schema_key *schema_find_key(const struct schema_group *group, const char *name)
{
    for (size_t i = 0; i < group->key_count; i++) {
        if (strcmp(group->keys[i].name, name) == 0)
            return &group->keys[i];
    }
    return NULL;
}

enum config_cost schema_cost(const struct schema_group *group, const struct schema_key *key)
{
    return key->cost ? key->cost : group->cost;
}

unsigned schema_selected(const struct schema_group *group, const void *object)
{
    return group->selector ? *(const unsigned *)((const char *)object + group->selector->offset)
                           : 0;
}

bool schema_has_effect(const struct schema_group *group, const struct schema_key *key,
                       const void *object)
{
    return !key->used_by || key->used_by & SCHEMA_BIT(schema_selected(group, object));
}

void schema_print_selected(FILE *file, const struct schema_group *group, unsigned bits)
{
    const char *separator = "";

    for (unsigned i = 0; group->selector->words[i]; i++) {
        if (bits & SCHEMA_BIT(i)) {
            fprintf(file, "%s\"%s\"", separator, group->selector->words[i]);
            separator = ", ";
        }
    }
}

const char *config_backend_name(enum config_backend backend)
{
    return backend_words[backend];
}

const char *config_memory_name(enum config_memory memory)
{
    return memory_words[memory];
}

const char *config_source_name(enum config_source source)
{
    return source_words[source];
}

const char *config_flip_name(enum config_flip flip)
{
    return flip_words[flip];
}
