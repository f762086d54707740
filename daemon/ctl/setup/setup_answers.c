#include "daemon/ctl/setup/setup_answers.h"

#include "config/credentials.h"
#include "config/parse/suggest.h"
#include "daemon/common/json.h"
#include "daemon/ctl/setup/setup_questions.h"

#include <errno.h>
#include <glib.h>
#include <string.h>
#include <unistd.h>

#define ANSWERS_BYTES_MAX (64 << 10)

enum answer_kind { ANSWER_TEXT, ANSWER_SECRET, ANSWER_FLAG };

// An answer and where it goes in struct setup_answers.
struct answer_row {
    const char *name;
    enum answer_kind kind;
    size_t offset;
    const char *with; // the answer without which this one says nothing; NULL: it stands alone
};

#define ROW(name, kind, with)                                                                      \
    {                                                                                              \
#name, kind, offsetof(struct setup_answers, name), with                                    \
    }

// An answer comes after the one that it is checked with.
static const struct answer_row rows[] = {
    ROW(camera, ANSWER_TEXT, NULL),
    ROW(device, ANSWER_TEXT, NULL),
    ROW(view, ANSWER_TEXT, NULL),
    ROW(user, ANSWER_TEXT, NULL),
    ROW(password, ANSWER_SECRET, "user"),
    ROW(address, ANSWER_TEXT, NULL),
    ROW(tls, ANSWER_FLAG, NULL),
    ROW(page, ANSWER_FLAG, NULL),
    ROW(record, ANSWER_TEXT, NULL),
    ROW(storage, ANSWER_TEXT, NULL),
    ROW(broker, ANSWER_TEXT, NULL),
    ROW(broker_tls, ANSWER_FLAG, "broker"),
    ROW(broker_ca, ANSWER_TEXT, "broker_tls"),
    ROW(broker_user, ANSWER_TEXT, "broker"),
    ROW(broker_password, ANSWER_SECRET, "broker_user"),
    ROW(onvif, ANSWER_FLAG, NULL),
    ROW(start, ANSWER_FLAG, NULL),
};

static const char *const kinds[] = {
    [ANSWER_TEXT] = "a text in double quotes",
    [ANSWER_SECRET] = "a text in double quotes, 1 to 128 bytes without control characters",
    [ANSWER_FLAG] = "true or false",
};

// The file while it is read.
struct answer_file {
    const char *path;
    struct private_file content;
    JsonObject *members; // NULL before they are parsed
};

static void answer_file_finish(struct answer_file *file)
{
    if (file->members)
        json_object_unref(file->members);
    private_file_finish(&file->content);
}

static void *place_of(const struct answer_row *row, struct setup_answers *answers)
{
    return (char *)answers + row->offset;
}

static const struct answer_row *find_row(const char *name)
{
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    }
    return NULL;
}

// The end of a string of JSON that begins at `text`, behind its first quote.
static const char *find_quote(const char *text)
{
    while (*text && *text != '"')
        text += *text == '\\' && text[1] ? 2 : 1;
    return text;
}

// The line of the file on which the outermost object has the member for time number `time`, from
// 0 on; 0: there is none. The text is JSON.
static int find_line(const char *text, const char *name, unsigned time)
{
    int line = 1, depth = 0;

    for (const char *at = text; *at; at++) {
        line += *at == '\n';
        depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
        if (*at != '"')
            continue;
        const char *end = find_quote(at + 1), *behind = end + (*end == '"');

        behind += strspn(behind, " \t\r\n");
        if (depth == 1 && *behind == ':' && strlen(name) == (size_t)(end - at - 1) &&
            strncmp(at + 1, name, strlen(name)) == 0 && time-- == 0) {
            return line;
        }
        if (!*end)
            break;
        at = end;
    }
    return 0;
}

// -EINVAL, with the file and the line of the answer in front of the sentence in `error`.
static int refuse(const struct answer_file *file, const char *name, struct error *error)
{
    int line = find_line(file->content.text, name, 0);

    return error_prefix(error, -EINVAL, "%s:%d", file->path, line ? line : 1);
}

static int read_standard_input(struct error *error, struct private_file *ret_file)
{
    struct private_file file = {.text = calloc(1, ANSWERS_BYTES_MAX + 1)};
    ssize_t count;

    if (!file.text)
        return error_set(error, -ENOMEM, "cannot read the answers: %s", strerror(ENOMEM));
    do {
        count = read(STDIN_FILENO, file.text + file.length, ANSWERS_BYTES_MAX - file.length);
        file.length += count > 0 ? (size_t)count : 0;
    } while (count > 0 || (count < 0 && errno == EINTR));
    if (count == 0 && file.length < ANSWERS_BYTES_MAX) {
        *ret_file = file;
        return 0;
    }
    private_file_finish(&file);
    return count < 0
               ? error_set(error, -errno, "cannot read the answers: %s", strerror(errno))
               : error_set(error, -EFBIG,
                           "standard input has more answers than the %d bytes that are allowed",
                           ANSWERS_BYTES_MAX - 1);
}

static int parse(struct answer_file *file, struct error *error)
{
    const struct private_file *content = &file->content;
    g_autoptr(JsonParser) parser = json_parser_new();
    size_t stop;
    bool is_json = json_is_strict(content->text, content->length, &stop) &&
                   json_parser_load_from_data(parser, content->text, (gssize)stop, NULL);
    JsonNode *root = is_json ? json_parser_get_root(parser) : NULL;
    int line = 1;

    for (size_t i = 0; i < stop && !is_json; i++)
        line += content->text[i] == '\n';
    if (!root || !JSON_NODE_HOLDS_OBJECT(root)) {
        return error_set(error, -EINVAL,
                         "%s:%d: %s, allowed: an object of JSON in UTF-8, such as {\"camera\": "
                         "\"front\", \"record\": \"events\"}",
                         file->path, line, is_json ? "no object" : "no JSON from here on");
    }
    file->members = json_node_dup_object(root);
    return 0;
}

// Each name has to be one of the table, and to stand there once.
static int check_names(const struct answer_file *file, struct error *error)
{
    g_autoptr(GList) names = json_object_get_members(file->members);

    for (GList *name = names; name; name = name->next) {
        const char *text = name->data;
        int again = find_line(file->content.text, text, 1);

        if (again) {
            return error_set(error, -EINVAL,
                             "%s:%d: \"%s\" stands here a second time, allowed: once", file->path,
                             again, text);
        }
        if (!find_row(text)) {
            g_autoptr(GString) all = g_string_new(NULL);
            int near = suggest_nearest(text, &rows[0].name, ARRAY_LENGTH(rows), sizeof rows[0]);

            for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
                g_string_append_printf(all, "%s%s", i ? ", " : "", rows[i].name);
            error_format(error, "\"%s\": unknown, %s%s%sallowed: %s", text,
                         near >= 0 ? "did you mean \"" : "", near >= 0 ? rows[near].name : "",
                         near >= 0 ? "\"? " : "", all->str);
            return refuse(file, text, error);
        }
    }
    return 0;
}

static bool is_secret(const char *text)
{
    if (!*text || strlen(text) > PASSWORD_BYTES_MAX)
        return false;
    while (*text && !g_ascii_iscntrl(*text))
        text++;
    return !*text;
}

// Puts the answer of the file into `answers`, unless that has one.
static int put(const struct answer_file *file, const struct answer_row *row,
               struct setup_answers *answers, struct error *error)
{
    JsonNode *node = json_object_get_member(file->members, row->name);
    GType type = JSON_NODE_HOLDS_VALUE(node) ? json_node_get_value_type(node) : G_TYPE_INVALID;
    const char *text = type == G_TYPE_STRING ? json_node_get_string(node) : NULL;
    bool fits = row->kind == ANSWER_FLAG     ? type == G_TYPE_BOOLEAN
                : row->kind == ANSWER_SECRET ? text && is_secret(text)
                                             : text != NULL;

    if (!fits) {
        error_format(error, "\"%s\" has another kind of value, allowed: %s", row->name,
                     kinds[row->kind]);
        return refuse(file, row->name, error);
    }
    if (row->kind == ANSWER_FLAG) {
        bool *flag = place_of(row, answers);

        *flag |= json_node_get_boolean(node);
    } else if (row->kind == ANSWER_SECRET) {
        struct password *secret = place_of(row, answers);

        if (!secret->text[0])
            g_strlcpy(secret->text, text, sizeof secret->text);
    } else {
        char **place = place_of(row, answers);

        if (!*place)
            *place = g_strdup(text);
    }
    return 0;
}

// Checks the answer by itself, or with those that it needs.
static int check(const struct answer_file *file, const struct setup_config *config,
                 const struct answer_row *row, struct error *error)
{
    struct setup_answers one = {.config_path = config->file.path};
    const struct answer_row *part = row;
    int r;

    do {
        if (json_object_has_member(file->members, part->name)) {
            r = put(file, part, &one, error);
        } else {
            error_format(error, "\"%s\" says nothing without \"%s\", allowed: both or none",
                         row->name, part->name);
            r = refuse(file, row->name, error);
        }
        part = part->with ? find_row(part->with) : NULL;
    } while (r == 0 && part);
    if (r == 0) {
        r = setup_questions_check(config, &one, error);
        r = r < 0 || !one.password.text[0] ? r : password_check(&one.password, one.user, error);
        r = r < 0 ? r : setup_config_try(config, &one, error);
        r = r < 0 ? refuse(file, row->name, error) : 0;
    }
    setup_answers_finish(&one);
    return r;
}

int setup_answers_read(const char *path, const struct setup_config *config,
                       struct setup_answers *answers, struct error *error)
{
    static const struct private_file_rules rules = {S_IRWXG | S_IRWXO, 0600, "passwords",
                                                    ANSWERS_BYTES_MAX};
    bool is_file = strcmp(path, "-") != 0;
    struct answer_file file = {.path = is_file ? path : "standard input"};
    int r = is_file ? private_file_read(path, &rules, error, &file.content)
                    : read_standard_input(error, &file.content);

    r = r < 0 ? r : parse(&file, error);
    r = r < 0 ? r : check_names(&file, error);
    for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(rows); i++) {
        if (json_object_has_member(file.members, rows[i].name)) {
            r = check(&file, config, &rows[i], error);
            r = r < 0 ? r : put(&file, &rows[i], answers, error);
        }
    }
    if (r == 0 && answers->user && !answers->password.text[0]) {
        r = error_set(
            error, -EINVAL,
            "%s: has no password of the user %s, allowed: \"password\", at least %d characters",
            file.path, answers->user, PASSWORD_CHARACTERS_MIN);
    }
    answer_file_finish(&file);
    return r;
}

void setup_answers_finish(struct setup_answers *answers)
{
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        if (rows[i].kind == ANSWER_TEXT)
            g_free(*(char **)place_of(&rows[i], answers));
        else if (rows[i].kind == ANSWER_SECRET)
            password_clear(place_of(&rows[i], answers));
    }
    password_clear(&answers->login);
    password_clear(&answers->onvif_password);
}
