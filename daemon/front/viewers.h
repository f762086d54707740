// Who watches what: one entry for each RTSP session that plays. From any thread.
#pragma once

#include <stdbool.h>

struct viewers;

struct viewers *viewers_new(void);
// Takes NULL.
void viewers_free(struct viewers *viewers);

// `session` (its id) of `client` (an identity, never followed) (`description`: from where and how,
// for the log) plays the stream of `stream_path`; a second call for one session changes nothing.
// Logs who came.
void viewers_add(struct viewers *viewers, const char *session, const void *client,
                 const char *description, const char *stream_path);
// Logs who went.
void viewers_remove_session(struct viewers *viewers, const char *session);
void viewers_remove_client(struct viewers *viewers, const void *client);

// `stream_path` NULL: of any stream.
unsigned viewers_count(struct viewers *viewers, const char *stream_path);
// Whether `client` plays the stream of `stream_path`; NULL: any stream.
bool viewers_has_client(struct viewers *viewers, const void *client, const char *stream_path);
