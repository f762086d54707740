# What is installed where, Debian packages, and the bundle.

.PHONY: install uninstall deb check-deb bundle bundle-tests

MAN_PAGES := $(wildcard config/*.[1-8] daemon/*/*.[1-8])
# For the shell: its path may have a blank in it.
DEST = $(if $(DESTDIR),'$(DESTDIR)')
INSTALL_UNIT = install -Dm644 $(1) $(DEST)$(2) && sed -i 's|@bindir@|$(bindir)|g; s|@libexecdir@|$(libexecdir)|g; s|@sysconfdir@|$(sysconfdir)|g' $(DEST)$(2)
CONF = $(DEST)$(sysconfdir)/edged/edged.conf
UNITS := $(notdir $(wildcard $(addprefix systemd/*.,service socket path timer)))
# In the folders they are in here, so that their links lead to one another there as well.
DOCUMENTS := LICENSE README.md kernels/events/README.md $(wildcard */README.md) \
             config/fleet/README.md $(wildcard config/fleet/*/*) \
             $(addprefix tests/data/,README.md street-views.jpg page.jpg direction-hues.png)
# All but edged.conf, which is the user's.
INSTALLED = $(addprefix $(bindir)/,edged edgectl) $(addprefix $(libexecdir)/,edged-camera edged-recorder edged-mqtt) $(addprefix $(unitdir)/,$(UNITS)) \
            $(addprefix $(sysusersdir)/,edged.conf edged-mqtt.conf) $(udevrulesdir)/70-edged.rules $(addprefix $(docdir)/,$(DOCUMENTS)) \
            $(addprefix $(completionsdir)/,edged edgectl) \
            $(foreach page,$(MAN_PAGES),$(mandir)/man$(subst .,,$(suffix $(page)))/$(notdir $(page)))
RELOAD = $(if $(DESTDIR),,test ! -d /run/systemd/system || { $(1)systemctl daemon-reload; test ! -S /run/udev/control || udevadm control --reload; })

install: $(PROGRAMS) ## DESTDIR, prefix; an existing edged.conf is kept, the new one put beside it
	install -Dm755 -t $(DEST)$(bindir) $(BUILD)/edged $(BUILD)/edgectl
	install -Dm755 -t $(DEST)$(libexecdir) $(BUILD)/edged-camera $(BUILD)/edged-recorder $(BUILD)/edged-mqtt
	install -Dm644 config/edged.conf $(CONF)$$(test ! -e $(CONF) || echo .new)
	$(foreach document,$(DOCUMENTS),install -Dm644 $(document) $(DEST)$(docdir)/$(document) &&) true
	install -Dm644 scripts/completion.bash $(DEST)$(completionsdir)/edgectl
	ln -sf edgectl $(DEST)$(completionsdir)/edged
	$(foreach page,$(MAN_PAGES),install -Dm644 -t $(DEST)$(mandir)/man$(subst .,,$(suffix $(page))) $(page) &&) true
	$(foreach unit,$(UNITS),$(call INSTALL_UNIT,systemd/$(unit),$(unitdir)/$(unit)) &&) true
	$(call INSTALL_UNIT,systemd/sysusers.conf,$(sysusersdir)/edged.conf)
	$(call INSTALL_UNIT,systemd/sysusers-mqtt.conf,$(sysusersdir)/edged-mqtt.conf)
	$(call INSTALL_UNIT,systemd/70-edged.rules,$(udevrulesdir)/70-edged.rules)
	$(call RELOAD,systemd-sysusers; )

uninstall: ## what install put there, with the same DESTDIR and prefix; edged.conf and its folder stay
	$(if $(DESTDIR),,test ! -d /run/systemd/system || { systemctl stop 'edged-on-motion@*' 'edged-push@*'; \
	    systemctl disable --now edged.socket edged edged-mqtt edged-camera.socket edged-recorder.socket edged-recorder edged-upload.path edged-upload.timer; systemctl disable edged-on-motion@.service edged-push@.service; })
	rm -f $(addprefix $(DEST),$(INSTALLED))
	-cd $(DEST)$(docdir) && rmdir -p --ignore-fail-on-non-empty $(filter-out ./,$(sort $(dir $(DOCUMENTS))))
	-rmdir --ignore-fail-on-non-empty $(DEST)$(docdir)
	$(call RELOAD,)

deb: ## Debian packages in build/deb; ARCH=arm64 crosses to it, as root
	@scripts/setup --group build deb $(if $(ARCH),beds)
	@EDGED_BUILD=$(BUILD) NVCC='$(NVCC)' scripts/deb $(ARCH)

# The packages of a version that is in use, built once, to go back to from these.
LANDED := c3f34404
$(BUILD)/landed-$(LANDED): | deb
	@rm -rf $@.tmp
	@git clone --quiet --no-checkout . $@.tmp && git -C $@.tmp checkout --quiet $(LANDED)
	@cd $@.tmp && EDGED_BUILD=build NVCC= scripts/deb
	@mv $@.tmp $@

# Of another architecture they have a virtual machine, in which the tests with a camera are run as well,
# one machine after the other: emulation takes all that there is.
check-deb: HUNG_S = 3600
check-deb: deb $(if $(ARCH),,$(BUILD)/landed-$(LANDED)) ## these packages by lintian and built twice, then installed, upgraded and purged under a real systemd; ARCH=arm64 emulates one; as root
	@scripts/setup --with beds $(ARCH)
	@lintian --profile debian --fail-on error,warning $(BUILD)/deb/$(or $(ARCH),$$(dpkg --print-architecture))/*.changes
	@EDGED_BUILD=$(BUILD)/again NVCC='$(NVCC)' scripts/deb $(ARCH)
	@scripts/bed-root build/beds$(addprefix -,$(ARCH)) $(ARCH)
	@EDGED_ARCHITECTURE=$(ARCH) EDGED_LANDED=$(BUILD)/landed-$(LANDED)/build/deb/$$(dpkg --print-architecture) \
	    $(PYTEST) $(if $(ARCH),tests/vm,-n 2) tests/deb

bundle: $(PROGRAMS) ## a tarball that runs on machines with nothing installed
	@EDGED_BUILD=$(BUILD) scripts/bundle

bundle-tests: $(PROGRAMS) $(DAEMON_TESTS) ## the same with what tests/gpu/daemon_check.py drives it by
	@EDGED_BUILD=$(BUILD) scripts/bundle --with-tests --output $(BUILD)/bundle-tests.tar.gz
