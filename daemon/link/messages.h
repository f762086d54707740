// Messages between the front and a camera process. (Those between the front and the recorder are in
// daemon/link/record.h; only their types are here.)
//
// Both ends are one build, so the structs travel as they are; the hello message carries the version
// and a mismatch ends the link. All times are CLOCK_MONOTONIC nanoseconds of one machine.
#pragma once

#include "board/heat.h"
#include "capture/copies.h"

#include <stdint.h>

#define LINK_VIEWS_MAX 16 // of a camera at a time; their numbers go on, see link_configuration
#define LINK_REGIONS_MAX 8
#define LINK_STAGES_MAX 24
#define LINK_KERNELS_MAX 24
#define LINK_PAYLOAD_MAX (16u << 20)
#define LINK_HALVINGS 4 // of snapshots: all columns and rows, 1 of 2, of 4, of 8
#define LINK_WIDTHS 3   // behind these: 160, 320 and 640 columns, or all if there are not more
#define LINK_SCALES (LINK_HALVINGS + LINK_WIDTHS)
#define LINK_TRIALS_MAX 16
#define LINK_WITHOUT_ENCODER "none works" // the encoder of a view that has none and gets none

enum link_type {
    // front to camera
    LINK_CONFIGURE = 1, // payload: link_configuration, then libconfig text with this one camera;
                        // the first message, and again for changes that the process can follow
    LINK_VIEW_START,    // .view is watched now; begins with a key frame
    LINK_VIEW_STOP,     // nobody watches .view any more
    LINK_KEY_FRAME,     // make the next frame of .view a key frame
    LINK_SNAPSHOT,      // make a JPEG of the next picture of .view, which is computed for it;
                        // payload: uint32_t, the scale. Asking again before it came changes
                        // nothing; one that cannot be sent is left out.
    LINK_TRY_GPU,       // a process that computes on the CPU may try the GPU now; payload: the word
                        // of the backend wanted ("auto", "cuda")
    LINK_TRY_CAMERA,    // a camera that has refused the login may be asked again now
    LINK_TUNE,          // payload: link_tune; begin to tune block sizes, or stop
    // camera to front
    LINK_HELLO,       // payload: the version string
    LINK_SLATE,       // .view: one of two consecutive IDR access units of the NO SIGNAL slate
    LINK_ACCESS_UNIT, // .view: one encoded frame; payload: link_access_unit, then Annex B bytes
    LINK_JPEG,        // .view: a snapshot; payload: link_jpeg, then the JPEG
    LINK_TELEMETRY,   // payload: link_telemetry; once a second and on every change of state. Its
                      // arrival is the camera process's sign of progress.
    LINK_FATAL,       // payload: one sentence; the process ends because no retry can help
    LINK_GPU_FAULT, // payload: one sentence; the GPU is lost to this process, which has closed the
                    // camera and ends: the next one is to begin on the CPU
    LINK_EVENT,     // payload: link_event; motion in a region began or ended. The link keeps room
                    // for them, and a process that cannot send one ends.
    LINK_ENCODER_HUNG, // payload: uint32_t, the enum config_encoder in which a thread of the
                       // process hangs; the process ends
    LINK_HANGING, // payload: one sentence; the process cannot go on or end, and is to be killed
    LINK_RESTART, // payload: one sentence; the process ends, for a new one can try again what
                  // this one cannot
    LINK_TUNE_PROGRESS, // payload: link_tune_progress; how far the tune is, what it has found, its
                        // end. Nothing comes after a stop.
    // both ways, between front and recorder
    RECORD_HELLO, // payload: the version string; the first message of each end
    // front to recorder
    RECORD_STORAGE,
    RECORD_TRACK,
    RECORD_TRACK_END,
    RECORD_UNIT,
    RECORD_WANTED,
    RECORD_PICTURE,
    RECORD_TRIGGER,
    RECORD_LIST,
    RECORD_TIMELINE,
    RECORD_FIND,
    RECORD_READ,
    RECORD_CHANGE,
    RECORD_TRIAL,
    // recorder to front
    RECORD_STATE,
    RECORD_CLIP,
    RECORD_CLIPS,
    RECORD_LANE,
    RECORD_BYTES,
    RECORD_DONE,
    LINK_TYPE_COUNT,
};

struct link_header {
    uint32_t type; // enum link_type
    uint32_t view; // the view's number (link_configuration), where the type says so
    uint32_t size; // bytes of payload that follow
};

// Stands in front of a configuration's text. A view keeps its number from one configuration to the
// next, and no other view of the process ever gets that number. So a message that is under way
// while views come and go reaches the right view.
struct link_configuration {
    uint32_t number;      // of the configuration, from 1 on; telemetry says which is in force
    uint32_t passed_over; // encoders that hung lately: a bit for each enum config_encoder,
                          // which "auto" tries last
    uint32_t without_gpu; // 1: the GPU failed, compute on the CPU until LINK_TRY_GPU
    uint32_t views[LINK_VIEWS_MAX]; // their numbers, in the order of the text
};

// Life of one frame, for the latency histograms.
struct link_access_unit {
    int64_t captured_ns; // the frame's pts
    int64_t grabbed_ns;  // edged had the frame
    int64_t computed_ns; // the view was done
    int64_t encoded_ns;  // the access unit was done
    uint64_t sequence;
    uint8_t key_frame;
    uint8_t slate; // NO SIGNAL picture, not a live frame
    uint8_t reserved[6];
};

struct link_jpeg {
    int64_t captured_ns; // the frame's pts
    uint64_t sequence;   // of the frame
    uint32_t scale;      // as asked for
    uint32_t reserved;
};

// How many columns a snapshot of that scale has at most; 0: as many as the halvings leave.
static inline uint32_t link_scale_width(uint32_t scale)
{
    return scale < LINK_HALVINGS ? 0 : 160U << (scale - LINK_HALVINGS);
}

enum link_camera_state {
    LINK_CAMERA_STARTING,
    LINK_CAMERA_LIVE,
    LINK_CAMERA_NO_SIGNAL, // a declared fault: `error` says what, the process retries
    LINK_CAMERA_SILENT,    // no signal as well, but the camera is open and may go on
    LINK_CAMERA_HANGING,   // it was live, and its lane does not return from a call
    LINK_CAMERA_STATE_COUNT,
};

// Pixels of the camera's picture; all 0: nothing.
struct link_box {
    uint32_t x, y, width, height;
};

// Motion in one region of the picture, as it is now.
struct link_region {
    char name[40];
    uint32_t moving;     // an event is under way
    struct link_box box; // around what moves
    float share;         // of the region that moves, 0..1
};

// Which kernels are tuned, of which view. A tune has a number that no other of the front has. One
// that is begun while another is under way takes its place.
struct link_tune {
    uint32_t number;  // from 1 on
    uint32_t stop;    // 1: end the tune of that number
    uint32_t view;    // its number; 0: all views of the camera
    uint32_t kernels; // a bit for each enum config_kernel; 0: all that the views have
};

enum link_tune_kind {
    LINK_TUNE_TRIED,  // a block was timed
    LINK_TUNE_CHOSEN, // what became of a kernel: all that have a faster block are told of at the
                      // end
    LINK_TUNE_DONE,   // nothing more comes
    LINK_TUNE_FAILED, // the same, and `sentence` says why
};

struct link_block {
    int32_t x, y, rows; // threads and rows a thread, as struct config_block
};

// Times are microseconds of all kernels of the view, or of the views that have the kernel.
struct link_tune_progress {
    uint32_t number;         // of the tune
    uint32_t kind;           // enum link_tune_kind
    uint32_t kernel;         // enum config_kernel
    uint32_t view;           // TRIED: its number
    struct link_block block; // TRIED: the one that was timed. CHOSEN: the one that was in use
    double us;               // what it took
    struct link_block best;  // TRIED: the fastest so far. CHOSEN: the one to be used
    double best_us;
    struct link_block set; // CHOSEN: what of `best` is to be configured; 0: nothing
    double share;          // TRIED: how much of the whole tune is over, 0 to 1
    uint32_t turn, turns;  // TRIED: of this kernel's blocks, with this view
    char sentence[256];    // FAILED
};

enum link_event_kind { LINK_EVENT_MOTION_STARTED, LINK_EVENT_MOTION_ENDED };

// The end of an event has the started_ns of its beginning, and no other event of the region has it.
struct link_event {
    uint32_t kind;             // enum link_event_kind
    float peak_share;          // the largest share of the event so far
    int64_t started_ns;        // pts of the first moving frame
    int64_t at_ns;             // pts of the frame that decided
    struct link_region region; // at that frame
};

// An encoder, or one of the ways into it, that did not make key frames of its trial picture, or was
// not tried.
struct link_trial {
    uint32_t element; // enum config_encoder; 0: there is none
    uint32_t missing; // 1: GStreamer has no such element
    uint32_t took_ms; // 0: it was not tried
    char encoder[44]; // "nvv4l2h264enc by descriptor"
    char reason[136];
};

struct link_telemetry {
    uint32_t state; // enum link_camera_state
    uint32_t width, height;
    uint32_t fps_milli;      // measured over the last second, frames per second * 1000
    char format[8];          // "YUYV"
    char path[256];          // the memory path line
    char error[512];         // why there is no signal; "" when live
    char backend[16];        // what computes the views: "CPU", "CUDA sm_87"; "" before it is known
    char gpu[256];           // the GPU's name when it computes, else why it does not
    uint32_t gpu_may_return; // the reason may pass: the GPU is to be tried again
    uint32_t gpu_is_refused; // this process may not open the GPU's devices, another may
    uint32_t configuration;  // number of the newest that is in force or was refused
    char refusal[256];       // why it was; "" when in force
    uint64_t frames, dropped, corrupted, reconnects;
    int64_t last_frame_ns; // when edged had the newest; 0: none yet
    int64_t patience_ns;   // for how long no other may come, before the process sends slates; 0: it
                           // has no camera
    struct heat heat;      // of the board that the process runs on
    uint64_t copies[COPY_KIND_COUNT];
    struct {
        uint64_t encoded; // frames
        uint64_t dropped; // computed or encoded too late, or the link was full
        uint32_t watched;
        uint32_t view;     // its number; 0: there is none
        char encoder[24];  // "x264enc"
        char governor[24]; // what is given up because it is too slow: "rate 1/2"; "": nothing
    } views[LINK_VIEWS_MAX];
    struct link_trial trials[LINK_TRIALS_MAX];    // that failed, of the process's encoders
    struct link_block blocks[LINK_KERNELS_MAX];   // by enum config_kernel; 0: the GPU's own choice
    struct link_region regions[LINK_REGIONS_MAX]; // unused ones have no name
    struct {
        uint64_t runs;         // computed
        uint64_t shared;       // times that a view took another view's result
    } stages[LINK_STAGES_MAX]; // by enum stage_kind
};
