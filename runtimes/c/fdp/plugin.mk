# The nbdkit plug-in that emulates a drive with placement handles: make fdp; needs nbdkit-plugin-dev. Included by the
# Makefile.
FDP_OBJECTS := $(patsubst $(HERE)/fdp/%.c,$(BUILD)/fdp/%.o,$(sort $(wildcard $(HERE)/fdp/*.c)))

.PHONY: fdp
fdp: $(BUILD)/nbdkit-cachezoo-fdp-plugin.so

$(BUILD)/fdp/%.o: $(HERE)/fdp/%.c $(HERE)/fdp/plugin.mk $(HERE)/Makefile
	@mkdir -p $(@D)
	$(Q)$(CC) $(CZ_CFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/nbdkit-cachezoo-fdp-plugin.so: $(FDP_OBJECTS)
	$(Q)$(CC) -shared $(CFLAGS) $(EXTRA_CFLAGS) $(LDFLAGS) $^ -o $@

-include $(FDP_OBJECTS:.o=.d)
