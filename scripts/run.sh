#!/bin/sh
# A program of a make target: run.sh PROGRAM ARGUMENTS... Ctrl-C is no error: the program says what it has to say, and
# make, which would print "*** Error 130", ends by the signal itself, of which it says nothing.
trap : INT
status=0
"$@" || status=$?
if [ "$status" = 130 ]; then
    kill -INT "$PPID"
    exit 0
fi
exit "$status"
