"""Objects of S3 in the place of files: `s3://bucket/key` is read by ranges, and never copied whole.

Endpoint, region and credentials are those of AWS's own tools: AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID, or a
profile. They are of each machine that reads.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path, PosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from cachezoo.errors import ConfigError, TraceError

CONNECT_S, REQUEST_S, ATTEMPTS = 5, 60, 3
DENIED = ("ACCESS_DENIED", "403", "Access Denied", "Forbidden", "INVALID_ACCESS_KEY_ID", "SIGNATURE_DOES_NOT_MATCH")


def located(text: str | Path) -> Path:
    """A file's path, or the object of S3 that a URL names.

    Raises:
        ConfigError: a URL of another kind, or one without a bucket and a key.
    """
    if isinstance(text, Path) or "://" not in text:
        return Path(text)
    url = urlsplit(text)
    if url.scheme == "file" and url.netloc in ("", "localhost"):
        return Path(unquote(url.path))
    if url.scheme != "s3" or not url.netloc or not url.path.strip("/"):
        raise ConfigError(f"{text}: is no place of a trace; give a file, file:///FOLDER/FILE or s3://BUCKET/KEY")
    if any(part in ("", ".", "..") for part in url.path[1:].split("/")):
        raise ConfigError(f"{text}: has an empty part, . or .. in its key, which is no place of a trace here")
    return Remote(text)


@cache
def _filesystem(endpoint: str | None) -> Any:  # noqa: ANN401 - pyarrow has no types
    """S3, as the environment says."""
    from pyarrow import fs

    retries = fs.AwsStandardS3RetryStrategy(max_attempts=ATTEMPTS)
    options = {"connect_timeout": CONNECT_S, "request_timeout": REQUEST_S, "retry_strategy": retries}
    return fs.S3FileSystem(endpoint_override=endpoint, **options)


class Remote(PosixPath):
    """An object of S3 where a path is wanted: it can be looked at and read."""

    __slots__ = ()

    def __str__(self) -> str:
        return f"s3://{self._name}"

    @property
    def _name(self) -> str:
        """Bucket and key, as pyarrow has them."""
        return "/".join(self.parts[1:])

    @contextmanager
    def _said(self) -> Iterator[Any]:
        """S3, whose answers that are no data are errors of one line.

        Raises:
            FileNotFoundError: there is no such key.
            TraceError: no rights, or S3 does not answer.
        """
        try:
            yield _filesystem(os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL"))
        except FileNotFoundError:
            raise
        except OSError as error:
            said = " ".join(str(error).split())
            if any(word in said for word in DENIED):
                message = f"{self}: S3 gives no right to read it; check AWS_ACCESS_KEY_ID and the bucket's policy"
                raise TraceError(message) from error
            why = said.rpartition("operation: ")[2][:160]
            message = f"{self}: S3 does not give it ({why}); check AWS_ENDPOINT_URL and AWS_REGION"
            raise TraceError(message) from error

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """Size and time of the object; a prefix of others is a folder.

        Raises:
            FileNotFoundError: there is no such key.
            TraceError: there is no such bucket, or see `_said`.
        """
        from pyarrow.fs import FileType

        del follow_symlinks
        with self._said() as s3:
            found = s3.get_file_info(self._name)
            # A bucket needs other rights than its objects, so it is looked at only where one is missing.
            there = found.type != FileType.NotFound or s3.get_file_info(self.parts[1]).type != FileType.NotFound
        if not there:
            raise TraceError(f"{self}: there is no bucket {self.parts[1]}")
        if found.type == FileType.NotFound:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self))
        if found.type == FileType.Directory:
            return os.stat_result((stat.S_IFDIR | 0o555, *[0] * 9))
        at = found.mtime_ns or 0
        whole = (stat.S_IFREG | 0o444, 0, 0, 1, 0, 0, found.size, *[at // 10**9] * 3, *[at / 10**9] * 3, *[at] * 3)
        return os.stat_result(whole)

    def resolve(self, strict: bool = False) -> "Remote":
        """Itself: an object has one name."""
        del strict
        return self

    def open(self, mode: str = "rb", *more: object, **options: object) -> Any:  # type: ignore[override] # noqa: ANN401
        """A stream of its bytes, which can seek.

        Raises:
            FileNotFoundError: there is no such key.
            TraceError: see `_said`.
        """
        del more, options
        if mode != "rb":
            raise OSError(errno.EROFS, "objects of S3 can only be read", str(self))
        with self._said() as s3:
            return s3.open_input_file(self._name)


def source_of(path: Path) -> Any:  # noqa: ANN401 - what pyarrow opens
    """What pyarrow reads: a path, or the open object."""
    return path.open("rb") if isinstance(path, Remote) else path
