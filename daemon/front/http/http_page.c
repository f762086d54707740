#include "daemon/front/http/http_page.h"

#include <string.h>

#define PAGE_FILES(X)                                                                              \
    X(index_html, "index.html", "text/html; charset=utf-8")                                        \
    X(style_css, "style.css", "text/css; charset=utf-8")                                           \
    X(icon_svg, "icon.svg", "image/svg+xml")                                                       \
    X(app_js, "app.js", "text/javascript; charset=utf-8")                                          \
    X(api_js, "api.js", "text/javascript; charset=utf-8")                                          \
    X(video_js, "video.js", "text/javascript; charset=utf-8")                                      \
    X(panels_js, "panels.js", "text/javascript; charset=utf-8")                                    \
    X(clips_js, "clips.js", "text/javascript; charset=utf-8")                                      \
    X(forms_js, "forms.js", "text/javascript; charset=utf-8")                                      \
    X(events_js, "events.js", "text/javascript; charset=utf-8")                                    \
    X(tune_js, "tune.js", "text/javascript; charset=utf-8")                                        \
    X(shapes_js, "shapes.js", "text/javascript; charset=utf-8")

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
        if (strcmp(files[i].name, name) == 0) {
            return &files[i];
        }
    }
    return NULL;
}

CONTROL_RESULT http_page_reply(struct http_call *call)
{
    const struct page_file *file = find_file(call);
    const char *known = http_header_of(call->request, MHD_HTTP_HEADER_IF_NONE_MATCH);
    g_autofree char *sum = NULL, *tag = NULL;
    size_t size;

    if (!file) {
        return control_refuse(call->connection, MHD_HTTP_NOT_FOUND, "the page has no such file");
    }
    size = (size_t)(file->end - file->start);
    sum = g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *)file->start, size);
    tag = g_strdup_printf("\"%.16s\"", sum);
    const struct http_header headers[] = {
        {MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache"},
        {MHD_HTTP_HEADER_ETAG, tag},
        {"Content-Security-Policy", POLICY},
    };
    bool is_known = g_strcmp0(known, tag) == 0;
    return http_reply_bytes(call->connection, is_known ? MHD_HTTP_NOT_MODIFIED : MHD_HTTP_OK,
                            file->content_type, headers, ARRAY_LENGTH(headers),
                            g_memdup(file->start, is_known ? 0 : (guint)size), is_known ? 0 : size);
}

CONTROL_RESULT http_page_openapi(struct http_call *call)
{
    return control_reply(call->connection, MHD_HTTP_OK, "application/yaml",
                         g_strdup(page_openapi_yaml));
}
