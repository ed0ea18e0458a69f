#!/bin/sh
# A program of a make target: run.sh PROGRAM ARGUMENTS... Ctrl-C is no error: the program says what it has to say, and
# make, which Ctrl-C reaches too, ends by the signal once this has ended; of another status it would print "*** Error".
# (A second signal from here, while make waits in the first one's handler, may end it with "wait: No child processes".)
interrupted=
trap interrupted=yes INT
status=0
"$@" || status=$?
if [ "$status" = 130 ] && [ "$interrupted" ]; then
    exit 0
fi
exit "$status"
