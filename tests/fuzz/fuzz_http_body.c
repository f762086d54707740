// The body of a login, as JSON and as a form, and a cookie: nothing nests deeper than is allowed,
// and nobody gets in by a cookie.
//
// Parsers: daemon/common/json_text.c daemon/front/http/http_body.c daemon/front/account/sessions.c
#include "tests/fuzz/fuzz.h"

#include "daemon/common/json_text.h"
#include "daemon/front/account/sessions.h"
#include "daemon/front/http/http_body.h"

static unsigned depth_of(JsonNode *node)
{
    unsigned deepest = 0;
    GList *list = NULL;

    if (JSON_NODE_HOLDS_OBJECT(node)) {
        list = json_object_get_values(json_node_get_object(node));
    } else if (JSON_NODE_HOLDS_ARRAY(node)) {
        list = json_array_get_elements(json_node_get_array(node));
    } else {
        return 0;
    }
    for (GList *item = list; item; item = item->next) {
        unsigned depth = depth_of(item->data);

        deepest = depth > deepest ? depth : deepest;
    }
    g_list_free(list);
    return deepest + 1;
}

static void check_json(const char *text, size_t size)
{
    g_autoptr(JsonObject) object = NULL;
    struct error error = {0};

    if (http_body_object(text, size, &error, &object) < 0) {
        fuzz_claim(error.text[0]);
        return;
    }
    g_autoptr(JsonNode) node = json_node_init_object(json_node_alloc(), object);
    const char *user = http_body_string(object, "user");

    fuzz_claim(depth_of(node) <= JSON_DEPTH_MAX);
    fuzz_claim(!user || g_utf8_validate(user, -1, NULL));
}

// No control character stays, and there is nothing left to replace.
static void check_controls(const char *text, size_t size)
{
    g_autofree char *shown = g_strndup(text, size), *again = NULL;

    json_replace_controls(shown);
    again = g_strdup(shown);
    json_replace_controls(again);
    fuzz_claim(strlen(shown) <= size && strcmp(shown, again) == 0);
    fuzz_claim(g_utf8_validate(shown, -1, NULL) && !strchr(shown, 0x1b));
}

static void check_form(const char *text, size_t size)
{
    g_autofree char *user = http_body_field(text, size, "user");

    fuzz_claim(!user || g_utf8_validate(user, -1, NULL));
}

static void check_cookie(const char *cookie)
{
    static struct sessions *sessions;
    const struct account_login login = {.way = ACCOUNT_LINK, .allowed = true, .is_local = true};
    char secret[SESSION_SECRET_SIZE];
    struct error error;

    if (!sessions) {
        fuzz_claim(sessions_new(&error, &sessions) == 0);
        fuzz_claim(sessions_begin(sessions, &login, 0, secret) == 0);
    }
    fuzz_claim(!sessions_is_link(sessions, cookie));
    fuzz_claim(!sessions_find(sessions, NULL, cookie, 0)); // an account is asked for a right one
    sessions_end(sessions, cookie);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);

    check_json((const char *)data, size);
    check_controls(text, size);
    check_form((const char *)data, size);
    check_cookie(text);
    free(text);
    return 0;
}
