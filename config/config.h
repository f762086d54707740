// The configuration: what edged.conf says, with every default filled in and every value checked.
//
// The schema table (config/schema/schema.c) is the only place that knows keys, types, units,
// ranges, defaults and help. It drives the parser, --check, the commented edged.conf, edged.conf(5)
// and config_format(). A struct config is immutable once loaded; a reload builds a second one.
#pragma once

#include "config/base.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

// Where edged and edgectl look when they are not told.
#define CONFIG_DEFAULT_PATH EDGED_SYSCONFDIR "/edged/edged.conf"

// The cost of a change for viewers, from nothing to all: the schema names it for each key, and
// config/diff.h finds that of a whole change.
enum config_cost {
    CONFIG_COST_NONE,   // nothing has changed
    CONFIG_COST_FRAME,  // between two frames: no viewer loses one
    CONFIG_COST_VIEW,   // the view starts anew and its viewers go on at a key frame; others go on
    CONFIG_COST_CAMERA, // the camera process is replaced; its viewers see the slate meanwhile
    CONFIG_COST_START,  // only the next start of edged
};
enum config_backend { CONFIG_BACKEND_AUTO, CONFIG_BACKEND_CUDA, CONFIG_BACKEND_CPU };
enum config_memory {
    CONFIG_MEMORY_AUTO,
    CONFIG_MEMORY_NVMM,
    CONFIG_MEMORY_REGISTERED,
    CONFIG_MEMORY_PINNED,
    CONFIG_MEMORY_MANAGED,
    CONFIG_MEMORY_HOST,
};
// Access to the pictures. Unset: the users, or without users everybody on this machine. None:
// everybody who can reach the address.
enum config_auth { CONFIG_AUTH_UNSET, CONFIG_AUTH_NONE };
// Rights of a user; each role also has those of the roles before it.
enum config_role { CONFIG_ROLE_VIEWER, CONFIG_ROLE_OPERATOR, CONFIG_ROLE_ADMIN };
#define CONFIG_ROLE_COUNT 3
enum config_source {
    CONFIG_SOURCE_AUTO,
    CONFIG_SOURCE_V4L2,
    CONFIG_SOURCE_GSTREAMER,
    CONFIG_SOURCE_FILE,
    CONFIG_SOURCE_PATTERN,
    CONFIG_SOURCE_RTSP,
    CONFIG_SOURCE_ARGUS,
};
// Transport of an RTSP camera's pictures: auto is UDP, and TCP where nothing comes by UDP.
enum config_transport { CONFIG_TRANSPORT_AUTO, CONFIG_TRANSPORT_TCP, CONFIG_TRANSPORT_UDP };
// How a camera's pictures are turned (clockwise) or mirrored.
enum config_flip {
    CONFIG_FLIP_NONE,
    CONFIG_FLIP_ROTATE_90,
    CONFIG_FLIP_ROTATE_180,
    CONFIG_FLIP_ROTATE_270,
    CONFIG_FLIP_HORIZONTAL,
    CONFIG_FLIP_VERTICAL,
};
// How a v4l2 source gets its frames: auto tries USERPTR, then MMAP with one counted copy.
enum config_v4l2_io { CONFIG_V4L2_IO_AUTO, CONFIG_V4L2_IO_USERPTR, CONFIG_V4L2_IO_MMAP };
enum config_view_kind {
    CONFIG_VIEW_CAMERA,
    CONFIG_VIEW_GRAY,
    CONFIG_VIEW_EDGES,
    CONFIG_VIEW_BINARY,
    CONFIG_VIEW_CANNY,
    CONFIG_VIEW_MOTION,
    CONFIG_VIEW_OVERLAY,
    CONFIG_VIEW_DIRECTION,
    CONFIG_VIEW_SPLIT,
    CONFIG_VIEW_CUSTOM,
};
enum config_operator {
    CONFIG_OPERATOR_SOBEL,
    CONFIG_OPERATOR_SOBEL5,
    CONFIG_OPERATOR_SCHARR,
    CONFIG_OPERATOR_PREWITT,
    CONFIG_OPERATOR_COUNT,
};
enum config_norm { CONFIG_NORM_L2, CONFIG_NORM_L1 };
enum config_morphology {
    CONFIG_MORPHOLOGY_NONE,
    CONFIG_MORPHOLOGY_ERODE,
    CONFIG_MORPHOLOGY_DILATE,
    CONFIG_MORPHOLOGY_OPEN,
    CONFIG_MORPHOLOGY_CLOSE,
};
// How a mask is marked in the camera's picture: red 255 with green and blue halved, or red alone.
enum config_mark { CONFIG_MARK_TINT, CONFIG_MARK_RED };
// Where Canny's two thresholds come from.
enum config_thresholds { CONFIG_THRESHOLDS_FIXED, CONFIG_THRESHOLDS_MEDIAN };
enum config_codec { CONFIG_CODEC_H264, CONFIG_CODEC_H265, CONFIG_CODEC_MJPEG };
// Whether a view gives up rate or size, and in which order, while its encoder is too slow.
enum config_governor {
    CONFIG_GOVERNOR_RATE_SIZE,
    CONFIG_GOVERNOR_SIZE_RATE,
    CONFIG_GOVERNOR_RATE,
    CONFIG_GOVERNOR_SIZE,
    CONFIG_GOVERNOR_OFF,
};
// Which encoder element: auto walks those of the codec in this order.
enum config_encoder {
    CONFIG_ENCODER_AUTO,
    CONFIG_ENCODER_NVV4L2,
    CONFIG_ENCODER_V4L2,
    CONFIG_ENCODER_NVCUDA,
    CONFIG_ENCODER_NVENC,
    CONFIG_ENCODER_X264,
    CONFIG_ENCODER_OPENH264,
    CONFIG_ENCODER_NVV4L2_H265,
    CONFIG_ENCODER_V4L2_H265,
    CONFIG_ENCODER_X265,
    CONFIG_ENCODER_TURBOJPEG,
    CONFIG_ENCODER_COUNT,
};

#define CONFIG_THRESHOLD_OTSU (-1)
// Pixels that encoders take in a row, so a split of two pictures may have.
#define CONFIG_SPLIT_WIDTH_MAX 4096
// Pixels of a side of a JPEG that RTP can carry (RFC 2435, section 3.1.5).
#define CONFIG_MJPEG_SIDE_MAX 2040

// The words that a view of one's own is made of: what each takes and makes (enum
// stage_picture of schema_view.c); SAME: a mask of a mask, else gray.
#define CONFIG_STAGES(X)                                                                           \
    X(GRAY, "gray", CAMERA, GRAY)                                                                  \
    X(BLUR3, "blur3", ANY_GRAY, GRAY)                                                              \
    X(BLUR5, "blur5", ANY_GRAY, GRAY)                                                              \
    X(SOBEL, "sobel", ANY_GRAY, GRAY)                                                              \
    X(SOBEL5, "sobel5", ANY_GRAY, GRAY)                                                            \
    X(SCHARR, "scharr", ANY_GRAY, GRAY)                                                            \
    X(PREWITT, "prewitt", ANY_GRAY, GRAY)                                                          \
    X(THRESHOLD, "threshold", ANY_GRAY, MASK)                                                      \
    X(CANNY, "canny", ANY_GRAY, MASK)                                                              \
    X(DIFFERENCE, "difference", ANY_GRAY, MASK)                                                    \
    X(ERODE, "erode", ANY_GRAY, SAME)                                                              \
    X(DILATE, "dilate", ANY_GRAY, SAME)                                                            \
    X(OPEN, "open", ANY_GRAY, SAME)                                                                \
    X(CLOSE, "close", ANY_GRAY, SAME)                                                              \
    X(MASK, "mask", ANY_GRAY, SAME)                                                                \
    X(MARK, "mark", MASK, COLOUR)                                                                  \
    X(OVERLAY, "overlay", MASK, COLOUR)                                                            \
    X(DIRECTION, "direction", ANY_GRAY, COLOUR)

#define CONFIG_STAGE_ENUM(name, word, takes, makes) CONFIG_STAGE_##name,
enum config_stage { CONFIG_STAGES(CONFIG_STAGE_ENUM) CONFIG_STAGE_COUNT };
#undef CONFIG_STAGE_ENUM

// A short list of words, by their number.
#define CONFIG_WORDS_MAX 12
struct config_words {
    unsigned list[CONFIG_WORDS_MAX];
    size_t count;
};

// A short list of names, the unused ones all 0.
#define CONFIG_NAMES_MAX 8
#define CONFIG_NAME_SIZE 33
#define CONFIG_LONG_NAME_SIZE 128
struct config_names {
    char list[CONFIG_NAMES_MAX][CONFIG_LONG_NAME_SIZE];
    size_t count;
};

// A corner of a polygon, in shares of the picture's width and height, 0..1.
struct config_point {
    double x, y;
};

// Where a label is in the picture.
enum config_corner {
    CONFIG_CORNER_TOP_LEFT,
    CONFIG_CORNER_TOP_RIGHT,
    CONFIG_CORNER_BOTTOM_LEFT,
    CONFIG_CORNER_BOTTOM_RIGHT,
};

// Text written into a view's picture; none where text, clock and camera are all unset.
struct config_label {
    char *text;         // UTF-8, at most 64 characters; "": none
    bool clock, camera; // the local time, the camera's name
    int size;           // 1..4
    enum config_corner corner;
};

struct config_view {
    char *name; // mount: /<camera>/<name>; [A-Za-z0-9_-]{1,32}, unique in its camera
    enum config_view_kind view;
    enum config_operator op;
    int blur; // 0, 3 or 5: the side of the square that smooths first
    enum config_norm norm;
    double gain; // factor on the magnitude before rounding
    // 1..255 gray levels, of edges (binary, overlay) or of a difference (motion), or
    // CONFIG_THRESHOLD_OTSU
    int threshold;
    char *colour;                      // of an overlay's edges: "#rrggbb"
    enum config_morphology morphology; // what is done with white shapes, and how often
    int times;
    enum config_thresholds thresholds; // canny: `low` and `high`, or by the median of each frame
    int erode;                         // how often a mask of motion loses its outermost pixels
    enum config_mark mark;             // of what moves, and of the stage of that name
    double low, high;                  // canny: gradient strengths, swapped if low > high
    // The area that the view is limited to, as a region is; neither: the whole picture.
    struct config_point *polygon;
    size_t polygon_count;
    char *mask;
    struct config_label label;
    char *left, *right; // split: names of other views of the camera, or words of kinds
    // Those views, in the same list; NULL where it is a kind of view, with the split's own keys.
    const struct config_view *left_view, *right_view;
    struct config_words stages; // of enum config_stage, in their order; of a custom view alone
    enum config_codec codec;
    enum config_encoder encoder;
    enum config_governor governor;
    int bitrate_kbps;
    int jpeg_quality;
    double keyframe_s;         // distance of key frames in seconds
    struct config_words allow; // of enum config_role: who may watch, see config_view_role()
};

// One V4L2 control: the name as `v4l2-ctl -l` prints it ("exposure_time_absolute"). Or a property
// of nvarguscamerasrc.
struct config_control {
    char *name;
    int value;
};

// A part of the picture in which motion is an event.
struct config_region {
    char *name;                   // as for views, unique in its camera
    struct config_point *polygon; // its corners, 3 and more; none: the mask, or the whole picture
    size_t polygon_count;
    char *mask;        // a picture, white where the region is, scaled to the camera's; "": none
    int threshold;     // gray levels by which a cell that has changed differs from before
    int erode;         // what moves has (2 erode + 1)^2 cells at least
    double start, end; // percent of the region that moves: an event begins, is over
    double duration_s; // motion for at least so long begins an event
    double cooldown_s; // stillness for at least so long ends it
};

// A part of the picture that nobody sees.
struct config_privacy {
    char *name;                   // as for views, unique in its camera
    struct config_point *polygon; // its corners, 3 and more
    size_t polygon_count;
};

enum config_record_mode {
    CONFIG_RECORD_OFF,
    CONFIG_RECORD_EVENTS, // clips of motion in the regions, and of signals from outside
    CONFIG_RECORD_ALWAYS, // all of it; events mark the clips that show them
};

// Recording of a camera.
struct config_record {
    char *view; // its name; "": the camera's first, see config_record_view()
    enum config_record_mode mode;
    struct config_names regions; // whose motion begins clips; none: that of every region
    double before_s, after_s;    // how long a clip begins before motion, and ends after it
    int max_clip_s;              // after which the next one begins
};

struct config_camera {
    char *name; // as for views, unique
    enum config_source source;
    char *device;      // v4l2: device node or /dev/v4l/by-path link; "" means the first that works
    char *pipeline;    // gstreamer: launch fragment, without a sink
    char *path;        // file: the clip
    char *url;         // rtsp: of the camera, without user and password
    char *credentials; // rtsp: the file with them (credentials.h); "": none
    char *fingerprint; // rtsp: SHA-256 of the camera's certificate, hexadecimal; "": any trusted
    enum config_transport transport; // rtsp
    int sensor;                      // argus: its number
    enum config_flip flip;
    char *format; // fourcc as V4L2 names it ("YUYV", "NV12", "MJPG", …) or "auto"
    enum config_v4l2_io io;
    // v4l2: of raw formats. The sample that is black, and the factors of all colours, red and blue.
    int raw_black;
    double raw_gain, raw_red, raw_blue;
    int width, height; // pixels, of the flipped picture
    int fps;
    struct config_control *controls;
    size_t control_count;
    struct config_view *views;
    size_t view_count;
    bool armed;                    // whether motion in the regions is looked for
    struct config_region *regions; // of motion events
    size_t region_count;
    struct config_privacy *privacy; // what is black, in the flipped picture
    size_t privacy_count;
    struct config_record record;
};

// The CUDA kernels whose launch can be chosen; one group each in the group "kernels".
enum config_kernel {
    CONFIG_KERNEL_GRADIENT,   // a camera's picture to edges
    CONFIG_KERNEL_GRAY,       // a camera's picture to gray
    CONFIG_KERNEL_CONVERT,    // a camera's picture to NV12 or RGB3
    CONFIG_KERNEL_BLUR,       // gray to smoother gray
    CONFIG_KERNEL_THRESHOLD,  // gray to black and white, and the histogram for it
    CONFIG_KERNEL_MORPHOLOGY, // erosion and dilation
    CONFIG_KERNEL_CANNY,      // gray to thin edges
    CONFIG_KERNEL_DIFFERENCE, // two frames to what differs
    CONFIG_KERNEL_MARK,       // what moved into the camera's picture
    CONFIG_KERNEL_DIRECTION,  // gray to the hue of its gradient
    CONFIG_KERNEL_OVERLAY,    // edges into the camera's picture
    CONFIG_KERNEL_MASK,       // gray to what a view's mask leaves of it
    CONFIG_KERNEL_COUNT,
};

// Most threads a block can have on any GPU; a device or a kernel may allow fewer.
#define CONFIG_BLOCK_THREADS_MAX 1024

// Most rows a thread can be told to make.
#define CONFIG_ROWS_MAX 64

// How a kernel's work is cut up: threads a block, x and y ({0, 0}: the default block), and
// the rows a thread makes (0: the default for the GPU and its memory), which only some kernels
// have a choice of.
struct config_block {
    int x, y;
    int rows;
};

// Limits for the RTSP server's clients.
struct config_limits {
    int connections, connections_an_address;
    int sessions, sessions_an_address, sessions_a_connection;
    int requests_a_second; // on a connection
    int play_within_s;     // of the connect
};

// Limits for HTTP's clients, and the names that it answers to. A change takes effect while edged
// runs.
struct config_http_clients {
    int connections, connections_an_address;
    int streams;                 // replies that go on, and snapshots that wait for their picture
    int streams_a_client;        // 0: a quarter of `streams`
    struct config_names proxies; // addresses that stand for many clients
    struct config_names names;   // of this machine, besides its own
    bool embed;                  // pages of others may show pictures, where users are asked for
};

// The most ports that streams can need: as many as there can be cameras with all their views.
#define CONFIG_MULTICAST_MAX 1024

// Where streams go to for clients that ask for multicast: each in use to an address of its own.
struct config_multicast {
    char *addresses; // multicast_range.h; "": there is no multicast
    int port;        // of the first address, even; RTCP's is one more, that of the next two more
    int ttl;
    char *interface; // "": the one that has rtsp.address; where that is all, as the routes say
    bool public;     // with users, too
};

struct config {
    bool is_empty; // the text had not one setting
    enum config_backend backend;
    enum config_memory memory;
    int cpu_threads; // that a camera's views share on the CPU, 1..16
    struct config_block blocks[CONFIG_KERNEL_COUNT];
    struct {
        char *address; // of a loopback where auth is unset and there are no users
        enum config_auth auth;
        char *users; // the file with them (users.h); "": the systemd credential rtsp.users, or none
        char *tokens; // the same of programs; "": the systemd credential rtsp.tokens, or none
        int port;
        bool plain;        // whether `port` is served
        int tls_port;      // 0: none
        char *certificate; // PEM files for TLS; both "": one is generated
        char *key;
        struct config_limits limits;
        struct config_multicast multicast;
    } rtsp;
    struct {
        char *address; // of a loopback where rtsp.auth is unset
        int port;      // 0: none
        bool tls;
        struct config_http_clients clients;
        bool is_default; // neither address nor port was set: without them edged does without HTTP
    } http;
    struct {
        char *broker; // "": none
        int port;     // 0: the usual one
        bool tls;
        char *ca;            // PEM; "": the system's
        char *user;          // "": none
        char *password_file; // "": none
        char *topic;
        char *discovery; // "": none
    } mqtt;
    struct {
        bool enabled;
        bool plain;     // also without TLS, where HTTP is inside TLS
        bool discovery; // answers clients that look for cameras, where HTTP is open to the network
    } onvif;
    struct {
        char *socket; // path of the control socket; "" means $XDG_RUNTIME_DIR/edged/control.sock
                      // for a user, /run/edged/control.sock for a service
    } control;
    struct {
        char *path;       // absolute; "": `clips` where edged keeps its state
        char *max_size;   // config_read_size(); "": no limit
        char *min_free;   // the same; "": a tenth of the file system, at least 1 GB
        int max_age_days; // 0: no limit
    } storage;
    struct config_camera *cameras;
    size_t camera_count;
};

// Whether any camera is recorded.
bool config_records(const struct config *config);
// The view of a camera that is kept, whether its mode is off or not; NULL: there is none of the
// name that `record` has.
const struct config_view *config_record_view(const struct config_camera *camera);
// Whether motion in the region of that name begins clips, where `regions` is what `record` says.
bool config_record_has_region(const struct config_names *regions, const char *region);

#define CONFIG_STORAGE_PATH_SIZE 1000
// Reads a size, a whole number of bytes with or without one of the letters k, M, G and T: "16G" is
// 16,000,000,000. -EINVAL if it is none, or more than 10^18.
int config_read_size(const char *text, uint64_t *ret_bytes);

// Addresses that only this machine reaches, for messages, and whether `address` is one.
#define CONFIG_LOOPBACK "127.0.0.0/8, ::1 or localhost"
bool config_is_loopback(const char *address);
// Whether the first `length` bytes of `text` are HOST or HOST:PORT, as URLs and HTTP's Host have
// them: a name, an address of IPv4, or one of IPv6 in brackets; PORT from 1 to 65535, or empty.
// Copies HOST without the brackets.
#define CONFIG_HOST_SIZE 256
bool config_read_host(const char *text, size_t length, char ret_host[CONFIG_HOST_SIZE]);

// Loads a file (libconfig syntax, @include relative to the file). All problems are found in one
// run, each written to `problems` (may be NULL) as one line `FILE:LINE: error: key.path: what it
// got, what is allowed` or `…: warning: …`. Returns 0 and the configuration in `ret_config`,
// -EINVAL with problems, or another negative errno when the file cannot be read: what open() and
// read() say, -EFBIG (over 4 MiB with all it includes), -EMLINK (includes more than 8 deep),
// -ENOMEM; written to `problems`, too. The caller owns the result: config_free().
int config_load(const char *path, FILE *problems, struct config **ret_config);

// The same for text held in memory; `name` stands for the file name in messages.
int config_parse(const char *text, const char *name, FILE *problems, struct config **ret_config);
// The same two with the problems in their parts (may be NULL), and one for a text that is loaded as
// if it were the content of the file `path`.
struct config_problems;
int config_check_file(const char *path, struct config_problems *problems,
                      struct config **ret_config);
int config_check_text(const char *text, const char *name, struct config_problems *problems,
                      struct config **ret_config);
int config_check_content(const char *text, const char *path, struct config_problems *problems,
                         struct config **ret_config);

// Writes `config` (with SIZE_MAX), or what the process of camera number `camera` is told: that
// camera and what is of all cameras, but no address or user, which that process has no use for. It
// is libconfig text that config_parse() accepts without problems and that is equal exactly when the
// settings are equal; keys without effect (gain of a gray view) are left out. -ENOMEM. The caller
// frees *ret_text.
int config_format(const struct config *config, size_t camera, char **ret_text);

// Gives a view with every other default those that depend on what it shows.
void config_view_complete(struct config_view *view);
// Sets one key of a view as it would stand in the file: `key` as in the schema ("gain"), `value`
// as text ("1.5"). For `edgectl process --set`. -EINVAL with the allowed values in `error`.
int config_view_set(struct config_view *view, const char *key, const char *value,
                    struct error *error);
// A view with every default, named `kind` ("edges"). -EINVAL with the allowed kinds in `error`.
int config_view_new(const char *kind, struct error *error, struct config_view **ret_view);
void config_view_free(struct config_view *view);

// Whether anything is written into a view's picture.
bool config_view_has_label(const struct config_view *view);
// Whether a view is limited to a part of the picture.
bool config_view_is_masked(const struct config_view *view);
// Whether what limits it fits together: a polygon or a mask, and with stages of its own one that is
// called mask. -EINVAL with "got …, allowed: …" in `error` and the key in *ret_key.
int config_view_check_mask(const struct config_view *view, struct error *error,
                           const char **ret_key);
// The least role that may watch a view.
enum config_role config_view_role(const struct config_view *view);
// Whether a view compares each frame with the one before.
bool config_view_remembers(const struct config_view *view);
// Whether its pictures have colours, and whether it looks at the camera's.
bool config_view_is_colour(const struct config_view *view);
bool config_view_reads_colour(const struct config_view *view);
// Red, green and blue of a colour as a view has it, "#rrggbb" in hexadecimal digits. -EINVAL, and
// black, if it is not one.
int config_colour_parse(const char *colour, uint8_t ret_rgb[3]);

// One side of a split, 0 the left one: the strings are those of `split` or of the view that it
// names. -ENOENT, with what is allowed, if there is no such view.
int config_split_side(const struct config_view *split, unsigned side, struct config_view *ret_side,
                      struct error *error);

// The word for an enum value in the file ("sobel"), for messages and status.
const char *config_backend_name(enum config_backend backend);
const char *config_memory_name(enum config_memory memory);
const char *config_source_name(enum config_source source);
const char *config_flip_name(enum config_flip flip);
// Whether width and height change places.
static inline bool config_flip_is_quarter(enum config_flip flip)
{
    return flip == CONFIG_FLIP_ROTATE_90 || flip == CONFIG_FLIP_ROTATE_270;
}
const char *config_view_kind_name(enum config_view_kind kind);
const char *config_encoder_name(enum config_encoder encoder);
const char *config_codec_name(enum config_codec codec);
// The codec of an encoder; of CONFIG_ENCODER_AUTO: CONFIG_CODEC_H264.
enum config_codec config_encoder_codec(enum config_encoder encoder);
// As people write it: "H.264".
const char *config_codec_title(enum config_codec codec);
const char *config_role_name(enum config_role role);
const char *config_record_mode_name(enum config_record_mode mode);
// The role of that name. -EINVAL if there is none.
int config_role_parse(const char *name, enum config_role *ret_role);
// The kernel's key in the group "kernels" ("gradient").
const char *config_kernel_name(enum config_kernel kernel);

// Generated documents, both driven by the schema table.
int config_write_example(FILE *file);  // config/edged.conf
int config_write_man_page(FILE *file); // config/edged.conf.5

void config_free(struct config *config);

static inline void cleanup_config(struct config **config)
{
    config_free(*config);
}
