// A request of ONVIF, before any login, and a datagram of WS-Discovery: what is read stays within
// its limits, every answer and every fault is well-formed, and nobody gets in by a username token.
//
// Parsers: daemon/front/onvif/soap.c daemon/front/onvif/onvif.c daemon/front/onvif/device.c
// Parsers: daemon/front/onvif/media.c daemon/front/onvif/events.c
// Parsers: daemon/front/onvif/pull_points.c daemon/front/onvif/discovery.c
// Parsers: daemon/front/account/username_token.c
#include "tests/fuzz/fuzz.h"

#include "daemon/front/onvif/discovery.h"
#include "daemon/front/onvif/onvif.h"

#include <netinet/in.h>

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
        model.places = (struct model_places){"rtsp://[::]:8554", "", "http://[::]:9854", NULL, ""};
    }
    return &model;
}

// One user, whose password stands in both files and in no seed.
static struct account *make_account(void)
{
    static const char line[] = "vera:zu7GkPq4mT2v\n";
    struct config config = {0};
    struct users *users, *plain;
    struct account *account;
    struct error error;

    config.rtsp.users = (char *)"";
    config.rtsp.tokens = (char *)"";
    fuzz_claim(account_new(&config, NULL, &error, &account) == 0);
    fuzz_claim(users_parse(USERS_ONVIF, line, strlen(line), "o", &error, &plain) == 0);
    fuzz_claim(users_parse(USERS_ONVIF, line, strlen(line), "o", &error, &users) == 0);
    account_take_users(account, &config, users);
    account_take_onvif(account, plain);
    return account;
}

static void check_well_formed(const char *text)
{
    static const GMarkupParser nothing = {0};
    GMarkupParseContext *context = g_markup_parse_context_new(&nothing, 0, NULL, NULL);

    fuzz_claim(g_markup_parse_context_parse(context, text, -1, NULL) &&
               g_markup_parse_context_end_parse(context, NULL));
    g_markup_parse_context_free(context);
}

static void check_token(const struct username_token *token)
{
    static struct account *account;
    static int64_t now_ns;
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x0a000005)};
    struct account_request request = {
        .method = "POST", .uri = "/", .peer = (const struct sockaddr *)&peer};
    struct account_login login = {0};
    struct account_answer answer;

    account = account ? account : make_account();
    for (unsigned encrypted = 0; encrypted < 2; encrypted++) {
        now_ns += 100 * NS_PER_S; // nothing is throttled for long
        request.encrypted = encrypted;
        account_check_username_token(account, &request, token, now_ns, &login, &answer);
        fuzz_claim(answer.verdict != ACCOUNT_ALLOWED && !answer.clock_ahead_s);
    }
}

static void check_limits(const struct soap_request *request)
{
    fuzz_claim(request->operation && request->argument_count <= SOAP_ARGUMENTS_MAX);
    fuzz_claim(g_utf8_validate(request->operation, -1, NULL));
    for (size_t i = 0; i < request->argument_count; i++) {
        fuzz_claim(strlen(request->arguments[i].text) <= SOAP_TEXT_MAX);
        fuzz_claim(g_utf8_validate(request->arguments[i].text, -1, NULL));
    }
    fuzz_claim(request->token.nonce_size <= USERNAME_TOKEN_NONCE_MAX);
}

// Asks at a service, and at the newest pull point.
static void check_answers(const struct soap_request *request)
{
    static struct pull_points *points;
    static char id[PULL_POINT_ID_SIZE];
    const struct pull_client client = {"", NULL, CONFIG_ROLE_VIEWER, 3};
    struct soap_fault fault = {0};
    const struct onvif_operation *operation = onvif_find(request, &fault);
    struct model *model = find_model();

    if (!operation) {
        g_autofree char *text = soap_fault_envelope(request, &fault);

        check_well_formed(text);
        return;
    }
    points = points ? points : pull_points_new(model->feed);
    if (!pull_points_find(points, id, "", CONFIG_ROLE_VIEWER)) {
        const struct pull_point *point =
            pull_points_add(points, &client, model->config, PULL_POINT_LIFE_S * NS_PER_S);

        g_strlcpy(id, point ? pull_point_id(point) : "", sizeof id);
    }
    for (unsigned at_point = 0; at_point < 2; at_point++) {
        struct onvif_ask ask = {.model = model,
                                .points = points,
                                .request = request,
                                .role = CONFIG_ROLE_VIEWER,
                                .user = "",
                                .point = at_point ? id : NULL,
                                .base = "http://camera:9854",
                                .pictures = "https://camera:9854",
                                .host = "camera"};
        int r;
        g_autofree char *text = onvif_reply(operation, &ask, &r);

        check_well_formed(text);
        fuzz_claim(r == 0 || (ask.fault.code && *ask.fault.text));
    }
}

static void check_request(const char *text, size_t size)
{
    struct soap_request request;
    struct soap_fault fault;

    if (soap_request_parse(text, size, &request, &fault) == 0) {
        check_limits(&request);
        if (request.has_token)
            check_token(&request.token);
        check_answers(&request);
    } else {
        g_autofree char *refused = soap_fault_envelope(&request, &fault);

        fuzz_claim(fault.text[0]);
        check_well_formed(refused);
    }
    soap_request_finish(&request);
}

static void check_discovery(const char *text, size_t size)
{
    static const char *const scopes[] = {"onvif://www.onvif.org/type/video_encoder",
                                         "onvif://www.onvif.org/name/a%20b", NULL};
    const struct discovery_device device = {"01234567-89ab-4def-8123-456789abcdef", scopes,
                                            "http://192.168.1.5:9854/onvif/device_service", 1, 1};
    g_autofree char *answer = discovery_answer(text, size, &device);

    if (answer) {
        check_well_formed(answer);
        fuzz_claim(strlen(answer) < 2500 + 6 * DISCOVERY_MESSAGE_ID_MAX);
    }
}

static void check_duration(const char *text)
{
    int64_t ns = -1;

    if (soap_read_duration(text, 0, &ns) == 0)
        fuzz_claim(ns >= 0 && ns <= 366 * 24 * 3600 * NS_PER_S);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);

    check_request(text, size);
    check_discovery(text, size);
    check_duration(text);
    free(text);
    return 0;
}
