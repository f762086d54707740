// The keys of recording: where clips are kept, and what of a camera is.
#include "config/schema/schema.h"

#include "config/config.h"

#include <string.h>

#define SIZE_LEAST UINT64_C(1000000)
#define SIZE_MOST UINT64_C(1000000000000000000)

int config_read_size(const char *text, uint64_t *ret_bytes)
{
    static const char units[] = "kMGT";
    size_t digits = strspn(text, "0123456789");
    const char *unit = text[digits] ? strchr(units, text[digits]) : NULL;
    uint64_t bytes;

    if (digits == 0 || digits > 18 || (text[digits] && (!unit || text[digits + 1])))
        return -EINVAL;
    bytes = strtoull(text, NULL, 10);
    for (const char *at = units; unit && at <= unit; at++) {
        if (bytes > SIZE_MOST / 1000)
            return -EINVAL;
        bytes *= 1000;
    }
    *ret_bytes = bytes;
    return 0;
}

static bool accepts_size(const char *string)
{
    uint64_t bytes;

    return !*string || (config_read_size(string, &bytes) == 0 && bytes >= SIZE_LEAST);
}

static bool accepts_folder(const char *string)
{
    return !*string || (*string == '/' && strlen(string) < CONFIG_STORAGE_PATH_SIZE);
}

static const struct schema_rule size_rule = {
    accepts_size,
    "bytes with a unit of 1000, as \"200M\", \"16G\" or \"1T\", at least \"1M\"; or \"\"",
};
static const struct schema_rule folder_rule = {
    accepts_folder,
    "a path that begins with \"/\", of at most 1000 bytes; or \"\"",
};

#define STORAGE_FIELD(member) .offset = offsetof(struct config, storage.member)
static const struct schema_key storage_keys[] = {
    {"path", SCHEMA_STRING, STORAGE_FIELD(path), .rule = &folder_rule, .default_text = "",
     .help = "The folder for clips, on any disk or card. \"\" is clips in edged's state, "
             "/var/lib/edged/clips for the service, which can write into another one only after "
             "`edgectl setup --storage PATH`. Clips stay in the folder that they are in, and are "
             "neither listed nor deleted while this names another one."},
    {"max_size", SCHEMA_STRING, STORAGE_FIELD(max_size), .rule = &size_rule, .default_text = "",
     .help = "The most that all clips and their pictures take, for example \"16G\"; \"\" is no "
             "limit but min_free. Beyond it the oldest are deleted: first those of mode = "
             "\"always\", then those of events; never those that are marked to be kept."},
    {"min_free", SCHEMA_STRING, STORAGE_FIELD(min_free), .rule = &size_rule, .default_text = "",
     .help = "Space that stays free in the file system, for example \"2G\"; \"\" is a tenth of it, "
             "and at least 1 GB. Clips are deleted for it as for max_size. If others fill it, "
             "recording stops until there is room again."},
    {"max_age_days", SCHEMA_INTEGER, STORAGE_FIELD(max_age_days), .unit = "days", .minimum = 0,
     .maximum = 36500, .default_text = "0",
     .help = "How old clips may get; 0 is no limit. Age counts only while this machine's clock is "
             "synchronized, and not of clips that are marked to be kept."},
};
const struct schema_group schema_storage = {
    .title = "storage",
    .help = "Where clips are kept, and how many.",
    .keys = storage_keys,
    .key_count = ARRAY_LENGTH(storage_keys),
    .cost = CONFIG_COST_START,
};

const struct config_view *config_record_view(const struct config_camera *camera)
{
    for (size_t i = 0; i < camera->view_count; i++) {
        if (!*camera->record.view || strcmp(camera->views[i].name, camera->record.view) == 0)
            return &camera->views[i];
    }
    return NULL;
}

bool config_records(const struct config *config)
{
    bool recorded = false;

    for (size_t i = 0; i < config->camera_count; i++)
        recorded |= config->cameras[i].record.mode != CONFIG_RECORD_OFF;
    return recorded;
}

bool config_record_has_region(const struct config_names *regions, const char *region)
{
    bool found = regions->count == 0;

    for (size_t i = 0; i < regions->count; i++)
        found |= strcmp(regions->list[i], region) == 0;
    return found;
}

static const char *const mode_words[] = {
    [CONFIG_RECORD_OFF] = "off",
    [CONFIG_RECORD_EVENTS] = "events",
    [CONFIG_RECORD_ALWAYS] = "always",
    NULL,
};

const char *config_record_mode_name(enum config_record_mode mode)
{
    return mode_words[mode];
}

#define RECORD_FIELD(member) .offset = offsetof(struct config_camera, record.member)
static const struct schema_key record_keys[] = {
    {"view", SCHEMA_STRING, .remote = true, RECORD_FIELD(view), .default_text = "",
     .help =
         "The view that is recorded, in H.264 or H.265; \"\" is the camera's first. It need not "
         "show motion. It is computed and encoded all the time, watched or not. A change of this "
         "key ends the clip that is being written; the next begins with the first key frame of the "
         "new view. Over the network you can choose only a view that you may watch."},
    {"mode", SCHEMA_WORD, .remote = true, RECORD_FIELD(mode), .words = mode_words,
     .default_text = "off",
     .help = "When the view is recorded. off: only when a program asks by POST "
             "/v1/cameras/CAMERA/record, from then on; events: then and around each motion event, "
             "with before_s; always: all the time, in clips of max_clip_s."},
    {"regions", SCHEMA_NAMES, .remote = true, RECORD_FIELD(regions), .rule = &schema_name_rule,
     .default_note = "every region of the camera",
     .help = "The regions whose motion begins a clip."},
    {"before_s", SCHEMA_NUMBER, .remote = true, RECORD_FIELD(before_s), .unit = "seconds",
     .minimum = 0, .maximum = 30, .default_text = "5.0",
     .help = "How long before the motion a clip begins: at the last key frame (keyframe_s) before "
             "that moment. The pictures wait in memory until then: 10 s of 4 Mbit/s are 5 MB."},
    {"after_s", SCHEMA_NUMBER, .remote = true, RECORD_FIELD(after_s), .unit = "seconds",
     .minimum = 0, .maximum = 300, .default_text = "5.0",
     .help = "How long after the end of the motion a clip ends. If something moves again before "
             "that, the clip goes on."},
    {"max_clip_s", SCHEMA_INTEGER, .remote = true, RECORD_FIELD(max_clip_s), .unit = "seconds",
     .minimum = 10, .maximum = 3600, .default_text = "300",
     .help = "The longest clip; the next one follows it without a gap."},
};
const struct schema_group schema_record = {
    .title = "cameras.record",
    .help = "The recording of a camera, as clips in MP4; the group storage says where. The view is "
            "recorded as it is streamed, so recording costs no second encoder.",
    .keys = record_keys,
    .key_count = ARRAY_LENGTH(record_keys),
    .cost = CONFIG_COST_FRAME,
};
