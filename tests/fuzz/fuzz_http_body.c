// The body of a login, as JSON and as a form, and a cookie: nothing nests deeper than is allowed,
// and nobody gets in by a cookie. The bodies of POST for a tune, a clip and the arm switch: what
// comes through is something that can be asked for.
//
// Parsers: daemon/common/json_text.c daemon/front/http/http_body.c daemon/front/account/sessions.c
// Parsers: daemon/front/http/tune_route.c
#include "tests/fuzz/fuzz.h"

#include "config/live/live.h"
#include "daemon/common/json_text.h"
#include "daemon/front/account/sessions.h"
#include "daemon/front/http/clips_route.h"
#include "daemon/front/http/config_route.h"
#include "daemon/front/http/http_body.h"
#include "daemon/front/http/tune_route.h"
#include "daemon/front/live.h"

#include <errno.h>

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

static int refuse_tune(void *context, const struct tuning_request *request,
                       const struct tuning_reader *reader, struct error *error)
{
    (void)context;
    (void)reader;
    fuzz_claim(request->kernels < 1U << CONFIG_KERNEL_COUNT);
    fuzz_claim(!request->camera || g_utf8_validate(request->camera, -1, NULL));
    fuzz_claim(!request->view || g_utf8_validate(request->view, -1, NULL));
    return error_set(error, -EBUSY, "another is under way");
}

// The arm switch is a patch of one key.
static void check_change(void *context, struct live_request *request)
{
    static const struct config_overrides none;
    static struct config_file *file;
    _cleanup_(cleanup_overrides) struct config_overrides overrides = {0}, resets = {0};

    (void)context;
    fuzz_claim(file || config_file_read(NULL, NULL, &file) == 0);
    fuzz_claim(config_patch_read(config_file_plain(file), &none, request->role, request->text,
                                 request->size, &request->fault, &overrides, &resets) == 0);
    fuzz_claim(overrides.count == 1 && resets.count == 0);
    fuzz_claim(strcmp(overrides.list[0].path, "cameras.front.armed") == 0);
    request->status = MHD_HTTP_OK;
    request->reply = g_strdup("{}");
}

static char *refuse_camera(void *context, enum config_role role, const char *camera,
                           const char *region)
{
    (void)context;
    (void)role;
    (void)camera;
    (void)region;
    return g_strdup("there is no such camera");
}

// Their replies go to no connection, which libmicrohttpd refuses.
static void check_posts(const char *body, size_t size)
{
    static const struct control_front front = {
        .refuse = refuse_camera, .tune = refuse_tune, .change_config = check_change};
    static const struct sockaddr peer = {.sa_family = AF_INET};
    struct account_login login = {0};
    struct http_waiting waiting = {0};
    const struct http_request request = {
        .peer = &peer, .login = &login, .body = body, .body_size = size, .waiting = &waiting};
    struct http_call call = {.front = &front, .request = &request, .role = CONFIG_ROLE_OPERATOR};

    tune_route_reply(&call);
    clips_route_change(&call);
    g_strlcpy(call.parameters[0], "front", sizeof call.parameters[0]);
    clips_route_record(&call);
    config_route_arm(&call);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);

    check_json((const char *)data, size);
    check_controls(text, size);
    check_form((const char *)data, size);
    check_posts(text, size);
    check_cookie(text);
    free(text);
    return 0;
}
