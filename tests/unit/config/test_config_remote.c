// Which keys may be changed over the network: what makes the picture, its encoding, the regions,
// privacy, what is recorded when, and the kernels' blocks. What names a file, a device, a program,
// a URL, an address or a role may not, and neither may the sides of a split, which would show a
// view to people who may not watch it, nor a key that nobody has thought about.
#include "config/schema/schema.h"
#include "tests/unit/unit.h"

#include <glib.h>

static const char *const may[] = {
    "cameras.flip",
    "cameras.raw_black",
    "cameras.raw_gain",
    "cameras.raw_red",
    "cameras.raw_blue",
    "cameras.width",
    "cameras.height",
    "cameras.fps",
    "cameras.views.view",
    "cameras.views.stages",
    "cameras.views.operator",
    "cameras.views.blur",
    "cameras.views.norm",
    "cameras.views.gain",
    "cameras.views.threshold",
    "cameras.views.colour",
    "cameras.views.morphology",
    "cameras.views.times",
    "cameras.views.erode",
    "cameras.views.mark",
    "cameras.views.thresholds",
    "cameras.views.low",
    "cameras.views.high",
    "cameras.views.polygon",
    "cameras.views.label.text",
    "cameras.views.label.clock",
    "cameras.views.label.camera",
    "cameras.views.label.size",
    "cameras.views.label.corner",
    "cameras.views.codec",
    "cameras.views.encoder",
    "cameras.views.governor",
    "cameras.views.bitrate_kbps",
    "cameras.views.jpeg_quality",
    "cameras.views.keyframe_s",
    "cameras.armed",
    "cameras.regions",
    "cameras.regions.polygon",
    "cameras.regions.threshold",
    "cameras.regions.erode",
    "cameras.regions.start",
    "cameras.regions.end",
    "cameras.regions.duration_s",
    "cameras.regions.cooldown_s",
    "cameras.privacy",
    "cameras.privacy.polygon",
    "cameras.record.view",
    "cameras.record.mode",
    "cameras.record.regions",
    "cameras.record.before_s",
    "cameras.record.after_s",
    "cameras.record.max_clip_s",
};

// The keys of which a change may show what was hidden: what privacy hides, or the camera's picture.
static const char *const reveal_private[] = {
    "cameras.flip", "cameras.width",   "cameras.height",
    "cameras.fps",  "cameras.privacy", "cameras.privacy.polygon",
};
static const char *const reveal_picture[] = {
    "cameras.views.view",
    "cameras.views.stages",
    "cameras.views.polygon",
};

static bool is_in(const char *const *list, size_t count, const char *path)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(list[i], path) == 0)
            return true;
    }
    return false;
}

static enum schema_reveals reveals(const char *path)
{
    if (is_in(reveal_private, ARRAY_LENGTH(reveal_private), path))
        return SCHEMA_REVEALS_PRIVATE;
    return is_in(reveal_picture, ARRAY_LENGTH(reveal_picture), path) ? SCHEMA_REVEALS_PICTURE
                                                                     : SCHEMA_REVEALS_NOTHING;
}

static bool may_be_changed(const char *path)
{
    if (is_in(may, ARRAY_LENGTH(may), path))
        return true;
    return g_str_has_prefix(path, "kernels.") && strchr(path + strlen("kernels."), '.');
}

// Returns how many keys of the group may be changed.
static size_t walk(const struct schema_group *group, const char *path)
{
    size_t count = 0;

    for (size_t i = 0; i < group->key_count; i++) {
        const struct schema_key *key = &group->keys[i];
        g_autofree char *place = g_strdup_printf("%s%s%s", path, *path ? "." : "", key->name);

        if (key->remote != may_be_changed(place))
            fail_msg("%s: %s", place, key->remote ? "may be changed" : "may not");
        assert_int_equal(key->reveals, reveals(place));
        count += key->remote + (key->group ? walk(key->group, place) : 0);
    }
    return count;
}

TEST(test_the_network_changes_pictures_encoding_regions_recording_and_blocks_alone)
{
    // Of each kernel the block, of the gradient its rows.
    assert_int_equal(walk(&schema_root, ""), ARRAY_LENGTH(may) + schema_kernels.key_count + 1);
}

RUN_TESTS(NULL, NULL)
