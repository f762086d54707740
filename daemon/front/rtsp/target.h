// What the URL of a request names. "rtsp://host:8554/front/edges/stream=0?what" is the media of the
// presentation "/front/edges", and means the same as the presentation, which has no other media.
// Where a client has appended the name of the media twice, it counts once.
#pragma once

// The control attribute of the one media that a presentation has.
#define RTSP_MEDIA_CONTROL "stream=0"

struct rtsp_target {
    char base[256]; // the URL of the presentation as the client wrote it, without its query
    char path[128]; // of the presentation, "/front/edges"; "": the URL is "*", for the server
};

// Trailing slashes and queries are ignored; so is the host, because the server may have many names.
// -EINVAL: no rtsp or rtsps URL with a path, or "*"; -ENAMETOOLONG: no path of ours is that long.
int rtsp_target_read(const char *url, struct rtsp_target *ret_target);
