// The driver's functions as edged declares them, from its own list: a function edged calls and the
// fake lacks fails to link, one with other parameters does not compile.
#pragma once

#include "kernels/gpu/cuda_driver.h"

// NOLINTNEXTLINE(bugprone-macro-parentheses): a declarator and its list of parameters
#define API_DECLARE(name, symbol, parameters) int symbol parameters;
CUDA_DRIVER_FUNCTIONS(API_DECLARE)
#undef API_DECLARE

#define API_CALL(name, symbol, parameters) CALL_##symbol,
enum call { CUDA_DRIVER_FUNCTIONS(API_CALL) CALL_COUNT };
#undef API_CALL

// CUresult
enum {
    RESULT_INVALID_VALUE = 1,
    RESULT_OUT_OF_MEMORY = 2,
    RESULT_NOT_INITIALIZED = 3,
    RESULT_INVALID_DEVICE = 101,
    RESULT_INVALID_IMAGE = 200,
    RESULT_INVALID_CONTEXT = 201,
    RESULT_INVALID_HANDLE = 400,
    RESULT_NOT_FOUND = 500,
    RESULT_NOT_READY = 600,
    RESULT_ILLEGAL_ADDRESS = 700,
    RESULT_OUT_OF_RESOURCES = 701,
    RESULT_ALREADY_REGISTERED = 712,
    RESULT_NOT_REGISTERED = 713,
    RESULT_NOT_SUPPORTED = 801,
};
