"""A client that changes trees and backs them up: rsync's snapshots with hard links, tar's archives, restores."""

import shutil
from pathlib import Path

from tools.capture.clients.common import main
from tools.capture.clients.trees import TreeClient, call

# Rsync: some files vanished before they were read. Tar: a file changed while it was read.
RSYNC_STATUSES, TAR_STATUSES = (0, 24), (0, 1)


class Backups(TreeClient):
    """A tree's copies lie beside it, named by their number."""

    def _copies(self, folder: Path, kind: str) -> list[Path]:
        return sorted(folder.parent.parent.glob(f"{kind}/{folder.name}-*"))

    def _next(self, folder: Path, kind: str, copies: list[Path]) -> Path:
        (folder.parent.parent / kind).mkdir(exist_ok=True)
        number = int(copies[-1].name.rsplit("-", 1)[1]) + 1 if copies else 0
        return folder.parent.parent / kind / f"{folder.name}-{number:06d}"

    def _file(self, folder: Path, number: int) -> Path:
        return folder / f"d{number // self.plan['per_folder']:03d}" / f"f{number:05d}"

    def changes(self) -> None:
        """Write some files of a tree anew."""
        with self.tree() as folder:
            for number in self.files():
                self._file(folder, number).write_bytes(self.random.randbytes(self.size()))

    def reads(self) -> None:
        """Read some files of a tree."""
        with self.tree() as folder:
            for number in self.files():
                self._file(folder, number).read_bytes()

    def snapshots(self) -> None:
        """Copy what has changed since the last snapshot, link the rest to it, and drop the oldest."""
        with self.tree() as folder:
            copies = self._copies(folder, "snapshots")
            link = [f"--link-dest={copies[-1]}"] if copies else []
            target = self._next(folder, "snapshots", copies)
            call(["rsync", "-a", *link, f"{folder}/", f"{target}/"], accepted=RSYNC_STATUSES)
            for old in copies[: len(copies) + 1 - self.plan["keep"]]:
                shutil.rmtree(old)

    def archives(self) -> None:
        """Write a tree to an archive, and drop the oldest."""
        with self.tree() as folder:
            copies = self._copies(folder, "archives")
            target = self._next(folder, "archives", copies)
            call(["tar", "-C", str(folder.parent), "-cf", str(target), folder.name], accepted=TAR_STATUSES)
            for old in copies[: len(copies) + 1 - self.plan["keep"]]:
                old.unlink()

    def restores(self) -> None:
        """Unpack the newest archive of a tree beside what was unpacked before, which goes."""
        with self.tree() as folder:
            copies = self._copies(folder, "archives")
            if copies:
                shutil.rmtree(self.scratch, ignore_errors=True)
                self.scratch.mkdir()
                call(["tar", "-C", str(self.scratch), "-xf", str(copies[-1])])

    def compares(self) -> None:
        """Compare a tree with its newest snapshot, file by file, by their sums."""
        with self.tree() as folder:
            copies = self._copies(folder, "snapshots")
            if copies:
                call(["rsync", "-a", "-n", "-c", f"{folder}/", f"{copies[-1]}/"], accepted=RSYNC_STATUSES)


if __name__ == "__main__":
    main(Backups)
