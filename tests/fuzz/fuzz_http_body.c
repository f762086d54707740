// The body of a login, as JSON and as a form, and a cookie: nothing nests deeper than is allowed,
// and nobody gets in by a cookie. The bodies of POST for a tune, a clip and the arm switch: what
// comes through is something that can be asked for.
//
// Parsers: daemon/common/json.c daemon/front/http/login.c daemon/front/account/sessions.c
// Parsers: daemon/front/http/tune_route.c
#include "tests/fuzz/fuzz.h"

#include "config/live/live.h"
#include "daemon/common/json.h"
#include "daemon/front/account/sessions.h"
#include "daemon/front/http/handlers.h"
#include "daemon/front/http/tune_route.c"

#include <errno.h>

static unsigned depth_of(JsonNode *node)
{
    unsigned deepest = 0;
    GList *list = NULL;

    if (JSON_NODE_HOLDS_OBJECT(node))
        list = json_object_get_values(json_node_get_object(node));
    else if (JSON_NODE_HOLDS_ARRAY(node))
        list = json_array_get_elements(json_node_get_array(node));
    else
        return 0;
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

    if (json_parse_object(text, size, &error, &object) < 0) {
        fuzz_claim(error.text[0]);
        return;
    }
    g_autoptr(JsonNode) node = json_node_init_object(json_node_alloc(), object);
    const char *user = json_find_string(object, "user");

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
    g_autofree char *user = login_field(text, size, "user");

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

static void ignore(void *context)
{
    (void)context;
}

// A model of one camera without a process.
static struct model *find_model(void)
{
    static const struct model_events events = {ignore, ignore, ignore, NULL};
    static struct model model;
    struct config *config;
    struct live live;

    if (!model.cameras) {
        fuzz_claim(live_load(NULL, true, stderr, &live, &config) == 0);
        model_init(&model, config, &live, NULL, NULL, &events);
    }
    return &model;
}

static void check_tune(const struct http_request *request)
{
    g_autoptr(JsonObject) body = NULL;
    struct tuning_request asked = {0};
    struct fault fault = {0};

    if (read_body(request, &fault, &body, &asked) < 0) {
        fuzz_claim(fault.error.text[0]);
        return;
    }
    fuzz_claim(asked.kernels < 1U << CONFIG_KERNEL_COUNT);
    fuzz_claim(!asked.camera || g_utf8_validate(asked.camera, -1, NULL));
    fuzz_claim(!asked.view || g_utf8_validate(asked.view, -1, NULL));
}

// The arm switch is a setting of one key.
static void check_armed(const struct model *model)
{
    const struct config_overrides *set = &model->live.in_effect;

    fuzz_claim(set->count <= 1);
    fuzz_claim(set->count == 0 || strcmp(set->list[0].path, "cameras.front.armed") == 0);
    fuzz_claim(set->count == 0 ||
               strcmp(set->list[0].value, model->config->cameras[0].armed ? "true" : "false") == 0);
}

// Their replies go to no connection, which libmicrohttpd refuses.
static void check_posts(const char *body, size_t size)
{
    static const struct http_access access = {.is_local = true};
    static const struct sockaddr peer = {.sa_family = AF_INET};
    struct account_login login = {0};
    struct http_waiting waiting = {0};
    const struct http_request request = {
        .peer = &peer, .login = &login, .body = body, .body_size = size, .waiting = &waiting};
    struct http_call call = {.model = find_model(),
                             .access = &access,
                             .request = &request,
                             .role = CONFIG_ROLE_OPERATOR};

    check_tune(&request);
    tune_route_reply(&call);
    clips_route_change(&call);
    g_strlcpy(call.parameters[0], "nobody's", sizeof call.parameters[0]);
    clips_route_record(&call);
    g_strlcpy(call.parameters[0], "front", sizeof call.parameters[0]);
    config_route_arm(&call);
    check_armed(call.model);
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
