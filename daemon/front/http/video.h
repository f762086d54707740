// Live video over HTTP, for pages and programs: each reply reads one or more views as a viewer of
// RTSP does, and goes on until its client hangs up. A view is encoded only while somebody watches
// it; a client that reads too slowly continues with a key frame and costs the others nothing. A
// client that reads nothing for 10 s is hung up on.
//
//   GET /v1/cameras/{camera}/views/{view}/video?format=records
//   GET /v1/video?view=front/edges&view=front/plain            up to VIDEO_VIEWS_MAX views
//   GET /v1/cameras/{camera}/views/{view}/video?format=mp4
//
// `records`, the default, is for WebCodecs (application/vnd.edged.records). Each record is a header
// of VIDEO_RECORD_HEADER bytes, integers with the highest byte first, and then the payload:
//
//   u32 length     of the payload
//   u8 kind        one of enum video_record; pass over those that you do not know
//   u8 view        the view's number in the request, from 0 on; VIDEO_ALL_VIEWS: not one's alone
//   u8 flags       enum video_flag, of a unit
//   u8             0
//   i64 time       microseconds since 1970 by the clock of day: of a unit, when its picture was
//                  captured, else of now
//
// `mp4` is for Media Source Extensions and players (video/mp4, with the codec as a parameter): an
// init segment, then a fragment with a `prft` for each picture, of one view; another init segment
// where the stream's parameter sets change. It begins with the first key frame; 503 where none
// comes in 10 s.
//
// A view that is removed, gets another codec, or may not be watched any more ends the reply within
// a second.
#pragma once

#include "daemon/front/http/http_call.h"

#define VIDEO_VIEWS_MAX 16u
#define VIDEO_RECORD_HEADER 16u
#define VIDEO_ALL_VIEWS 255

enum video_record {
    // JSON, before a view's first unit and wherever it changes: "view" ("front/edges"), "codec"
    // (RFC 6381), "width", "height".
    VIDEO_CONFIGURATION = 1,
    // An access unit in Annex B. A key frame has its parameter sets in front.
    VIDEO_UNIT = 2,
    // JSON, at first and then each second: of /v1/status "cameras" and "mounts", those of the
    // views alone.
    VIDEO_STATUS = 3,
    // JSON: an event as in /v1/events, of a camera of the views. What moves already is in the
    // status.
    VIDEO_EVENT = 4,
};

enum video_flag {
    VIDEO_KEY_FRAME = 1,
    VIDEO_SLATE = 2, // NO SIGNAL, not a picture of the camera
};

// Of the first URL, whose parameters are the names of camera and view.
CONTROL_RESULT video_reply_one(struct http_call *call);
// Of the second.
CONTROL_RESULT video_reply_many(struct http_call *call);
