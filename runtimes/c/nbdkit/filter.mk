# The nbdkit filter: make filter; needs nbdkit-plugin-dev. It holds the library. Included by the Makefile.
FILTER_SOURCES := $(sort $(wildcard $(HERE)/nbdkit/*.c))
FILTER_OBJECTS := $(patsubst $(HERE)/nbdkit/%.c,$(BUILD)/filter/%.o,$(FILTER_SOURCES))
FILTERDIR ?= $(shell nbdkit --dump-config | sed -n 's/^filterdir=//p')

.PHONY: filter install-filter
filter: $(BUILD)/nbdkit-cachezoo-filter.so

$(BUILD)/filter/%.o: $(HERE)/nbdkit/%.c $(HERE)/nbdkit/filter.mk $(HERE)/Makefile
	@mkdir -p $(@D)
	$(CC) $(CZ_CFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/nbdkit-cachezoo-filter.so: $(FILTER_OBJECTS) $(BUILD)/libcachezoo.a
	$(CC) -shared $(CFLAGS) $(EXTRA_CFLAGS) $(LDFLAGS) $^ -o $@ $(CZ_LDLIBS)

install-filter: filter
	install -D -m 644 $(BUILD)/nbdkit-cachezoo-filter.so $(DESTDIR)$(FILTERDIR)/nbdkit-cachezoo-filter.so

-include $(FILTER_OBJECTS:.o=.d)
