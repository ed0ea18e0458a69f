"""A server of S3 on the loopback, and what programs have to know of it."""

import contextlib
import logging
from collections.abc import Iterator
from urllib.request import Request, urlopen

import boto3
from moto.server import ThreadedMotoServer

BUCKET = "traces"


class S3:
    """A server with an empty bucket.

    Attributes:
        url: its address.
        env: environment of whoever reads it.
        client: boto3's, which puts objects there.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.env = {
            "AWS_ENDPOINT_URL": url, "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_ACCESS_KEY_ID": "nobody", "AWS_SECRET_ACCESS_KEY": "secret", "NO_PROXY": "127.0.0.1",
        }  # fmt: skip
        keys = {"aws_access_key_id": "nobody", "aws_secret_access_key": "secret"}
        self.client = boto3.client("s3", endpoint_url=url, region_name="us-east-1", **keys)
        self.client.create_bucket(Bucket=BUCKET)

    @contextlib.contextmanager
    def closed(self) -> Iterator[None]:
        """The server heeds rights, of which nobody has any."""
        self._let(b"0")
        try:
            yield
        finally:
            self._let(b"inf")

    def _let(self, requests: bytes) -> None:
        """How many further requests need no rights."""
        with urlopen(Request(f"{self.url}/moto-api/reset-auth", requests, {"Content-Type": "text/plain"})):
            pass


@contextlib.contextmanager
def s3_server() -> Iterator[S3]:
    """A server, for as long as a test needs one."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield S3(f"http://{host}:{port}")
    finally:
        server.stop()
