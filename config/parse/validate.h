// What a single value cannot tell: names, keys that belong together, keys without effect.
#pragma once

#include "config/config.h"
#include "config/parse/problems.h"

// Gives unnamed cameras and views of `config` their names, views what depends on what they show,
// cameras without views one view, a configuration without cameras one camera; -ENOMEM.
int validate_complete(struct config *config);
// Gives a view with every other default those that depend on what it shows.
void validate_complete_view(struct config_view *view);
// Names unnamed regions and privacy, gives regions the end that depends on their start; -ENOMEM.
int validate_complete_regions(struct config_camera *camera);

// Makes the names of files that stand in a file on disk relative to it. A region's mask that cannot
// be read is worth a warning, for it may be there later; a view's is a problem. Text from memory is
// left as it is; -ENOMEM.
int validate_files(struct problems *problems, const config_setting_t *root, struct config *config);

// Finds the remaining problems of a completed configuration that was read from `root`.
void validate_check(struct problems *problems, const config_setting_t *root,
                    const struct config *config);
// The same for what others reach.
void validate_check_network(struct problems *problems, const config_setting_t *root,
                            const struct config *config);
// The same for the regions, the privacy and the recording of a camera.
void validate_check_regions(struct problems *problems, const config_setting_t *camera_setting,
                            const struct config_camera *camera);
// Refuses elements of `list` that have the name of another. Elements are structs of `size` bytes
// that begin with their name; `what` is the list's key.
void validate_check_names(struct problems *problems, const config_setting_t *list, const char *what,
                          const void *elements, size_t count, size_t size);
