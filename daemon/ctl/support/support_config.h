// The configuration as a file of `edgectl support`.
#pragma once

// Prints the file that --config names, with what it includes, as libconfig has read it: without its
// comments, which may say anything, and with strings that are written in pieces in one piece, so
// that redact() sees a URL as a whole. It has not been over it yet. Like a command of edgectl.
int support_print_config(int argc, char **argv);
