# How edged is built: the programs, their library and the kernels. Tests are in tests/tests.mk, installing and
# packages in scripts/install.mk. build/ mirrors the tree; BUILD=DIR puts the results elsewhere. `make help`
# lists the targets; SANITIZE=address,undefined and CI=1 (warnings are errors) change how things are built,
# V=1 shows the commands.

BUILD ?= build
prefix ?= /usr/local
bindir ?= $(prefix)/bin
libexecdir ?= $(prefix)/libexec
mandir ?= $(prefix)/share/man
docdir ?= $(prefix)/share/doc/edged
completionsdir ?= $(prefix)/share/bash-completion/completions
sysconfdir ?= /etc
unitdir ?= $(prefix)/lib/systemd/system
sysusersdir ?= $(prefix)/lib/sysusers.d
# udev of systemd 245 does not look below /usr/local.
udevrulesdir ?= $(if $(filter /usr,$(prefix)),/usr/lib,/etc)/udev/rules.d
VERSION := 0.1.0

# One short line a file, unless V=1.
say = $(if $(V),,@printf '  %-3s %s\n' $(1) $(@:$(BUILD)/%=%) && )

CC ?= cc
PKG_CONFIG ?= pkg-config
PACKAGES := gstreamer-1.0 gstreamer-app-1.0 gstreamer-video-1.0 gstreamer-allocators-1.0 \
            gstreamer-rtsp-1.0 gstreamer-sdp-1.0 gio-2.0 gnutls json-glib-1.0 libconfig libmicrohttpd libmosquitto libv4l2 libsystemd libturbojpeg libpng
# The oldest systems edged supports (JetPack 5): newer API of these libraries does not compile.
# tests/lint/api_floor holds the libraries that have no such macros.
FLOORS := -DGLIB_VERSION_MIN_REQUIRED=GLIB_VERSION_2_64 -DGLIB_VERSION_MAX_ALLOWED=GLIB_VERSION_2_64 \
          -DJSON_VERSION_MIN_REQUIRED=JSON_VERSION_1_4 -DJSON_VERSION_MAX_ALLOWED=JSON_VERSION_1_4 \
          -DGST_DISABLE_DEPRECATED

WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla $(if $(CI),-Werror)
OPTIMIZE ?= -O2
DEBUG = $(if $(SANITIZE),-g1,-g)
SANITIZERS := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-omit-frame-pointer -fno-sanitize-recover=all)
CPPFLAGS += -I. -D_GNU_SOURCE $(FLOORS) -DEDGED_VERSION='"$(VERSION)"' \
            -DEDGED_LIBEXECDIR='"$(libexecdir)"' -DEDGED_SYSCONFDIR='"$(sysconfdir)"'
# Sanitizers name lines; nothing reads the rest, which takes a third of their compile time.
CFLAGS += -std=gnu17 $(OPTIMIZE) $(DEBUG) -fPIC -pthread $(WARNINGS) $(SANITIZERS)
# A program needs no library that none of its code calls: the front has nothing of GStreamer.
# The line of a crash names the build-id, by which to find the program with its symbols.
LDFLAGS += -pthread -Wl,--build-id $(if $(SANITIZE),$(SANITIZERS),-Wl,--as-needed)
# Asked for once, and only by the first recipe that compiles: `make setup` works without pkg-config.
pkg_config = $(or $(shell $(PKG_CONFIG) $(1) $(PACKAGES)),$(error packages are missing: run scripts/setup))
# As folders of the system: what newer headers deprecate within themselves is no warning here.
PACKAGE_CFLAGS = $(eval PACKAGE_CFLAGS := $(patsubst -I%,-isystem%,$(call pkg_config,--cflags)))$(PACKAGE_CFLAGS)
LDLIBS = $(eval LDLIBS := $(call pkg_config,--libs) -lm -ldl)$(LDLIBS)

# Every .c of these folders is part of libedged.a, except the programs' main files.
MAINS := daemon/front/main.c daemon/camera/main.c daemon/recorder/main.c daemon/mqtt/main.c daemon/ctl/main.c
SOURCES := $(filter-out $(MAINS),$(wildcard $(foreach floor,config board capture kernels daemon,$(addprefix $(floor)/,*.c */*.c */*/*.c))))
OBJECTS := $(SOURCES:%.c=$(BUILD)/%.o)
LIBRARY := $(BUILD)/libedged.a
PROGRAMS := $(BUILD)/edged $(BUILD)/edged-camera $(BUILD)/edged-recorder $(BUILD)/edged-mqtt $(BUILD)/edgectl

# The kernels: exact machine code for this machine's GPUs alone, or where it has none, with SMS=all and
# in a bundle for every GPU that this nvcc and we know; and PTX of the newest for those to come.
# Without nvcc the images are empty, and edged says that it was built so.
NVCC ?= $(firstword $(wildcard $(addsuffix /nvcc,$(subst :, ,$(PATH)) /usr/local/cuda/bin)))
ALL_SMS = $(eval ALL_SMS := $(filter $(shell $(NVCC) --help | grep -o 'sm_[0-9]*' | sort -u),$(addprefix sm_,72 75 80 86 87 89 90 100 110 120)))$(ALL_SMS)
OWN_SMS = $(eval OWN_SMS := $(shell scripts/gpu-architectures $(DEVICE_TREE)))$(OWN_SMS)
SMS ?= $(if $(filter bundle bundle-tests,$(MAKECMDGOALS))$(filter-out $(ALL_SMS),$(OWN_SMS)),all,$(OWN_SMS))
BUILT_SMS = $(or $(filter-out all,$(SMS)),$(ALL_SMS))
NVCC_FLAGS = -std=c++17 -O3 -I. --no-compress -Xptxas -v --threads 0 $(if $(CI),-Werror all-warnings) \
             $(foreach sm,$(BUILT_SMS),-gencode arch=$(sm:sm_%=compute_%),code=$(sm)) \
             -gencode arch=$(lastword $(BUILT_SMS:sm_%=compute_%)),code=$(lastword $(BUILT_SMS:sm_%=compute_%))
FATBINS := $(patsubst %.cu,$(BUILD)/%.fatbin,$(wildcard kernels/*/*.cu))

.PHONY: all setup run check clean help FORCE
.DELETE_ON_ERROR:
.SECONDARY:

all: $(PROGRAMS) ## the programs: edged, edged-camera, edged-recorder, edged-mqtt, edgectl

setup: ## install missing packages to build, run and test (Debian 12 and 13, Ubuntu 20.04 to 26.04)
	@scripts/setup

# On all cores, unless -j says otherwise.
parallel = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))

# A make of its own after setup, so that it sees what setup installed, whatever -j says. The packages of
# the tests are left to make check.
run: ## build, and stream every view of a camera, or of a street where there is no camera
	@scripts/setup --group build run
	@$(MAKE) --no-print-directory $(parallel) all
	@EDGED_BUILD=$(BUILD) scripts/run

check: setup ## unit, golden and end-to-end tests; ends in a line for each
	@$(MAKE) --no-print-directory $(parallel) all
	@MAKE='$(MAKE) --no-print-directory $(parallel)' EDGED_BUILD=$(BUILD) scripts/check-suites unit golden e2e

$(BUILD)/edged: $(BUILD)/daemon/front/main.o $(LIBRARY)
$(BUILD)/edged-camera: $(BUILD)/daemon/camera/main.o $(LIBRARY)
$(BUILD)/edged-recorder: $(BUILD)/daemon/recorder/main.o $(LIBRARY)
$(BUILD)/edged-mqtt: $(BUILD)/daemon/mqtt/main.o $(LIBRARY)
$(BUILD)/edgectl: $(BUILD)/daemon/ctl/main.o $(LIBRARY)
$(PROGRAMS):
	$(call say,LD)$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(LIBRARY): $(OBJECTS)
	$(call say,AR)rm -f $@ && $(AR) rcs $@ $^

# The CPU kernels are plain loops: the vectorizer needs -O3.
$(BUILD)/kernels/%.o: OPTIMIZE = -O3

$(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(CPPFLAGS) $(PACKAGE_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/%.fatbin: %.cu $(BUILD)/nvcc-flags
	@mkdir -p $(@D)
	$(if $(NVCC),$(call say,NVCC),@echo '  no nvcc: $(@F) stays empty, edged will compute on the CPU' && )$(if $(NVCC),$(NVCC) $(NVCC_FLAGS) -MMD -MP -MF $@.d -MT $@ -fatbin -o $@ $< >$@.log 2>&1 || { cat $@.log; exit 1; },: >$@)

$(BUILD)/kernels/gpu/gpu_images.o: $(FATBINS)
$(BUILD)/kernels/gpu/gpu_images.o: private CFLAGS += $(addprefix -Xassembler -I,$(sort $(dir $(FATBINS))))

$(BUILD)/daemon/front/http/http_page.o: daemon/front/http/openapi.yaml $(wildcard daemon/front/http/page/*)

# Otsu's level is the same on every machine: no product and sum in one rounding, which arm64 would have.
$(BUILD)/kernels/levels/levels.o: private CFLAGS += -ffp-contract=off

# Change when the flags do (prefix, CI, SANITIZE; SMS), so that everything is built again.
$(BUILD)/flags: text = $(CC) $(subst ',,$(CPPFLAGS) $(CFLAGS))
$(BUILD)/nvcc-flags: text = $(if $(NVCC),$(NVCC) $(NVCC_FLAGS))
$(BUILD)/nvcc-flags: news = $(if $(NVCC),kernels for $(BUILT_SMS)$(if $(filter $(OWN_SMS),$(SMS)), alone: the GPU of this machine (SMS=all: every GPU)))
$(BUILD)/flags $(BUILD)/nvcc-flags: FORCE
	@mkdir -p $(@D)
	@echo '$(text)' | cmp -s - $@ || { echo '$(text)' >$@$(if $(news), && echo '  $(news)'); }

clean: ## remove build/, test beds included
	rm -rf $(BUILD)

help: ## this list
	@sed -nE 's/^([a-z0-9-]+):[^#]*## (.*)/  make \1\t\2/p' Makefile tests/tests.mk scripts/install.mk | expand -t 22

include tests/tests.mk scripts/install.mk
-include $(shell find $(wildcard $(addprefix $(BUILD)/,board capture config daemon kernels tests)) /dev/null -name '*.d')
