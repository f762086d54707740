// Texts that leave the program (log, status, metrics, --check, edgectl) without the passwords that
// a pipeline or a URL of the configuration has in it.
#pragma once

#include <stdarg.h>

// Puts "***" for every secret in `text`, which never gets longer by it: what stands before the '@'
// of a URL or of an address with a ':', and the values of names such as user-pw, password and
// token, quoted or not ("user-pw=\"a b\"", "?token=x&y=1").
void redact(char *text);

// vasprintf() and then redact(): first the whole text, because half a URL cannot be told from a
// path. The caller frees the result; NULL without memory.
char *redact_format(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));
