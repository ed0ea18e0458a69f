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
# DVC says of a full disk in tracebacks what this says in a line.
free_mib=$(df -Pm . 2>/dev/null | awk 'NR == 2 {print $4}')
if [ "$status" != 0 ] && [ "${free_mib:-64}" -lt 64 ]; then
    echo "make: $free_mib MiB are free here; make room and run the same again" >&2
fi
exit "$status"
