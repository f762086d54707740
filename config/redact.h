// Texts that leave the program (log, status, metrics, --check, edgectl) without the passwords that
// a pipeline or a URL of the configuration has in it.
#pragma once

#include <stdarg.h>

// Puts "***" for every secret in `text`, which never gets longer by it. Hidden are
// - of a URL, what stands before the '@', and every value of its query, whatever its name;
// - of a pipeline, the value of every property that is not known to be harmless;
// - of any text, the values of names such as user-pw, token and Authorization ("a=x", "a: x"), and
//   what stands before the '@' of an address with a ':'.
// A text is one message: the words "pipeline" and " ! " tell of all of it.
void redact(char *text);

// vasprintf() and then redact(): first the whole text, because half a URL cannot be told from a
// path. The caller frees the result; NULL without memory.
char *redact_format(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));
