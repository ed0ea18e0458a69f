/* The control socket: one command a connection, answered with a JSON document. */
#ifndef CZ_CONTROL_H
#define CZ_CONTROL_H

#include <stdio.h>

#include "opened.h"

/* Whether the socket can be made: before nbdkit goes to the background. -1 after a message. */
int control_check(const char *path);
/* Make it, and serve from a thread; `status` prints the document. -1 after a message. */
int control_begin(const char *path, opened *opened, void (*status)(FILE *file));
void control_end(void);

#endif
