"""A client of C projects: edits some sources or resources and builds, builds all anew, searches, installs."""

import random
import shutil
from pathlib import Path

from tools.capture.clients.common import main
from tools.capture.clients.trees import TreeClient, call

LIBRARY_UNITS = 16
HEADER_LINES = 1500
# Sources include the project's header and embed a resource, as programs do with pictures and fonts.
MAKEFILE = """UNITS := {units}
LIBRARIES := {libraries}
CFLAGS := -O0 -g -pipe
program: main.o $(LIBRARIES)
\tgcc -o $@ main.o -Wl,--start-group $(LIBRARIES) -Wl,--end-group
main.o: main.c
\tgcc $(CFLAGS) -c -o $@ $<
u%.o: u%.c r%.bin project.h
\tgcc $(CFLAGS) -c -o $@ $<
{rules}
clean:
\trm -f program *.o *.a
"""
UNIT = """#include "project.h"
__asm__(".section .rodata\\n.balign 16\\nresource_{unit}: .incbin \\"r{unit}.bin\\"\\n.previous\\n");
extern const unsigned char resource_{unit}[];
/* {edit} */
int unit_{unit}(int at) {{ return resource_{unit}[at] + {edit}; }}
"""


def make(folder: Path, draw: random.Random, sizes: list[int]) -> None:
    """Write a project.

    Args:
        folder: of the project.
        draw: of its content.
        sizes: bytes of the resources, one for each unit.
    """
    folder.mkdir(parents=True)
    units = [f"{number:05d}" for number in range(len(sizes))]
    parts = [units[first : first + LIBRARY_UNITS] for first in range(0, len(units), LIBRARY_UNITS)]
    libraries = [f"l{number:03d}.a" for number in range(len(parts))]
    rules = [
        f"{library}: {' '.join(f'u{unit}.o' for unit in part)}\n\trm -f $@ && ar rcs $@ $^"
        for library, part in zip(libraries, parts, strict=True)
    ]
    text = MAKEFILE.format(units=" ".join(units), libraries=" ".join(libraries), rules="\n".join(rules))
    (folder / "Makefile").write_text(text)
    header = "\n".join(f"int declared_{line}(int a, int b); /* line {line} */" for line in range(HEADER_LINES))
    (folder / "project.h").write_text(header + "\n")
    calls = " + ".join(f"unit_{unit}(0)" for unit in units)
    declared = "\n".join(f"int unit_{unit}(int at);" for unit in units)
    (folder / "main.c").write_text(f"{declared}\nint main(void) {{ return {calls} > 0; }}\n")
    for unit, size in zip(units, sizes, strict=True):
        (folder / f"u{unit}.c").write_text(UNIT.format(unit=unit, edit=0))
        (folder / f"r{unit}.bin").write_bytes(draw.randbytes(size))


class Build(TreeClient):
    """Each operation is on one project."""

    def edits(self) -> None:
        """Change some sources and resources, and build what depends on them."""
        with self.tree() as folder:
            for number in self.files():
                if self.random.random() < 0.5:
                    text = UNIT.format(unit=f"{number:05d}", edit=self.random.randrange(10**6))
                    (folder / f"u{number:05d}.c").write_text(text)
                else:
                    (folder / f"r{number:05d}.bin").write_bytes(self.random.randbytes(self.size()))
            self._make(folder)

    def rebuilds(self) -> None:
        """Build everything anew."""
        with self.tree() as folder:
            call(["make", "-s", "-C", str(folder), "clean"])
            self._make(folder)

    def searches(self) -> None:
        """Look for a word in all files of a project."""
        with self.tree() as folder:
            call(["grep", "-r", "-q", "-F", "no text has this", str(folder)], accepted=(0, 1))

    def installs(self) -> None:
        """Copy a program and its libraries to where they are used."""
        with self.tree() as folder:
            target = self.scratch / folder.name
            shutil.rmtree(target, ignore_errors=True)
            target.mkdir(parents=True)
            for path in (*folder.glob("*.a"), folder / "program"):
                if path.exists():
                    shutil.copy(path, target)

    @staticmethod
    def _make(folder: Path) -> None:
        # What an edit that was cut off left half made is made again.
        call(["make", "-s", "-C", str(folder)])


if __name__ == "__main__":
    main(Build)
