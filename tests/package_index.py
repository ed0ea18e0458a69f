"""A package index on the loopback, its packages, and the pins of these."""

import hashlib
import io
import tarfile
import zipfile
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from scripts.locks import Pin
from tests.loopback import served


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def wheel(folder: Path, name: str, version: str = "1.0", needs=(), tag: str = "py3-none-any", files=()) -> Path:
    """Make a wheel: of one empty module, or of files with their texts."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{version}-{tag}.whl"
    said = [f"Name: {name}", f"Version: {version}", *(f"Requires-Dist: {need}" for need in needs)]
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        for inner, text in dict(files or {f"{name}.py": ""}).items():
            archive.writestr(inner, text)
        archive.writestr(f"{info}/METADATA", "\n".join(["Metadata-Version: 2.1", *said, ""]))
        archive.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n")
        archive.writestr(f"{info}/RECORD", "")
    return path


def source(folder: Path, name: str, version: str = "1.0") -> Path:
    """Make a source archive with one module and a setup.py."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{version}.tar.gz"
    files = {
        "PKG-INFO": f"Metadata-Version: 2.2\nName: {name}\nVersion: {version}\n",
        "setup.py": f"from setuptools import setup\nsetup(name={name!r}, version={version!r}, py_modules=[{name!r}])\n",
        f"{name}.py": "",
    }
    with tarfile.open(path, "w:gz") as archive:
        for inner, text in files.items():
            entry = tarfile.TarInfo(f"{name}-{version}/{inner}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return path


def pin(name: str, *files: Path, version: str = "1.0") -> str:
    """The lines of a lock for a package with these files."""
    return Pin(name, version, tuple(map(sha256, files))).lines()


@contextmanager
def serving(root: Path):
    """Serve each folder of `root` as an index of its own; gives the address and the list of paths asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            index, *rest = self.path.strip("/").split("/")
            if rest[:1] == ["files"]:
                body = (root / index / rest[1].replace("%2B", "+")).read_bytes()
            else:
                files = [path for path in sorted((root / index).iterdir()) if path.name.split("-")[0] == rest[0]]
                links = [f'<a href="/{index}/files/{p.name}#sha256={sha256(p)}">{p.name}</a><br>\n' for p in files]
                body = f"<!DOCTYPE html><html><body>\n{''.join(links)}</body></html>\n".encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        do_HEAD = do_GET

        def log_message(self, *words):
            pass

    with served(Handler) as url:
        yield url, asked
