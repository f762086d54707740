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

    if (digits == 0 || digits > 18 || (text[digits] && (!unit || text[digits + 1]))) {
        return -EINVAL;
    }
    bytes = strtoull(text, NULL, 10);
    for (const char *at = units; unit && at <= unit; at++) {
        if (bytes > SIZE_MOST / 1000) {
            return -EINVAL;
        }
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
     .help = "The folder for clips, on whichever disk or card you like. \"\" is the folder clips "
             "beside the other things that edged keeps, /var/lib/edged/clips for the service. The "
             "service can write into another one only after `edgectl setup --storage PATH`."},
    {"max_size", SCHEMA_STRING, STORAGE_FIELD(max_size), .rule = &size_rule, .default_text = "",
     .help = "The most that all clips together take, for example \"16G\"; \"\" is no limit but "
             "min_free. Beyond it the oldest are deleted: those of mode = \"always\" first, then "
             "those of events; never those that are marked to be kept."},
    {"min_free", SCHEMA_STRING, STORAGE_FIELD(min_free), .rule = &size_rule, .default_text = "",
     .help = "What stays free of the file system, for example \"2G\"; \"\" is a tenth of it, and "
             "at least 1 GB. Clips are deleted for it as for max_size. If others fill the file "
             "system beyond it, recording stops, with a message, until there is room again."},
    {"max_age_days", SCHEMA_INTEGER, STORAGE_FIELD(max_age_days), .unit = "days", .minimum = 0,
     .maximum = 36500, .default_text = "0",
     .help = "How old clips may get before they are deleted; 0 is no limit. Age counts only while "
             "the clock of this machine is synchronized, and never of clips that are marked to be "
             "kept."},
};
const struct schema_group schema_storage = {
    .title = "storage",
    .help = "Where clips are kept, and how many.",
    .keys = storage_keys,
    .key_count = ARRAY_LENGTH(storage_keys),
    .cost = CONFIG_COST_START,
};
