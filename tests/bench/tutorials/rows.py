"""The tutorials' Sobel filter, each way they write it, timed in a process of its own.

    rows.py NAME INPUT.npy OUTPUT.npy     gray float32 in, edges uint8 out

All compute the same: both 3x3 gradients, their length, at most 255, cut to a whole number; the
outermost pixels stay black. Prints JSON: the milliseconds of each call, the first one with whatever
compiling takes, and what ran it. Exit status 3: it cannot run here, and says why.
"""

import json
import math
import os
import site
import sys
import time

if os.environ.get("TUTORIALS_SITE"):
    site.addsitedir(os.environ["TUTORIALS_SITE"])  # .pth files count, numba-cuda has one
    sys.path.insert(0, os.environ["TUTORIALS_SITE"])

import numpy as np

SECONDS, CALLS_LEAST, CALLS_MOST = 1.0, 5, 101
STATUS_NOT_HERE = 3
GX = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]], np.float32)
GY = np.array([[-1, -2, -1], [0, 0, 0], [1, 2, 1]], np.float32)


class NotHere(Exception):
    """Why a row cannot be measured on this machine."""


def sobel(image, gx, gy, out):
    """As the tutorials begin; @jit gets the same text."""
    height, width = image.shape
    for i in range(1, height - 1):
        for j in range(1, width - 1):
            sx = 0.0
            sy = 0.0
            for k in range(3):
                for l in range(3):
                    value = image[i - 1 + k, j - 1 + l]
                    sx += value * gx[k, l]
                    sy += value * gy[k, l]
            out[i, j] = min(255.0, math.sqrt(sx * sx + sy * sy))


def import_numba():
    # Names that numpy 2.x dropped and some numba-cuda still imports.
    for name, same in (("row_stack", np.vstack), ("in1d", getattr(np, "isin")),
                       ("trapz", getattr(np, "trapezoid", None))):
        if not hasattr(np, name) and same:
            setattr(np, name, same)
    try:
        import numba
    except ImportError:
        raise NotHere("Numba is not installed") from None
    return numba


def python(image, out):
    return f"Python {sys.version.split()[0]}", lambda: sobel(image, GX, GY, out)


def numba_jit(image, out):
    numba = import_numba()
    compiled = numba.jit(nopython=True)(sobel)
    return f"Numba {numba.__version__}", lambda: compiled(image, GX, GY, out)


def numba_typed(image, out):
    numba = import_numba()
    started = time.perf_counter()
    compiled = numba.jit("void(float32[:,:], float32[:,:], float32[:,:], uint8[:,:])",
                         nopython=True)(sobel)
    compile_ms.append((time.perf_counter() - started) * 1e3)
    return f"Numba {numba.__version__}", lambda: compiled(image, GX, GY, out)


def numba_parallel(image, out):
    numba = import_numba()

    @numba.jit(nopython=True, parallel=True)
    def sobel_parallel(image, gx, gy, out):
        height, width = image.shape
        for i in numba.prange(1, height - 1):
            for j in range(1, width - 1):
                sx = 0.0
                sy = 0.0
                for k in range(3):
                    for l in range(3):
                        value = image[i - 1 + k, j - 1 + l]
                        sx += value * gx[k, l]
                        sy += value * gy[k, l]
                out[i, j] = min(255.0, math.sqrt(sx * sx + sy * sy))

    return (f"Numba {numba.__version__}, {numba.get_num_threads()} threads",
            lambda: sobel_parallel(image, GX, GY, out))


def opencv(image, out):
    try:
        import cv2
    except ImportError:
        raise NotHere("OpenCV is not installed") from None

    def run():
        sx = cv2.Sobel(image, cv2.CV_32F, 1, 0, ksize=3)
        sy = cv2.Sobel(image, cv2.CV_32F, 0, 1, ksize=3)
        np.copyto(out, np.minimum(cv2.magnitude(sx, sy), 255), casting="unsafe")

    return f"OpenCV {cv2.__version__}, {cv2.getNumThreads()} threads", run


def cuda_kernel(image):
    """The tutorials' kernel, a thread a pixel, with its grid, and what runs it."""
    global cuda  # where Numba's simulator (NUMBA_ENABLE_CUDASIM=1) looks for it
    numba = import_numba()
    try:
        from numba import cuda

        available = cuda.is_available()
    except Exception as error:  # whatever a driver or toolkit that does not fit raises
        raise NotHere(f"Numba's CUDA does not start: {error}") from None
    if not available:
        raise NotHere("no GPU")

    @cuda.jit
    def sobel_cuda(image, gx, gy, out):
        j, i = cuda.grid(2)
        height, width = image.shape
        if 1 <= i < height - 1 and 1 <= j < width - 1:
            sx = 0.0
            sy = 0.0
            for k in range(3):
                for l in range(3):
                    value = image[i - 1 + k, j - 1 + l]
                    sx += value * gx[k, l]
                    sy += value * gy[k, l]
            out[i, j] = min(255.0, math.sqrt(sx * sx + sy * sy))

    block = (16, 16)
    grid = tuple((side + 15) // 16 for side in image.shape[::-1])
    name = getattr(cuda.current_context().device, "name", "simulated")
    name = name.decode() if isinstance(name, bytes) else name
    return sobel_cuda[grid, block], f"Numba {numba.__version__}, {name}"


def cuda_automatic(image, out):
    kernel, what = cuda_kernel(image)

    def run():
        kernel(image, GX, GY, out)  # copies all there, and all back
        cuda.synchronize()

    return what, run


def cuda_manual(image, out):
    kernel, what = cuda_kernel(image)
    gx, gy = cuda.to_device(GX), cuda.to_device(GY)

    def run():
        on_device = cuda.to_device(image)
        result = cuda.device_array(image.shape, np.uint8)
        kernel(on_device, gx, gy, result)
        result.copy_to_host(out)

    return what, run


ROWS = {function.__name__: function for function in (
    python, numba_jit, numba_typed, numba_parallel, opencv, cuda_automatic, cuda_manual)}
compile_ms = []


def call_ms(function):
    started = time.perf_counter()
    function()
    return (time.perf_counter() - started) * 1e3


def main(name, input_path, output_path):
    image = np.load(input_path)
    out = np.zeros(image.shape, np.uint8)
    try:
        what, run = ROWS[name](image, out)
    except NotHere as error:
        print(error)
        return STATUS_NOT_HERE
    times = [call_ms(run)]
    first = times[0] + sum(compile_ms)
    # What takes seconds is run once.
    while times[0] < 5000 and len(times) < CALLS_MOST and (
            len(times) < CALLS_LEAST or sum(times[1:]) < SECONDS * 1e3):
        times.append(call_ms(run))
    np.save(output_path, out)
    print(json.dumps({"what": what, "first_ms": first, "times_ms": times}))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
