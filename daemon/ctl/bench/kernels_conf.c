#include "daemon/ctl/bench/kernels_conf.h"

#include "config/parse/config_text.h"
#include "daemon/common/replace_file.h"

#include <errno.h>
#include <glib.h>
#include <libconfig.h>
#include <string.h>

#define HEADER "# Written by `edgectl tune --write`, which replaces it the next time.\n"
#define INCLUDE "@include \"" KERNELS_CONF "\"\n"

// The configuration and its kernels.conf while they are changed.
struct conf_edit {
    const char *path;                // of the configuration, as it was given
    char *conf_path;                 // of kernels.conf beside it, as an @include names it; owned
    struct replaced_file main, conf; // both of them
    bool included;                   // the @include is there already
    struct config_text text;
    config_t tree;
};

static void edit_finish(struct conf_edit *edit)
{
    replaced_file_finish(&edit->main);
    replaced_file_finish(&edit->conf);
    free(edit->conf_path);
    config_text_finish(&edit->text);
    config_destroy(&edit->tree);
}

static int find_files(struct conf_edit *edit, struct error *error)
{
    const char *slash = strrchr(edit->path, '/');
    int folder = slash ? (int)(slash + 1 - edit->path) : 0;
    int r = replaced_file_read(edit->path, error, &edit->main);

    if (r < 0) {
        return r;
    }
    if (!edit->main.content) {
        return error_set(error, -ENOENT, "%s: %s", edit->path, strerror(ENOENT));
    }
    edit->conf_path = g_strdup_printf("%.*s%s", folder, edit->path, KERNELS_CONF);
    r = replaced_file_read(edit->conf_path, error, &edit->conf);
    edit->conf.like = edit->main.like;
    return r;
}

static int edit_init(struct conf_edit *edit, const char *path, struct error *error)
{
    int r;

    *edit = (struct conf_edit){.path = path};
    config_init(&edit->tree);
    r = find_files(edit, error);
    if (r < 0) {
        return r;
    }
    if (config_text_read(&edit->text, path) < 0 ||
        config_read_string(&edit->tree, edit->text.text) != CONFIG_TRUE) {
        return error_set(error, -EINVAL, "%s is not valid: `edged --check --config %s` says why",
                         path, path);
    }
    for (size_t i = 1; i < edit->text.file_count; i++) {
        edit->included |= strcmp(edit->text.files[i], edit->conf_path) == 0;
    }
    return 0;
}

static struct config_line place_of(const struct conf_edit *edit, const config_setting_t *setting)
{
    return config_text_origin(&edit->text, config_setting_source_line(setting));
}

static bool is_in_conf(const struct conf_edit *edit, const config_setting_t *setting)
{
    return setting && strcmp(place_of(edit, setting).file, edit->conf_path) == 0;
}

static bool is_ours(const char *name)
{
    return strcmp(name, "kernels") == 0 || strcmp(name, "memory") == 0;
}

// Refuses what only a person can resolve.
static int check(const struct conf_edit *edit, bool sets_memory, struct error *error)
{
    const config_setting_t *root = config_root_setting(&edit->tree);

    for (int i = 0; i < config_setting_length(root); i++) {
        const config_setting_t *setting = config_setting_get_elem(root, (unsigned)i);
        const char *name = config_setting_name(setting);
        struct config_line place = place_of(edit, setting);
        bool in_conf = is_in_conf(edit, setting);

        if (!in_conf && strcmp(name, "kernels") == 0) {
            return error_set(error, -EEXIST,
                             "%s:%u: the group \"kernels\" stands here: take it out, then --write "
                             "can put one into %s",
                             place.file, place.line, edit->conf_path);
        }
        if (!in_conf && sets_memory && strcmp(name, "memory") == 0) {
            return error_set(error, -EEXIST,
                             "%s:%u: \"memory\" stands here: change it here, or take it out, then "
                             "--write can put it into %s",
                             place.file, place.line, edit->conf_path);
        }
        if (in_conf && !is_ours(name)) {
            return error_set(error, -EEXIST,
                             "%s:%u: --write replaces this file and would lose \"%s\": move it to "
                             "%s",
                             place.file, place.line, name, edit->path);
        }
    }
    if (edit->conf.content && !edit->included &&
        strncmp(edit->conf.content, HEADER, strlen(HEADER)) != 0) {
        return error_set(error, -EEXIST, "%s is there, but not from edgectl tune: move it away",
                         edit->conf_path);
    }
    return 0;
}

int kernels_conf_read(const char *path, const struct config *config, struct error *error,
                      struct kernels_conf *ret_content)
{
    struct conf_edit edit;
    int r = edit_init(&edit, path, error);

    if (r == 0) {
        r = check(&edit, false, error);
    }
    if (r == 0) {
        const config_setting_t *memory = config_lookup(&edit.tree, "memory");
        bool ours = is_in_conf(&edit, memory);

        *ret_content = (struct kernels_conf){
            .sets_memory = ours, .memory = config->memory, .memory_elsewhere = memory && !ours};
        memcpy(ret_content->blocks, config->blocks, sizeof config->blocks);
    }
    edit_finish(&edit);
    return r;
}

static void append_kernel(GString *text, const char *name, struct config_block block)
{
    if (block.x == 0 && block.rows == 0) {
        return;
    }
    g_string_append_printf(text, "  %s = {", name);
    if (block.x > 0) {
        g_string_append_printf(text, " block = [%d, %d];", block.x, block.y);
    }
    if (block.rows > 0) {
        g_string_append_printf(text, " rows = %d;", block.rows);
    }
    g_string_append(text, " };\n");
}

static int write_conf(const struct conf_edit *edit, const struct kernels_conf *content,
                      struct error *error)
{
    g_autoptr(GString) text = g_string_new(HEADER);

    if (content->sets_memory) {
        g_string_append_printf(text, "memory = \"%s\";\n", config_memory_name(content->memory));
    }
    g_string_append(text, "kernels = {\n");
    for (enum config_kernel i = 0; i < CONFIG_KERNEL_COUNT; i++) {
        append_kernel(text, config_kernel_name(i), content->blocks[i]);
    }
    g_string_append(text, "};\n");
    return replaced_file_write(&edit->conf, text->str, text->len, error);
}

// Writes the configuration with the @include at its end.
static int write_include(const struct conf_edit *edit, struct error *error)
{
    const struct replaced_file *main = &edit->main;
    bool ends = main->length == 0 || main->content[main->length - 1] == '\n';
    g_autofree char *text = g_strconcat(main->content, ends ? "" : "\n", INCLUDE, NULL);

    return replaced_file_write(main, text, strlen(text), error);
}

static bool says(const struct config *config, const struct kernels_conf *content)
{
    return memcmp(config->blocks, content->blocks, sizeof config->blocks) == 0 &&
           (!content->sets_memory || config->memory == content->memory);
}

// Loads the configuration as edged would.
static int prove(const struct conf_edit *edit, const struct kernels_conf *content,
                 struct error *error)
{
    _cleanup_(cleanup_config) struct config *config = NULL;
    _cleanup_(cleanup_free) char *problems = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&problems, &length);
    int r = config_load(edit->path, file, &config);

    if (file) {
        fclose(file);
    }
    if (r < 0) {
        const char *text = problems ? problems : strerror(-r);

        return error_set(error, r, "%.*s", (int)strcspn(text, "\n"), text);
    }
    return says(config, content)
               ? 0
               : error_set(error, -EINVAL, "%s does not take what %s says: is its end a comment?",
                           edit->path, edit->conf_path);
}

int kernels_conf_write(const char *path, const struct kernels_conf *content, struct error *error)
{
    struct conf_edit edit;
    int r = edit_init(&edit, path, error);

    if (r == 0) {
        r = check(&edit, content->sets_memory, error);
    }
    if (r == 0) {
        r = write_conf(&edit, content, error);
        if (r == 0 && !edit.included) {
            r = write_include(&edit, error);
        }
        if (r == 0) {
            r = prove(&edit, content, error);
        }
        if (r < 0) {
            replaced_file_put_back(&edit.conf);
            if (!edit.included) {
                replaced_file_put_back(&edit.main);
            }
            error_prefix(error, r, "nothing is changed");
        }
    }
    edit_finish(&edit);
    return r;
}
