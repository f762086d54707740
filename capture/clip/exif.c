#include "capture/clip/exif.h"

#include <stdbool.h>
#include <string.h>

// Little-endian ("II") or big-endian ("MM"), as the TIFF header says.
static unsigned read_number(const uint8_t *bytes, unsigned size, bool little)
{
    unsigned number = 0;

    for (unsigned i = 0; i < size; i++)
        number = number << 8 | bytes[little ? size - 1 - i : i];
    return number;
}

// The orientation is tag 274, one SHORT, in the first directory of a TIFF.
enum exif_orientation exif_read(const uint8_t *tiff, size_t size)
{
    bool little = size >= 8 && memcmp(tiff, "II*\0", 4) == 0;

    if (!little && (size < 8 || memcmp(tiff, "MM\0*", 4) != 0))
        return EXIF_TOP_LEFT;
    size_t at = read_number(tiff + 4, 4, little);
    if (at > size || size - at < 2)
        return EXIF_TOP_LEFT;
    unsigned entries = read_number(tiff + at, 2, little);
    for (at += 2; entries > 0 && size - at >= 12; entries--, at += 12) {
        unsigned value = read_number(tiff + at + 8, 2, little);

        if (read_number(tiff + at, 2, little) == 274 && value >= EXIF_TOP_LEFT &&
            value <= EXIF_LEFT_BOTTOM) {
            return (enum exif_orientation)value;
        }
    }
    return EXIF_TOP_LEFT;
}

// EXIF is in the segment APP1, before the first scan.
enum exif_orientation exif_read_jpeg(const uint8_t *bytes, size_t size)
{
    static const char exif[] = "Exif\0"; // and the NUL of the literal
    size_t at = 2;

    if (size < 4 || bytes[0] != 0xff || bytes[1] != 0xd8)
        return EXIF_TOP_LEFT;
    while (size - at >= 4 && bytes[at] == 0xff && bytes[at + 1] != 0xda) {
        size_t length = (size_t)bytes[at + 2] << 8 | bytes[at + 3];

        if (bytes[at + 1] == 0xff) { // a fill byte
            at++;
            continue;
        }
        if (length < 2 || length > size - at - 2)
            break;
        if (bytes[at + 1] == 0xe1 && length >= 2 + sizeof exif &&
            memcmp(bytes + at + 4, exif, sizeof exif) == 0) {
            return exif_read(bytes + at + 4 + sizeof exif, length - 2 - sizeof exif);
        }
        at += 2 + length;
    }
    return EXIF_TOP_LEFT;
}
