#include "daemon/common/annex_b.h"

#include <string.h>

// Where the next 00 00 01 begins, or `size`.
static size_t find_start_code(const uint8_t *bytes, size_t size, size_t offset)
{
    // memchr() looks for the 01, as it is many times faster than a loop over every byte.
    for (size_t at = offset + 2; at < size; at++) {
        const uint8_t *one = memchr(bytes + at, 1, size - at);

        if (!one)
            return size;
        at = (size_t)(one - bytes);
        if (one[-1] == 0 && one[-2] == 0)
            return at - 2;
    }
    return size;
}

size_t annex_b_next(const uint8_t *bytes, size_t size, size_t offset, size_t *ret_offset,
                    size_t *ret_size)
{
    for (;;) {
        size_t begin = find_start_code(bytes, size, offset) + 3;

        if (begin >= size)
            return 0;
        size_t end = find_start_code(bytes, size, begin), next = end;
        while (end > begin && bytes[end - 1] == 0) {
            end--; // trailing_zero_8bits, or the zero_byte of the next start code
        }
        if (end > begin) {
            *ret_offset = begin;
            *ret_size = end - begin;
            return next;
        }
        offset = next;
    }
}

bool annex_b_is_key_frame(enum config_codec codec, const uint8_t *bytes, size_t size)
{
    size_t next = 0, offset, length;

    while ((next = annex_b_next(bytes, size, next, &offset, &length)) > 0) {
        unsigned type = codec == CONFIG_CODEC_H264 ? bytes[offset] & 31 : bytes[offset] >> 1 & 63;
        bool is_slice = codec == CONFIG_CODEC_H264 ? type >= 1 && type <= 5 : type < 32;

        if (is_slice)
            return codec == CONFIG_CODEC_H264 ? type == 5 : type >= 16 && type <= 21;
    }
    return false;
}
