# Tests, benchmarks and static checks: what they are built from, and how they are run.

PYTHON ?= /usr/bin/python3
CORES = $(shell nproc)
# A test that hangs is ended, and where it hangs is shown, as scripts/run-unit does for programs.
HUNG_S = 1200
PYTEST = EDGED_BUILD='$(abspath $(BUILD))' $(PYTHON) -B -m pytest -q -rs -p no:cacheprovider --timeout $(HUNG_S) \
         $(if $(CI),--durations=15)

UNIT_TESTS := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/unit/test_*.c tests/unit/*/test_*.c))
RANDOM_TESTS = $(patsubst %.c,$(BUILD)/%,$(shell grep -lr --include='test_*.c' 'random_seed()' tests/unit))
BENCHES := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/bench/bench_*.c))
# Many viewers in one process, for what has to know what they cost.
VIEWER_LOAD := $(BUILD)/tests/bench/viewer_load
FUZZERS := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/fuzz/fuzz_*.c))
# Stand-ins the tests put in place of a driver or of the camera process.
FAKES := $(patsubst %.c,$(BUILD)/%.so,$(wildcard tests/fakes/v4l2/fake_v4l2.c tests/fakes/board/*.c tests/fakes/disk/*.c tests/fakes/clock/*.c tests/fakes/encoder/*.c)) \
         $(patsubst %.c,$(BUILD)/%,$(wildcard tests/fakes/camera/fake_camera.c)) \
         $(BUILD)/tests/fakes/cuda/libcuda.so.1 $(BUILD)/tests/fakes/cuda/old/libcuda.so.1 \
         $(BUILD)/tests/fakes/nvmm/libnvbufsurface.so.1.0.0 $(BUILD)/tests/fakes/jetson/fake_jetson.so
JETSON_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/fakes/jetson/*.c))
# The programs with kernels in name only, for which that driver is enough: no nvcc is needed.
FAKE_CUDA_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/fakes/cuda/*.c))
# Kernels built for the CPU.
FAKE_CUDA_KERNELS := $(addprefix $(BUILD)/tests/fakes/cuda/kernels/,$(addsuffix .o,blur/blur canny/canny canny/hysteresis cells/cells convert/convert \
                       demosaic/demosaic direction/direction flip/flip gpu/point gradient/gradient levels/levels morphology/morphology motion/motion \
                       overlay/mark overlay/overlay))
FAKE_CUDA_IMAGES := $(BUILD)/tests/fakes/cuda/gpu_images.o
FAKE_CUDA_PROGRAMS := $(patsubst $(BUILD)/%,$(BUILD)/tests/fakes/cuda/%,$(filter-out %/edged-mqtt,$(PROGRAMS)))
# check_gpu with that driver: the kernels' own code, computed by the CPU.
FAKE_CUDA_CHECK := $(BUILD)/tests/fakes/cuda/check_gpu
FAKE_CUDA_TESTS := $(foreach test,$(UNIT_TESTS),$(if $(filter test_gpu% test_cuda% test_fake_cuda,$(notdir $(test))),$(test)))

# What the GPU's tests link: edged's computing parts, nothing of GStreamer.
GPU_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(wildcard kernels/*/*.c) capture/nvmm/nvbufsurface.c capture/frame.c capture/frame_pool.c \
                 capture/letters.c capture/pixel_format.c config/base.c config/multicast_range.c config/redact.c $(addprefix config/schema/schema,.c _kernels.c _mqtt.c _network.c _record.c _region.c _view.c))
GPU_PROGRAMS := $(BUILD)/tests/gpu/check_gpu $(BUILD)/tests/gpu/bench_gpu
GPU_HELPERS := $(patsubst %.c,$(BUILD)/%.o,$(addprefix tests/gpu/,npp.c pictures.c) $(filter-out %_gpu.c,$(wildcard tests/gpu/check*.c tests/gpu/bench*.c)))

# `edgectl process` for the many pictures of tests/golden, and flips and demosaics of raw ones.
GOLDEN_PROGRAMS := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/golden/*.c))
# edged's rows in the tutorials' table.
TUTORIALS := $(BUILD)/tests/bench/tutorials/edged_edges

# USB cameras of the virtual machine's.
VM_PROGRAMS := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/vm/*.c))

# What drives a bundle on a machine with a GPU.
DAEMON_TESTS := $(BUILD)/tests/gpu/daemon_client $(BUILD)/tests/gpu/faulty/libcuda.so.1

.PHONY: everything check-browser check-unit check-golden check-random check-e2e check-api check-connect check-arm64 check-toolkits check-vm check-disk soak-vm check-fresh check-gpu check-bundle soak soak-day \
        bench bench-tutorials bench-gpu asan tsan fuzz fuzz-coverage fuzzers lint lint-deep

everything: $(PROGRAMS) $(UNIT_TESTS) $(FAKES) $(FAKE_CUDA_PROGRAMS) $(GPU_PROGRAMS) $(GOLDEN_PROGRAMS) $(TUTORIALS) $(DAEMON_TESTS) $(VM_PROGRAMS) $(FAKE_CUDA_CHECK) ## all programs, those of the tests too

# The GPU's programs only to see that they build.
check-unit: $(UNIT_TESTS) $(FAKES) $(if $(SANITIZE),,$(GPU_PROGRAMS)) ## every module by itself
	@EDGED_BUILD='$(abspath $(BUILD))' scripts/run-unit $(UNIT_TESTS)

# The tutorials' program and check_gpu are built without sanitizers only.
check-golden: $(PROGRAMS) $(GOLDEN_PROGRAMS) $(if $(SANITIZE),,$(TUTORIALS) $(FAKE_CUDA_CHECK)) ## results on real pictures, bit for bit against OpenCV
	@$(PYTEST) -n $(CORES) $(GOLDEN_TESTS) tests/golden $(if $(SANITIZE),--ignore=tests/golden/test_tutorials.py --ignore=tests/golden/test_kernels.py)

check-random: $(PROGRAMS) $(GOLDEN_PROGRAMS) $(RANDOM_TESTS) $(FAKES) ## random pictures and settings for SECONDS=600, from a seed that is drawn or SEED=
	@EDGED_BUILD='$(abspath $(BUILD))' PYTHON=$(PYTHON) scripts/check-random $(SECONDS) "$(SEED)" $(RANDOM_TESTS)

# They wait for events more than they compute. Timing tests are in make soak.
check-e2e: $(PROGRAMS) $(FAKES) $(FAKE_CUDA_PROGRAMS) ## the real programs with real clients on loopback
	@$(PYTEST) -n $$((2 * $(CORES))) $(E2E_TESTS) tests/e2e

# In Firefox those tests alone that show whether pictures come, and what the page says where they do not.
BROWSER = chromium
BROWSER_TESTS = $(if $(filter firefox,$(BROWSER)),$(patsubst %,tests/browser/test_%.py,in_browser outage slow_link),tests/browser)
check-browser: $(PROGRAMS) ## the page in Debian's Chromium, or with BROWSER=firefox its live pictures in Debian's Firefox
	@scripts/setup --group $(if $(filter firefox,$(BROWSER)),firefox,browser)
	@EDGED_BROWSER=$(BROWSER) $(PYTEST) -n 2 --dist loadfile $(BROWSER_TESTS)

check-arm64: ## everything crossed to arm64 without a warning, unit and golden tests of it under qemu-user; as root
	@scripts/setup --with deb beds arm64
	@scripts/check-arm64

check-api: $(PROGRAMS) ## what edged answers over HTTP against /openapi.yaml, by schemathesis out of PyPI
	@EDGED_BUILD='$(abspath $(BUILD))' scripts/check-api

check-connect: HUNG_S = 3600
check-connect: $(PROGRAMS) $(FAKES) ## edged in a real Home Assistant out of PyPI, by MQTT and by ONVIF, and config/fleet on the engines it is for; takes Python 3.13, 1 GB and root. CONNECT="-k fleet" is the latter alone
	@scripts/setup --with beds engines
	@scripts/bed-root build/beds
	@tests/connect/install build/connect
	@EDGED_CONNECT='$(abspath build/connect)' $(PYTEST) tests/connect $(CONNECT)

# Into build/, whatever BUILD says: the compilers are the same for every build. TOOLKITS="12.6.85" is one.
check-toolkits: ## the kernels by the device compilers of CUDA 11.7 to 13.0, out of PyPI: no warning, and a table of registers and spills
	@$(PYTHON) -B tests/gpu/toolkits build/toolkits "$(TOOLKITS)" $(FATBINS:$(BUILD)/%.fatbin=%.cu)

check-vm: $(PROGRAMS) ## real systemd in a container, a real kernel with a camera in a machine
	@scripts/setup --with beds
	@scripts/bed-root build/beds
	@$(PYTEST) -n 2 --dist loadfile tests/systemd tests/vm/test_camera.py tests/vm/test_devices.py

check-disk: $(PROGRAMS) ## in a machine: recordings after power cuts, EDGED_CUTS=40 of them, and on a disk that stalls, fills, fails and goes
	@scripts/setup --with beds
	@scripts/bed-root build/beds
	@$(PYTEST) -n 2 --dist loadfile tests/vm/test_power_cut.py tests/vm/test_bad_disk.py

# The clock of that machine counts its instructions: what else runs here makes it take longer alone.
soak-vm: HUNG_S = 0
soak-vm: $(PROGRAMS) $(VM_PROGRAMS) ## in a machine: USB cameras plugged in again and each of vivid's faults, as often as SECONDS=600 allow; half of all pictures lost for so long
	@scripts/setup --with beds
	@scripts/bed-root build/beds
	@EDGED_SOAK_SECONDS=$(SECONDS) $(PYTEST) -n 2 -rP tests/vm/test_comes_back.py $(SOAK)

# Needs the machine for itself. SOAK="-k NAME" gives one test all of the time.
SECONDS ?= 600
# Those of tests/unit/stopwatch.h, which hold to promised times here alone.
CLOCK_TESTS := $(filter $(addprefix %/test_,camera control event_stream gpu gpu_encoder gpu_memory gpu_tried \
                 recorder rtsp_server source_file source_gstreamer stream supervisor supervisor_gpu),$(UNIT_TESTS))
soak: HUNG_S = 0
soak: $(PROGRAMS) $(FAKES) $(FAKE_CUDA_PROGRAMS) $(CLOCK_TESTS) ## lost frames, gaps and promised times for SECONDS=600, by the clock
	@$(if $(SOAK),,EDGED_BUILD='$(abspath $(BUILD))' EDGED_SOAK_SECONDS=$(SECONDS) scripts/run-unit $(CLOCK_TESTS))
	@EDGED_SOAK_SECONDS=$(SECONDS) $(PYTEST) -rP tests/soak $(SOAK)

soak-day: $(PROGRAMS) ## a day on this machine's camera: an hourly line of memory, descriptors and what was lost; SECONDS=3600 PERIOD=600
	@EDGED_BUILD='$(abspath $(BUILD))' $(PYTHON) -B scripts/soak-day $(if $(filter command%,$(origin SECONDS)),$(SECONDS),86400) $(or $(PERIOD),3600)

check-fresh: ## make run and make check in fresh roots of Debian 12 (also booted) and 13, make run and the unit tests on Debian 11 and Ubuntu 20.04; as root
	@scripts/setup --with beds
	@scripts/check-fresh $(RELEASES)

bench: $(PROGRAMS) $(BENCHES) ## speed, beside memcpy, OpenCV and a stock pipeline
	@set -e; for bench in $(BENCHES); do $$bench; done
	@set -e; for bench in $(wildcard tests/bench/bench_*.py); do EDGED_BUILD='$(abspath $(BUILD))' $(PYTHON) -B $$bench; done

bench-tutorials: $(TUTORIALS) ## the tutorials' table; Numba from PyPI into build/, or NUMBA_WHEELS=DIR
	@EDGED_BUILD='$(abspath $(BUILD))' NUMBA_WHEELS='$(NUMBA_WHEELS)' $(PYTHON) -B tests/bench/tutorials/bench_tutorials.py $(BENCH)

check-gpu: $(GPU_PROGRAMS) ## every kernel on this machine's GPU, bit for bit against the CPU (gcc, make, nvcc)
	$(BUILD)/tests/gpu/check_gpu

bench-gpu: $(GPU_PROGRAMS) ## the kernels' speed beside memcpy and NPP; BENCH=--json for machines
	@$(BUILD)/tests/gpu/bench_gpu $(BENCH)

# Of the programs whose kernels the tests' driver plays: there need be no nvcc.
check-bundle: $(PROGRAMS) $(FAKE_CUDA_PROGRAMS) $(DAEMON_TESTS) $(FAKES) ## a bundle in an empty root; daemon_check.py without a GPU
	@EDGED_BUILD=$(BUILD) scripts/bundle --with-tests --programs $(BUILD)/tests/fakes/cuda --output $(BUILD)/bundle-check.tar.gz
	@$(PYTEST) tests/bundle

# What is compiled for one run is not worth optimizing much.
ASAN := --no-print-directory BUILD=build/asan SANITIZE=address,undefined OPTIMIZE=-O1 NVCC=
# The unit tests look for leaks. To let tests/lsan.supp name functions, the sanitizer has to unwind through
# libraries without frame pointers, which takes most of the time; ten frames are enough for that.
ASAN_COMMON := verify_asan_link_order=0:abort_on_error=1:handle_abort=0
LEAKS := detect_leaks=1:fast_unwind_on_malloc=0:malloc_context_size=10
NO_LEAKS := detect_leaks=0:fast_unwind_on_malloc=1
asan: export LSAN_OPTIONS = suppressions='$(CURDIR)/tests/lsan.supp':print_suppressions=0
asan: export UBSAN_OPTIONS = print_stacktrace=1
asan: export EDGED_RANDOM_CASES = 20
# GLib before 2.76 keeps what it frees by slices, which hides its use from the sanitizer.
asan: export G_SLICE = always-malloc
asan: ## AddressSanitizer and UBSan: check-unit, one golden test of each kind, the end-to-end tests marked as hostile
	@failed=0; \
	ASAN_OPTIONS=$(ASAN_COMMON):$(LEAKS) $(MAKE) $(ASAN) check-unit || failed=1; \
	ASAN_OPTIONS=$(ASAN_COMMON):$(NO_LEAKS) $(MAKE) $(ASAN) GOLDEN_TESTS=--one-each check-golden || failed=1; \
	ASAN_OPTIONS=$(ASAN_COMMON):$(NO_LEAKS) $(MAKE) $(ASAN) E2E_TESTS='-m "hostile and not repeats"' check-e2e || failed=1; \
	exit $$failed

# What a program that has threads calls: its own, or those of a library or of a driver.
STARTS_THREADS := pthread_create|g_thread_new|gst_element_set_state|MHD_start_daemon|dlopen
# GLib and GStreamer are not instrumented: what happens inside them is left out. test_gpu_camera is left out
# as well: it lets the same few threads live and die hundreds of times.
tsan: export TSAN_OPTIONS = ignore_noninstrumented_modules=1:suppressions='$(CURDIR)/tests/tsan.supp'
tsan: $(UNIT_TESTS) ## check-unit under ThreadSanitizer, of the programs that have threads
	@$(MAKE) --no-print-directory BUILD=build/tsan SANITIZE=thread OPTIMIZE=-O1 NVCC= check-unit \
		UNIT_TESTS="$$(nm -A -u $(filter-out %/test_gpu_camera,$(UNIT_TESTS)) | sed -nE 's,^$(BUILD)/([^:]*):.* ($(STARTS_THREADS))(@.*)?$$,build/tsan/\1,p' | sort -u | xargs)"

# FUZZ="config link" are those targets alone. What they find is written to build/fuzz/found.
FUZZ_LIMIT = $(if $(INPUTS),-runs=$(INPUTS) -seed=1,-max_total_time=$(SECONDS))
FUZZ_FLAGS := --no-print-directory CC=clang NVCC= OPTIMIZE=-O1
fuzz: ## hostile bytes for each parser for SECONDS=600, or the same INPUTS=5000 each time, by libFuzzer under ASan and UBSan (clang)
	@scripts/fuzz --check
	@$(MAKE) $(FUZZ_FLAGS) BUILD=build/fuzz SANITIZE=fuzzer-no-link,address,undefined fuzzers
	@scripts/fuzz build/fuzz "$(FUZZ_LIMIT)" $(FUZZ)

fuzz-coverage: export CFLAGS = -fprofile-instr-generate -fcoverage-mapping
fuzz-coverage: export LDFLAGS = -fprofile-instr-generate
fuzz-coverage: ## the same without the sanitizers, and a table of the lines it reached (llvm)
	@scripts/fuzz --check
	@$(MAKE) $(FUZZ_FLAGS) BUILD=build/fuzz-coverage SANITIZE=fuzzer-no-link fuzzers
	@scripts/fuzz --coverage build/fuzz-coverage "$(FUZZ_LIMIT)" $(FUZZ)

fuzzers: $(FUZZERS)

# The analyzer's deep mode takes five times as long as the shallow one.
lint-deep: ANALYZER = deep
lint lint-deep: $(PROGRAMS) ## formats, analyzers, include floors, API floors, scripts; lint-deep analyzes every path
	@scripts/setup --group lint
	@BUILD=$(BUILD) CPPFLAGS="$(subst ",\",$(CPPFLAGS)) $(PACKAGE_CFLAGS) -std=gnu17" tests/lint/lint $(or $(ANALYZER),shallow)

$(BUILD)/tests/fakes/cuda/edged: $(BUILD)/daemon/front/main.o $(FAKE_CUDA_IMAGES) $(LIBRARY)
$(BUILD)/tests/fakes/cuda/edged-camera: $(BUILD)/daemon/camera/main.o $(FAKE_CUDA_IMAGES) $(LIBRARY)
$(BUILD)/tests/fakes/cuda/edged-recorder: $(BUILD)/daemon/recorder/main.o $(FAKE_CUDA_IMAGES) $(LIBRARY)
$(BUILD)/tests/fakes/cuda/edgectl: $(BUILD)/daemon/ctl/main.o $(FAKE_CUDA_IMAGES) $(LIBRARY)
$(PROGRAMS) $(FAKE_CUDA_PROGRAMS):
$(FAKE_CUDA_PROGRAMS):
	$(call say,LD)$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# They are built where none of the libraries is installed as well.
$(GPU_OBJECTS) $(GPU_HELPERS) $(GPU_PROGRAMS:=.o) $(TUTORIALS:=.o): private PACKAGE_CFLAGS =

$(GPU_PROGRAMS): %: %.o $(GPU_OBJECTS) $(GPU_HELPERS)
	$(call say,LD)$(CC) $(LDFLAGS) -o $@ $^ -ldl -lm

$(FAKE_CUDA_CHECK): $(BUILD)/tests/gpu/check_gpu.o $(FAKE_CUDA_IMAGES) $(filter-out %/gpu_images.o,$(GPU_OBJECTS)) $(GPU_HELPERS) | $(BUILD)/tests/fakes/cuda/libcuda.so.1
	$(call say,LD)$(CC) $(LDFLAGS) -o $@ $^ -ldl -lm

$(TUTORIALS): %: %.o $(GPU_OBJECTS)
	$(call say,LD)$(CC) $(LDFLAGS) -o $@ $^ -ldl -lm

# A test runs once: it is compiled for a short build, not for speed.
$(BUILD)/tests/unit/%.o: private OPTIMIZE = -O0
$(BUILD)/tests/unit/%.o: private DEBUG = -g1
$(BUILD)/tests/unit/%: $(BUILD)/tests/unit/%.o $(LIBRARY)
	$(call say,LD)$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) $(LIBRARY) $(LDLIBS) -lcmocka

$(BUILD)/tests/unit/daemon/test_gpu_tried: private LDFLAGS += -Wl,--wrap=view_forget

# With libFuzzer's main().
$(FUZZERS): %: %.o $(LIBRARY)
	$(call say,LD)$(CC) $(LDFLAGS) -fsanitize=fuzzer -o $@ $^ $(LDLIBS)

$(VM_PROGRAMS): %: %.o
	$(call say,LD)$(CC) $(LDFLAGS) -o $@ $^

everything soak bench: $(VIEWER_LOAD)
$(BENCHES) $(VIEWER_LOAD) $(GOLDEN_PROGRAMS) $(BUILD)/tests/fakes/camera/fake_camera: %: %.o $(LIBRARY)
	$(call say,LD)$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/tests/gpu/daemon_client: $(addprefix $(BUILD)/tests/gpu/,daemon_client.o pattern_code.o)
	$(call say,LD)$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# A driver that forwards to the real one, and provokes the faults of faulty.cu.
$(BUILD)/tests/gpu/faulty/libcuda.so.1: $(BUILD)/tests/gpu/faulty_driver.o
	@mkdir -p $(@D)
	$(call say,LD)$(CC) $(LDFLAGS) -shared -Wl,-Bsymbolic -o $@ $^ -ldl
$(BUILD)/tests/gpu/faulty_driver.o: $(BUILD)/tests/gpu/faulty.fatbin
$(BUILD)/tests/gpu/faulty_driver.o: private CFLAGS += -Wa,-I$(BUILD)/tests/gpu

# Objects come before the library when tests are linked: its own images stay out.
$(FAKE_CUDA_TESTS): $(FAKE_CUDA_IMAGES) | $(FAKES) $(FAKE_CUDA_PROGRAMS)

$(FAKE_CUDA_IMAGES): kernels/gpu/gpu_images.c $(BUILD)/flags
	@mkdir -p $(@D)
	@for image in $(basename $(notdir $(FATBINS))); do echo "no code" >$(@D)/$$image.fatbin; done
	$(call say,CC)$(CC) $(CPPFLAGS) $(CFLAGS) -Wa,-I$(@D) -c -o $@ $<

$(BUILD)/tests/fakes/cuda/kernel_%.o: OPTIMIZE = -O3 -fno-math-errno
# The self-tests' many millions of operations have the real deadline of a second.
$(BUILD)/tests/fakes/cuda/kernel_selftest.o: private SANITIZERS =
# It jumps from stack to stack.
$(BUILD)/tests/fakes/cuda/block.o: private SANITIZERS =

# With nothing of the sanitizers either: what a kernel does with its pixels is checked by their bits.
# By its SLP vectorizer gcc 11 (Ubuntu 22.04) makes a loop without end of the mark's tile.
$(FAKE_CUDA_KERNELS): $(BUILD)/tests/fakes/cuda/kernels/%.o: kernels/%.cu $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CXX)$(CXX) -x c++ -std=gnu++17 -O3 -ffp-contract=off -fno-tree-slp-vectorize -fPIC -fno-strict-aliasing -w -Itests/fakes/cuda/toolkit -I. -MMD -MP -c -o $@ \
		-include tests/fakes/cuda/toolkit/cuda.h $<

$(BUILD)/tests/fakes/cuda/libcuda.so.1: tests/fakes/cuda/exports.map
$(BUILD)/tests/fakes/cuda/old/libcuda.so.1: tests/fakes/cuda/exports_old.map
$(BUILD)/tests/fakes/cuda/libcuda.so.1 $(BUILD)/tests/fakes/cuda/old/libcuda.so.1: $(FAKE_CUDA_OBJECTS) $(FAKE_CUDA_KERNELS) $(LIBRARY)
	@mkdir -p $(@D)
	$(call say,LD)$(CC) $(LDFLAGS) -shared -Wl,-soname,$(@F) -Wl,-z,nodelete -Wl,-Bsymbolic \
		-Wl,--version-script,$(filter %.map,$^) $(if $(SANITIZE),,-Wl,-z,defs) -o $@ $(filter-out %.map,$^) -lm

$(BUILD)/tests/fakes/nvmm/libnvbufsurface.so.1.0.0: $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/fakes/nvmm/*.c))
	$(call say,LD)$(CC) $(LDFLAGS) -shared -Wl,-soname,$(@F) -Wl,-z,nodelete -Wl,-Bsymbolic -o $@ $^

$(BUILD)/tests/fakes/%.so: $(BUILD)/tests/fakes/%.o
	$(call say,LD)$(CC) $(LDFLAGS) -shared -o $@ $^ -ldl

# It stands in for a function that sanitizers call before they can be called themselves.
$(BUILD)/tests/fakes/board/fake_board.so $(BUILD)/tests/fakes/board/fake_board.o: SANITIZERS =

# GStreamer's scanner of plugins loads it first and is no sanitized program.
PLUGINS := $(filter $(BUILD)/tests/fakes/encoder/% $(BUILD)/tests/fakes/jetson/%,$(FAKES))
$(PLUGINS) $(PLUGINS:.so=.o) $(JETSON_OBJECTS): SANITIZERS =
$(filter-out %/fake_jetson.so,$(PLUGINS)): %.so: %.o
$(BUILD)/tests/fakes/jetson/fake_jetson.so: $(JETSON_OBJECTS)
$(PLUGINS):
	$(call say,LD)$(CC) $(LDFLAGS) -shared -o $@ $^ $(LDLIBS)
