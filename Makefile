# One Makefile for everything. build/ mirrors the tree; BUILD=DIR puts the results elsewhere.
#
#   make             the programs            make check      the same, then unit, golden, e2e tests
#   make run         build and stream        make check-vm   real systemd, real kernel with a camera
#   make install     DESTDIR and prefix      make help       all targets

BUILD ?= build
prefix ?= /usr/local
bindir ?= $(prefix)/bin
libexecdir ?= $(prefix)/libexec
mandir ?= $(prefix)/share/man
sysconfdir ?= /etc
VERSION := 0.1.0

CC ?= cc
PYTHON ?= /usr/bin/python3
PACKAGES := gstreamer-1.0 gstreamer-app-1.0 gstreamer-video-1.0 gstreamer-allocators-1.0 \
            gstreamer-rtsp-server-1.0 json-glib-1.0 libconfig libmicrohttpd libv4l2 libsystemd libturbojpeg
# The oldest systems edged supports (JetPack 5): newer API of these libraries does not compile.
FLOORS := -DGLIB_VERSION_MIN_REQUIRED=GLIB_VERSION_2_64 -DGLIB_VERSION_MAX_ALLOWED=GLIB_VERSION_2_64 \
          -DJSON_VERSION_MIN_REQUIRED=JSON_VERSION_1_4 -DJSON_VERSION_MAX_ALLOWED=JSON_VERSION_1_4 \
          -DGST_DISABLE_DEPRECATED

WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla $(if $(CI),-Werror)
OPTIMIZE ?= -O2
SANITIZERS := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-omit-frame-pointer -fno-sanitize-recover=all)
CPPFLAGS += -I. -D_GNU_SOURCE $(FLOORS) -DEDGED_VERSION='"$(VERSION)"' \
            -DEDGED_LIBEXECDIR='"$(libexecdir)"' -DEDGED_SYSCONFDIR='"$(sysconfdir)"'
CFLAGS += -std=gnu17 $(OPTIMIZE) -g -fPIC -pthread $(WARNINGS) $(SANITIZERS)
LDFLAGS += -pthread $(SANITIZERS)
# Evaluated in recipes only, so that `make setup` works before the packages are there.
PACKAGE_CFLAGS = $(shell pkg-config --cflags $(PACKAGES))
LDLIBS = $(shell pkg-config --libs $(PACKAGES)) -lm

# Every .c of these folders is part of libedged.a, except the programs' main files.
MAINS := daemon/front/main.c daemon/camera/main.c daemon/ctl/main.c
SOURCES := $(filter-out $(MAINS),$(wildcard config/*.c capture/*.c board/*.c kernels/*.c daemon/*.c daemon/*/*.c))
OBJECTS := $(SOURCES:%.c=$(BUILD)/%.o)
LIBRARY := $(BUILD)/libedged.a
PROGRAMS := $(BUILD)/edged $(BUILD)/edged-camera $(BUILD)/edgectl
UNIT_TESTS := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/unit/test_*.c))
BENCHES := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/bench/bench_*.c))

.PHONY: all setup run check check-unit check-golden check-e2e check-vm bench asan lint install clean help
.DELETE_ON_ERROR:
.SECONDARY:

all: $(PROGRAMS)

setup:
	scripts/setup

$(BUILD)/edged: $(BUILD)/daemon/front/main.o $(LIBRARY)
$(BUILD)/edged-camera: $(BUILD)/daemon/camera/main.o $(LIBRARY)
$(BUILD)/edgectl: $(BUILD)/daemon/ctl/main.o $(LIBRARY)
$(PROGRAMS):
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(LIBRARY): $(OBJECTS)
	rm -f $@ && $(AR) rcs $@ $^

# The CPU kernels are plain loops: the vectorizer needs -O3.
$(BUILD)/kernels/%.o: OPTIMIZE = -O3

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(PACKAGE_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/tests/unit/%: $(BUILD)/tests/unit/%.o $(LIBRARY)
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS) -lcmocka

$(BUILD)/tests/bench/%: $(BUILD)/tests/bench/%.o $(LIBRARY)
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

clean:
	rm -rf $(BUILD)

-include $(OBJECTS:.o=.d) $(MAINS:%.c=$(BUILD)/%.d) $(UNIT_TESTS:=.d) $(BENCHES:=.d)
