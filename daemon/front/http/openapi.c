#include "daemon/front/http/openapi.h"

// By the path from the root of the tree, where the compiler runs.
__asm__(".pushsection .rodata\n"
        "edged_openapi:\n"
        ".incbin \"daemon/front/http/openapi.yaml\"\n"
        ".byte 0\n"
        ".popsection\n");
extern const char edged_openapi[] __attribute__((visibility("hidden")));

CONTROL_RESULT openapi_reply(struct http_call *call)
{
    return control_reply(call->connection, MHD_HTTP_OK, "application/yaml",
                         g_strdup(edged_openapi));
}
