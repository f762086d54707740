// Checks of more than a single value: names, keys that belong together, keys without effect.
#pragma once

#include "config/config.h"
#include "config/parse/validation.h"

// Gives a configuration without cameras one camera, cameras without views one view, and names those
// that have none, as well as regions and privacy; -ENOMEM.
int validate_name(struct config *config);
// Gives keys without a value the one that depends on others: the threshold of a view, the views
// that a split shows, the end of a region.
void validate_complete(struct config *config);
// Names unnamed regions and privacy; -ENOMEM.
int validate_name_regions(struct config_camera *camera);

// Makes the names of files that stand in a file on disk relative to it. A region's mask that cannot
// be read is worth a warning, for it may be there later; a view's is a problem. Text from memory is
// left as it is; -ENOMEM.
int validate_files(struct validation *validation, struct config *config);

// Finds the remaining problems of a completed configuration.
void validate_check(struct validation *validation, const struct config *config);
// The same for what others reach.
void validate_check_network(struct validation *validation, const struct config *config);
// The same for the regions, the privacy and the recording of the camera at the path `base`.
void validate_check_regions(struct validation *validation, const char *base,
                            const struct config_camera *camera);
