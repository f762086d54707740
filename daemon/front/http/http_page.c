// The page that shows the views and changes settings. Its files, those in page/, are built into the
// program. They hold nothing secret: the page asks for everything that it shows by /v1/, with the
// rights of the person who has logged in.
#include "daemon/front/http/handlers.h"

#include "daemon/front/events/clip_json.h"

#include <string.h>

#define PAGE_FILES(X)                                                                              \
    X(index_html, "index.html", "text/html; charset=utf-8")                                        \
    X(style_css, "style.css", "text/css; charset=utf-8")                                           \
    X(icon_svg, "icon.svg", "image/svg+xml")                                                       \
    X(icon_png, "icon.png", "image/png")                                                           \
    X(manifest_json, "manifest.json", "application/manifest+json")                                 \
    X(age_js, "age.js", "text/javascript; charset=utf-8")                                          \
    X(api_js, "api.js", "text/javascript; charset=utf-8")                                          \
    X(app_js, "app.js", "text/javascript; charset=utf-8")                                          \
    X(changes_js, "changes.js", "text/javascript; charset=utf-8")                                  \
    X(clips_js, "clips.js", "text/javascript; charset=utf-8")                                      \
    X(dom_js, "dom.js", "text/javascript; charset=utf-8")                                          \
    X(events_js, "events.js", "text/javascript; charset=utf-8")                                    \
    X(forms_js, "forms.js", "text/javascript; charset=utf-8")                                      \
    X(jpegs_js, "jpegs.js", "text/javascript; charset=utf-8")                                      \
    X(link_js, "link.js", "text/javascript; charset=utf-8")                                        \
    X(live_js, "live.js", "text/javascript; charset=utf-8")                                        \
    X(login_js, "login.js", "text/javascript; charset=utf-8")                                      \
    X(mse_js, "mse.js", "text/javascript; charset=utf-8")                                          \
    X(notify_js, "notify.js", "text/javascript; charset=utf-8")                                    \
    X(numbers_js, "numbers.js", "text/javascript; charset=utf-8")                                  \
    X(player_js, "player.js", "text/javascript; charset=utf-8")                                    \
    X(picture_js, "picture.js", "text/javascript; charset=utf-8")                                  \
    X(recorded_js, "recorded.js", "text/javascript; charset=utf-8")                                \
    X(regions_js, "regions.js", "text/javascript; charset=utf-8")                                  \
    X(screen_js, "screen.js", "text/javascript; charset=utf-8")                                    \
    X(settings_js, "settings.js", "text/javascript; charset=utf-8")                                \
    X(shapes_js, "shapes.js", "text/javascript; charset=utf-8")                                    \
    X(state_js, "state.js", "text/javascript; charset=utf-8")                                      \
    X(timeline_js, "timeline.js", "text/javascript; charset=utf-8")                                \
    X(tune_js, "tune.js", "text/javascript; charset=utf-8")                                        \
    X(video_js, "video.js", "text/javascript; charset=utf-8")                                      \
    X(webcodecs_js, "webcodecs.js", "text/javascript; charset=utf-8")                              \
    X(zoom_js, "zoom.js", "text/javascript; charset=utf-8")

// By the path from the root of the tree, where the compiler runs.
#define EMBED(name, path)                                                                          \
    __asm__(".pushsection .rodata\n"                                                               \
            "page_" #name ": .incbin \"daemon/front/http/" path "\"\n"                             \
            "page_" #name "_end: .byte 0\n"                                                        \
            ".popsection\n");                                                                      \
    extern const char page_##name[] __attribute__((visibility("hidden")));                         \
    extern const char page_##name##_end[] __attribute__((visibility("hidden")));
#define EMBED_PAGE(name, file, type) EMBED(name, "page/" file)
PAGE_FILES(EMBED_PAGE)
EMBED(openapi_yaml, "openapi.yaml")

#define ROW(name, file, type) {file, type, page_##name, page_##name##_end},
static const struct page_file {
    const char *name, *content_type, *start, *end;
} files[] = {PAGE_FILES(ROW)};

#define POLICY                                                                                     \
    "default-src 'self'; img-src 'self' blob:; media-src 'self' blob:; base-uri 'none'; "          \
    "form-action 'self'; object-src 'none'; frame-ancestors 'none'"

static const struct page_file *find_file(const struct http_call *call)
{
    const char *name = *call->parameters[0] ? call->parameters[0] : "index.html";

    for (size_t i = 0; i < ARRAY_LENGTH(files); i++) {
        if (strcmp(files[i].name, name) == 0)
            return &files[i];
    }
    return NULL;
}

// The bytes of a file as they are sent, packed when they are first asked for.
static const void *bytes_of(const struct page_file *file, bool is_packed, size_t *ret_size)
{
    static struct packed_file {
        void *bytes; // NULL: not asked for yet
        size_t size;
    } all[ARRAY_LENGTH(files)];
    struct packed_file *packed = &all[file - files];

    *ret_size = (size_t)(file->end - file->start);
    if (is_packed && !packed->bytes)
        packed->bytes = http_pack(file->start, *ret_size, &packed->size);
    if (!is_packed || !packed->bytes)
        return file->start;
    *ret_size = packed->size;
    return packed->bytes;
}

HTTP_RESULT http_page_reply(struct http_call *call)
{
    const struct page_file *file = find_file(call);
    g_autofree char *sum = NULL, *tag = NULL;
    size_t size;

    if (!file)
        return http_refuse_text(call->connection, MHD_HTTP_NOT_FOUND, "the page has no such file");
    const void *bytes = bytes_of(file, http_takes_gzip(call->connection), &size);
    sum = g_compute_checksum_for_data(G_CHECKSUM_SHA256, bytes, size);
    tag = g_strdup_printf("\"%.16s\"", sum);
    const struct http_header headers[] = {
        {MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache"},
        {MHD_HTTP_HEADER_ETAG, tag},
        {"Content-Security-Policy", POLICY},
        {MHD_HTTP_HEADER_VARY, MHD_HTTP_HEADER_ACCEPT_ENCODING},
        {MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip"}, // of what is packed
    };
    size_t count = ARRAY_LENGTH(headers) - (bytes == file->start);
    bool is_known = http_has_tag(call->connection, tag);
    return http_reply_bytes(call->connection, is_known ? MHD_HTTP_NOT_MODIFIED : MHD_HTTP_OK,
                            file->content_type, headers, count,
                            g_memdup(bytes, is_known ? 0 : (guint)size), is_known ? 0 : size);
}

HTTP_RESULT http_page_openapi(struct http_call *call)
{
    const char *place = strstr(page_openapi_yaml, "    Clip: {}"), *rest = strchr(place, '\n') + 1;
    g_autofree char *schema = clip_schema();

    return http_reply(call->connection, MHD_HTTP_OK, "application/yaml",
                      g_strdup_printf("%.*s%s%s", (int)(place - page_openapi_yaml),
                                      page_openapi_yaml, schema, rest));
}
