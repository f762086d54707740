// The host in the URL of a camera: where it stands, and whether it can be reached.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Finds the host in the URL, with the port where there is one, as *ret_host; never its path or
// query, which may have secrets. Returns its length in bytes.
int rtsp_host_find(const char *url, const char **ret_host);
// Whether two URLs name the same host, by any port. Not if one has a user in front of its host, or
// may be read in two ways.
bool rtsp_host_is_same(const char *a, const char *b);
// Connects to the host of the URL, for at most a second. Returns the error, in a sentence that the
// caller g_free()s; NULL: nothing.
char *rtsp_host_try(const char *url, uint16_t default_port);
