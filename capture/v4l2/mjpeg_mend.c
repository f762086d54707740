#include "capture/v4l2/mjpeg_mend.h"

#include <string.h>

enum mjpeg_marker {
    MARKER_SOF0 = 0xc0, // baseline
    MARKER_SOF1 = 0xc1, // extended sequential
    MARKER_EOI = 0xd9,
    MARKER_SOS = 0xda,
    MARKER_APP0 = 0xe0,
};

// What libjpeg takes for a JFIF header.
#define JFIF_BYTES 14
#define JFIF_VERSION_AT 5
#define FRAME_COMPONENTS_AT 5

static size_t mend_end(uint8_t *data, size_t size, size_t room)
{
    if ((data[size - 2] == 0xff && data[size - 1] == MARKER_EOI) || room - size < 2) {
        return size;
    }
    data[size] = 0xff;
    data[size + 1] = MARKER_EOI;
    return size + 2;
}

size_t mjpeg_mend(uint8_t *data, size_t size, size_t room)
{
    unsigned components = 0;
    size_t at = 2; // behind the start marker

    // A segment is 0xff, perhaps more of it, its marker, the length of the rest, its content.
    while (at < size && size - at >= 4 && data[at] == 0xff) {
        enum mjpeg_marker marker = data[at + 1];
        size_t length = (size_t)data[at + 2] << 8 | data[at + 3];
        uint8_t *content = data + at + 4;

        if (data[at + 1] == 0xff) {
            at++;
            continue;
        }
        if (length < 2 || length > size - at - 2) {
            break;
        }
        at += 2 + length;
        length -= 2;
        if (marker == MARKER_APP0 && length >= JFIF_BYTES && memcmp(content, "JFIF", 5) == 0) {
            content[JFIF_VERSION_AT] = 1;
        } else if ((marker == MARKER_SOF0 || marker == MARKER_SOF1) &&
                   length > FRAME_COMPONENTS_AT) {
            components = content[FRAME_COMPONENTS_AT];
        } else if (marker == MARKER_SOS) {
            // With other scans to come, the end would hide that they are missing.
            return length > 0 && components > 0 && content[0] == components
                       ? mend_end(data, size, room)
                       : size;
        }
    }
    return size;
}
