// The names that GStreamer makes up for elements, in texts for people.
#pragma once

// Takes the numbers off them: "pipeline6" and "v4l2src6" are the seventh of their kind in this
// process, so that the same fault would have another text each time. A name somebody chose stays.
void gstreamer_names_settle(char *text);
