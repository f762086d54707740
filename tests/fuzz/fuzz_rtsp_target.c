// URLs of requests. The base of one that is taken names the same path.
//
// Parsers: daemon/front/rtsp/target.c
#include "tests/fuzz/fuzz.h"

#include "daemon/front/rtsp/target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *url = fuzz_text(data, size);
    struct rtsp_target target, again;

    if (rtsp_target_read(url, &target) == 0 && target.path[0]) {
        fuzz_claim(target.path[0] == '/' && !strchr(target.path, '?'));
        fuzz_claim(strncmp(target.base, url, strlen(target.base)) == 0);
        fuzz_claim(rtsp_target_read(target.base, &again) == 0);
    }
    free(url);
    return 0;
}
