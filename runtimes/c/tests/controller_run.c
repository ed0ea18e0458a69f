/* Runs the controller of a write rate on reads that missed, for the test that compares it with the simulator's.
 *
 * stdin: double rate (segments a microsecond), horizon (microseconds), credit, low, width, step, keep, keep_recent, hold,
 * follows_load, bins, first threshold; then for each read double time, score, missing, written. stdout: after each read
 * double threshold. */
#include <stdio.h>
#include <stdlib.h>

#include "controller.h"

int main(void) {
    double given[12], row[4];
    if (fread(given, sizeof *given, 12, stdin) != 12)
        return 1;
    cz_control_rules rules = {.there = true,
                              .follows_load = given[9] != 0,
                              .bins = (int64_t)given[10],
                              .low = given[3],
                              .width = given[4],
                              .step = given[5],
                              .keep = given[6],
                              .keep_recent = given[7],
                              .hold = given[8],
                              .horizon_us = given[1],
                              .credit = given[2]};
    cz_controller *controller = cz_controller_new(&rules, given[11]);
    if (!controller)
        return 1;
    controller->rate = given[0];
    while (fread(row, sizeof *row, 4, stdin) == 4) {
        cz_controller_missed(controller, (int64_t)row[0], row[1], (int64_t)row[2], (int64_t)row[3]);
        fwrite(&controller->threshold, sizeof controller->threshold, 1, stdout);
    }
    free(controller);
    return 0;
}
