// The bytes of a clip over HTTP: its video, of which a client may ask for a part (RFC 9110, Range),
// and its picture.
//
// The recorder is asked for one block after the other, each when the client has taken the one
// before, and the connection is suspended meanwhile. So a slow card or a slow client costs a block
// of memory and nothing else.
#pragma once

#include "daemon/front/http/http_call.h"

CONTROL_RESULT clip_file_video(struct http_call *call);   // GET /v1/clips/{id}.mp4
CONTROL_RESULT clip_file_picture(struct http_call *call); // GET /v1/clips/{id}.jpg

// Reads the header Range ("bytes=0-499", "bytes=500-", "bytes=-500") for a file of `size` bytes.
// 1: it asks for a part, of which the first and the last byte are written; 0: it is to be ignored,
// because it is of another form, or asks for several parts; -ERANGE: the file has no such bytes.
int clip_file_range(const char *range, uint64_t size, uint64_t *ret_first, uint64_t *ret_last);
