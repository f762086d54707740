// One camera of the configuration, as the front sees it: a stream and a mount for each view, and
// the supervisor of its process. Main loop only.
#pragma once

#include "config/config.h"
#include "daemon/front/model/mounts.h"
#include "daemon/front/supervise/supervisor.h"

struct front_camera;

// Makes camera number `index` of `config`, which is borrowed until another is applied, and puts its
// streams into `mounts`, which outlives it; its process is not started yet.
struct front_camera *front_camera_new(const struct config *config, size_t index, GHashTable *mounts,
                                      const struct supervisor_environment *environment);
// Takes its streams out of the mounts and kills the process. Takes NULL.
void front_camera_free(struct front_camera *camera);

// Goes over to another configuration, where the camera of the same name has number `index`. How it
// differs decides by config_diff_camera() whether the process goes on or is replaced. Views that
// keep their name and codec keep their viewers.
void front_camera_apply(struct front_camera *camera, const struct config *config, size_t index);

// Its settings in the configuration; borrowed until another is applied.
const struct config_camera *front_camera_settings(const struct front_camera *camera);
const char *front_camera_name(const struct front_camera *camera);
struct supervisor *front_camera_supervisor(const struct front_camera *camera);
// The stream of a view, by its place; borrowed.
struct stream *front_camera_stream(const struct front_camera *camera, size_t view);
// The stream of the view of that name, NULL: of the first, among those that `role` is shown;
// borrowed. NULL: there is none.
struct stream *front_camera_find_stream(const struct front_camera *camera, enum config_role role,
                                        const char *view);
// Adds the names of those views, each in quotes, behind a comma where the text is not empty.
void front_camera_list_views(const struct front_camera *camera, enum config_role role,
                             GString *text);
bool front_camera_is_watched(const struct front_camera *camera);

// A role is shown the views that it may watch, and the cameras with such a view; an administrator
// all of them.
bool front_camera_shows(const struct front_camera *camera, size_t view, enum config_role role);
bool front_camera_is_shown(const struct front_camera *camera, enum config_role role);
bool front_camera_shows_all(const struct front_camera *camera, enum config_role role);
// Of the views that `role` is shown.
unsigned front_camera_count_viewers(const struct front_camera *camera, enum config_role role);
// The name of the view of that stream; "": `role` is shown none.
const char *front_camera_view_name(const struct front_camera *camera, const struct stream *stream,
                                   enum config_role role);
