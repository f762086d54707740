"""What programs that load FFmpeg's libraries, its own and edged's, say on standard error."""


def complaints(stderr):
    """The lines, text or bytes, that are the program's own. Debian's FFmpeg links libgcrypt, which warns at each
    start where no memory may be locked, as in containers."""
    text = stderr.decode(errors="replace") if isinstance(stderr, bytes) else stderr
    return [line for line in text.splitlines() if line != "Warning: using insecure memory!"]
