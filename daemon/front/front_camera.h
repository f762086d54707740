// One camera of the configuration, as the front sees it: a stream and a mount for each view, and
// the supervisor of its process. Main loop only.
#pragma once

#include "config/config.h"
#include "daemon/front/rtsp/rtsp_server.h"
#include "daemon/front/status/status.h"
#include "daemon/front/supervise/supervisor.h"

struct front_camera;

// Makes camera number `index` of `config`, which is borrowed until another is applied, and its
// mounts on `server`, which outlives it; its process is not started yet.
struct front_camera *front_camera_new(const struct config *config, size_t index,
                                      struct rtsp_server *server,
                                      const struct supervisor_environment *environment);
// Takes the mounts away, disconnects their viewers and kills the process. Takes NULL.
void front_camera_free(struct front_camera *camera);

// Goes over to another configuration, where the camera of the same name has number `index`. How it
// differs decides by config_diff_camera() whether the process goes on or is replaced. Views that
// keep their name and codec keep their viewers.
void front_camera_apply(struct front_camera *camera, const struct config *config, size_t index);

const char *front_camera_name(const struct front_camera *camera);
struct supervisor *front_camera_supervisor(const struct front_camera *camera);
// What moves in its regions; borrowed.
const struct regions *front_camera_regions(const struct front_camera *camera);
// The stream of the first view; borrowed.
struct stream *front_camera_first_stream(const struct front_camera *camera);
size_t front_camera_view_count(const struct front_camera *camera);
// The path of a view ("/front/edges"); borrowed.
const char *front_camera_view_path(const struct front_camera *camera, size_t view);
// The stream of the view of that name, NULL: of the first, among those that `role` is shown;
// borrowed. NULL: there is none.
struct stream *front_camera_find_stream(const struct front_camera *camera, enum config_role role,
                                        const char *view);
// Adds the names of those views, each in quotes, behind a comma where the text is not empty.
void front_camera_list_views(const struct front_camera *camera, enum config_role role,
                             GString *text);
// Whether one of the paths is that of a view.
bool front_camera_has_path(const struct front_camera *camera, const char *const *paths);
bool front_camera_is_watched(const struct front_camera *camera);

// A role is shown the views that it may watch, and the cameras with such a view; an administrator
// all of them.
bool front_camera_is_shown(const struct front_camera *camera, enum config_role role);
bool front_camera_shows_all(const struct front_camera *camera, enum config_role role);
// Of the views that `role` is shown.
unsigned front_camera_count_viewers(const struct front_camera *camera, enum config_role role);
// The name of the view of that stream; "": `role` is shown none.
const char *front_camera_view_name(const struct front_camera *camera, const struct stream *stream,
                                   enum config_role role);
// Fills all but the usage of the process.
void front_camera_describe(const struct front_camera *camera, struct camera_facts *ret_facts);
// Adds an object with the camera's facts, if `role` is shown it.
void front_camera_add_facts(const struct front_camera *camera, struct facts *facts,
                            enum config_role role);
// Adds an object for each mount that `role` is shown and that `paths` has (NULL at their end), or
// with NULL for `paths` each. `url` is the server's, `alias` a second path of the first view.
void front_camera_add_mounts(const struct front_camera *camera, struct facts *facts,
                             const char *url, const char *alias, enum config_role role,
                             const char *const *paths);
// Adds the URL of each such mount, which the array g_free()s.
void front_camera_add_urls(const struct front_camera *camera, const char *url,
                           enum config_role role, GPtrArray *urls);
