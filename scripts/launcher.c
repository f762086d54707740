// A program of the bundle: runs the one of its own name with the bundle's C library, libraries and
// plugins, whatever the host has of them. scripts/bundle links it statically, so it needs nothing.
//
//   ROOT/bin/NAME, ROOT/libexec/NAME  this program, under each name
//   ROOT/lib/run/NAME                 the dynamic loader, so that ps and top show the name
//   ROOT/lib/programs/NAME            the program itself
//   ROOT/lib, ROOT/lib/gstreamer-1.0  libraries, plugins
//
// The host gives one thing: libcuda.so.1, from LD_LIBRARY_PATH, NVIDIA's own folders, or wherever
// its ldconfig knows it. That is why the bundle's folder comes first and the host's are left in.
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#define HOST_DRIVER_FOLDERS "/usr/local/nvidia/lib64:/usr/local/nvidia/lib"

// The program failed before it began; as shells say it.
enum { EXIT_CANNOT_RUN = 126 };

// Formats a text of its own, which lives as long as this process; ends it when memory is out.
static char *format(const char *pattern, ...) __attribute__((format(printf, 1, 2)));

static char *format(const char *pattern, ...)
{
    va_list arguments;
    char *text;

    va_start(arguments, pattern);
    int length = vasprintf(&text, pattern, arguments);
    va_end(arguments);
    if (length < 0) {
        fputs("edged: out of memory\n", stderr);
        _exit(EXIT_CANNOT_RUN);
    }
    return text;
}

// Where this program is, without links; where /proc is not mounted, as it was called.
static char *find_self(void)
{
    char *self = realpath("/proc/self/exe", NULL);

    return self ? self : realpath((const char *)getauxval(AT_EXECFN), NULL);
}

// Cuts the last part off a path and returns it.
static char *cut_last(char *path)
{
    char *slash = strrchr(path, '/');

    *slash = 0;
    return slash + 1;
}

// A folder only this user can write to, made when it is not there.
static int is_private_folder(const char *path)
{
    struct stat status;

    mkdir(path, 0700);
    return lstat(path, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
           (status.st_mode & (S_IWGRP | S_IWOTH)) == 0 && access(path, W_OK) == 0;
}

// Where GStreamer may keep its list of plugins: beside the host's own, which is another. Without
// such a folder it makes the list at every start.
static char *find_cache(void)
{
    const char *given = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    const char *temporary = getenv("TMPDIR");
    char *folder;

    if (given && *given == '/') {
        mkdir(given, 0700);
        folder = format("%s/edged", given);
        if (is_private_folder(folder))
            return folder;
    }
    if (home && *home == '/') {
        mkdir(format("%s/.cache", home), 0700);
        folder = format("%s/.cache/edged", home);
        if (is_private_folder(folder))
            return folder;
    }
    folder = format("%s/edged-%u", temporary && *temporary == '/' ? temporary : "/tmp",
                    (unsigned)geteuid());
    return is_private_folder(folder) ? folder : NULL;
}

static void set_environment(const char *root)
{
    const char *cache = find_cache();

    setenv("GST_PLUGIN_SYSTEM_PATH_1_0", format("%s/lib/gstreamer-1.0", root), 1);
    setenv("GST_PLUGIN_SCANNER_1_0", format("%s/libexec/gst-plugin-scanner", root), 1);
    setenv("GST_REGISTRY_1_0",
           cache ? format("%s/bundle-" EDGED_VERSION ".registry", cache) : "/dev/null/registry", 1);
    // The host's plugins and modules are for the host's GStreamer and GLib.
    unsetenv("GST_PLUGIN_PATH");
    unsetenv("GST_PLUGIN_PATH_1_0");
    unsetenv("GIO_EXTRA_MODULES");
    setenv("GIO_MODULE_DIR", format("%s/lib/gio-modules", root), 1);
    setenv("EDGED_CAMERA_PROGRAM", format("%s/libexec/edged-camera", root), 0);
    setenv("EDGED_RECORDER_PROGRAM", format("%s/libexec/edged-recorder", root), 0);
}

static char *library_path(const char *root)
{
    const char *given = getenv("LD_LIBRARY_PATH");

    return given && *given ? format("%s/lib:%s:" HOST_DRIVER_FOLDERS, root, given)
                           : format("%s/lib:" HOST_DRIVER_FOLDERS, root);
}

int main(int argc, char **argv)
{
    char *root = find_self();
    char **arguments = calloc((size_t)argc + 4, sizeof *arguments);

    if (!root || !arguments) {
        fprintf(stderr, "edged: cannot tell where this program is: %s\n", strerror(errno));
        return EXIT_CANNOT_RUN;
    }
    const char *name = cut_last(root);
    cut_last(root);
    if (strpbrk(root, ":;")) {
        fprintf(stderr, "%s: cannot run from %s: no ':' or ';' in the folder's name, please\n",
                name, root);
        return EXIT_CANNOT_RUN;
    }
    char *loader = format("%s/lib/run/%s", root, name);
    arguments[0] = loader;
    arguments[1] = "--library-path";
    arguments[2] = library_path(root);
    arguments[3] = format("%s/lib/programs/%s", root, name);
    if (argc > 1)
        memcpy(arguments + 4, argv + 1, (size_t)(argc - 1) * sizeof *argv);
    set_environment(root);
    execv(loader, arguments);
    fprintf(stderr, "%s: cannot run %s: %s\n", name, loader, strerror(errno));
    return EXIT_CANNOT_RUN;
}
