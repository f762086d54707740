// The keys of a region, a part of the picture in which motion is an event, and of a part that
// nobody sees.
#include "config/schema/schema.h"

#define REGION_FIELD(member) .offset = offsetof(struct config_region, member)
static const struct schema_key region_keys[] = {
    {"name", SCHEMA_STRING, REGION_FIELD(name), .aside = true, .rule = &schema_name_rule,
     .default_note = "\"region\" and the place in the list, counted from 0",
     .help = "The region's name in events; unique in its camera."},
    {"polygon", SCHEMA_POINTS, .remote = true, REGION_FIELD(polygon), .minimum = 3, .maximum = 64,
     .count_offset = offsetof(struct config_region, polygon_count),
     .default_note = "the whole picture, or the mask",
     .help = "The region's corners, x and y as shares of the picture's width and height, from the "
             "top left. What the outline encloses twice is outside. In a list with fractions write "
             "0.0 and 1.0, not 0 and 1."},
    {"mask", SCHEMA_STRING, REGION_FIELD(mask), .default_text = "",
     .help =
         "A picture instead of a polygon, a .pgm or .png of any size, white where the region is, "
         "stretched over the camera's. A relative name is one beside this file. While it cannot be "
         "read, the region has no events. A reload reads it again if it has changed."},
    {"threshold", SCHEMA_INTEGER, .remote = true, REGION_FIELD(threshold), .unit = "gray levels",
     .minimum = 1, .maximum = 255, .default_text = "25",
     .help = "A cell, one of at most 160x90 in the picture, has changed if its mean gray differs "
             "by more than this from that of the last two seconds. Light that changes as a whole "
             "or softly, as by a lamp or a cloud, does not count."},
    {"erode", SCHEMA_INTEGER, .remote = true, REGION_FIELD(erode), .unit = "times", .minimum = 0,
     .maximum = 8, .default_text = "1",
     .help = "How large a moving area has to be, so that noise and leaves do not count: 0 is one "
             "cell, 1 is 3x3, 2 is 5x5. Use 0 for what is small or far away."},
    {"start", SCHEMA_NUMBER, .remote = true, REGION_FIELD(start), .aside = true, .unit = "percent",
     .minimum = 0.001, .maximum = 100, .default_text = "1.0",
     .help =
         "An event begins when at least this share of the region's cells moves, or lies within "
         "four cells of some that do. A person 10 m away is 1 to 2 percent of the whole picture."},
    {"end", SCHEMA_NUMBER, .remote = true, REGION_FIELD(end), .aside = true, .unit = "percent",
     .minimum = 0.0005, .maximum = 100, .default_note = "half of start",
     .help = "An event ends when a smaller share moves; at most start."},
    {"duration_s", SCHEMA_NUMBER, .remote = true, REGION_FIELD(duration_s), .aside = true,
     .unit = "seconds", .minimum = 0, .maximum = 60, .default_text = "0.2",
     .help = "How long there has to be motion before an event begins, at each of ten looks a "
             "second, or in each frame of slower cameras; with 0 one look is enough."},
    {"cooldown_s", SCHEMA_NUMBER, .remote = true, REGION_FIELD(cooldown_s), .aside = true,
     .unit = "seconds", .minimum = 0, .maximum = 3600, .default_text = "2.0",
     .help = "How long nothing may move before an event ends, so that one visit is one event."},
};
const struct schema_group schema_region = {
    .title = "cameras.regions",
    .help = "A part of a camera's picture, for example a door. Motion in it is an event, in the "
            "journal, in status and metrics and in the stream of events, whether anybody watches "
            "or not. \"edgectl events\" shows what a recording gives.",
    .keys = region_keys,
    .key_count = ARRAY_LENGTH(region_keys),
    .cost = CONFIG_COST_FRAME,
    .size = sizeof(struct config_region),
};

#define PRIVACY_FIELD(member) .offset = offsetof(struct config_privacy, member)
static const struct schema_key privacy_keys[] = {
    {"name", SCHEMA_STRING, PRIVACY_FIELD(name), .rule = &schema_name_rule,
     .default_note = "\"privacy\" and the place in the list, counted from 0",
     .help = "The part's name; unique in its camera."},
    {"polygon", SCHEMA_POINTS, .remote = true, .reveals = SCHEMA_REVEALS_PRIVATE,
     PRIVACY_FIELD(polygon), .minimum = 3, .maximum = 64,
     .count_offset = offsetof(struct config_privacy, polygon_count),
     .default_note = "none, it is needed",
     .help = "The corners of the part, as those of a region. Each pixel that the polygon touches "
             "is black, with the square of 2x2 pixels that shares its colour. One that crosses "
             "itself hides its middle as well."},
};
const struct schema_group schema_privacy = {
    .title = "cameras.privacy",
    .help =
        "A part of a camera's picture that is black before anything else sees it: views, "
        "motion events and snapshots. If a camera's frames cannot be blackened its pictures "
        "stop, and edgectl status says why. Over the network operators add parts and remove them "
        "again. Only an administrator changes a part that is in the file, or a key that may move "
        "the picture under it (flip, width, height, fps). A kept setting that does so and was "
        "not kept by an administrator is left out at the start, with a warning.",
    .keys = privacy_keys,
    .key_count = ARRAY_LENGTH(privacy_keys),
    .cost = CONFIG_COST_FRAME,
    .size = sizeof(struct config_privacy),
};
