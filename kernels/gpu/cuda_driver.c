#include "kernels/gpu/cuda_driver.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#define LIBRARY "libcuda.so.1"

static int find(const struct cuda_driver *driver, const char *symbol, void *ret_function,
                struct error *error)
{
    *(void **)ret_function = dlsym(driver->library, symbol);
    if (!*(void **)ret_function)
        return error_set(error, -ENOSYS, "%s has no %s: the driver is too old", LIBRARY, symbol);
    return 0;
}

// A missing driver is reported in words of our own, a driver that does not load in the linker's.
static int explain_missing(const char *reason, struct error *error)
{
    if (strncmp(reason, LIBRARY ":", strlen(LIBRARY ":")) == 0 && strstr(reason, "No such file"))
        return error_set(error, -ENODEV, "no NVIDIA driver here (%s)", LIBRARY);
    return error_set(error, -ENODEV, "the NVIDIA driver does not load: %s", reason);
}

int cuda_driver_init(struct cuda_driver *driver, struct error *error)
{
    int r = 0;

    *driver = (struct cuda_driver){.library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL)};
    if (!driver->library)
        return explain_missing(dlerror(), error);
#define FIND(name, symbol, parameters)                                                             \
    if (r == 0) {                                                                                  \
        r = find(driver, #symbol, &driver->name, error);                                           \
    }
    CUDA_DRIVER_NEEDED(FIND)
#undef FIND
#define FIND(name, symbol, parameters) *(void **)&driver->name = dlsym(driver->library, #symbol);
    CUDA_DRIVER_OPTIONAL(FIND)
#undef FIND
    if (r < 0)
        cuda_driver_finish(driver);
    return r;
}

void cuda_driver_finish(struct cuda_driver *driver)
{
    if (driver->library)
        dlclose(driver->library);
    *driver = (struct cuda_driver){0};
}

// CUresult by its number, as cuda.h lists them.
static int errno_of(int result)
{
    switch (result) {
    case 0:
        return 0;
    case 1:   // INVALID_VALUE
    case 101: // INVALID_DEVICE
    case 701: // LAUNCH_OUT_OF_RESOURCES
        return -EINVAL;
    case 2: // OUT_OF_MEMORY
        return -ENOMEM;
    case 3:   // NOT_INITIALIZED
    case 100: // NO_DEVICE
    case 803: // SYSTEM_DRIVER_MISMATCH
        return -ENODEV;
    case 200: // INVALID_IMAGE
    case 209: // NO_BINARY_FOR_GPU
    case 218: // INVALID_PTX
    case 222: // UNSUPPORTED_PTX_VERSION
    case 801: // NOT_SUPPORTED
        return -ENOTSUP;
    case CUDA_ERROR_NOT_READY:
        return -EBUSY;
    case 702: // LAUNCH_TIMEOUT
        return -ETIMEDOUT;
    default:
        return -EIO;
    }
}

int cuda_driver_check(const struct cuda_driver *driver, int result, const char *doing,
                      struct error *error)
{
    const char *name = NULL, *text = NULL;

    if (result == CUDA_SUCCESS)
        return 0;
    driver->error_name(result, &name);
    driver->error_string(result, &text);
    return error_set(error, errno_of(result), "%s: %s (%s, %d)", doing,
                     text ? text : "unknown error", name ? name : "CUresult", result);
}
