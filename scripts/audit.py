"""Hold the locks against the published vulnerabilities: `audit.py [--if-reachable]`. Nothing is installed.

Asks OSV (osv.dev), where PyPI's advisories and GitHub's are, by the name and version of each package. Exits 1 where one
has a vulnerability, and where the service does not answer; with --if-reachable the latter is one line on stderr and no
error, so that `make lint` works offline. OSV_URL names a mirror.
"""

import os
import subprocess
import sys

import requests

from scripts.locks import DEV, RUN

SERVICE = "https://api.osv.dev/v1/query"
# A package that is no more than a question whether the service answers: pip-audit itself takes a 404 or a proxy's page
# for an error like any other.
PROBE = {"package": {"name": "pip", "ecosystem": "PyPI"}, "version": "0"}
SECONDS = 15
CACHE = ".cache/pip-audit"
# Vulnerabilities that do not concern us, by id, and why: {"PYSEC-2026-1": "is in a part that nothing here runs"}.
IGNORED: dict[str, str] = {}


def unreachable(service: str) -> str:
    """Why the service cannot be asked; empty where it can."""
    try:
        answer = requests.post(service, json=PROBE, timeout=SECONDS)
        answer.raise_for_status()
        return "" if isinstance(answer.json(), dict) else "it answers something else"
    except requests.RequestException as error:
        return type(error).__name__ if error.response is None else f"status {error.response.status_code}"


def main(words: list[str]) -> int:
    """`audit.py [--if-reachable]`; the exit status."""
    service = os.environ.get("OSV_URL", SERVICE)
    if why := unreachable(service):
        sys.stderr.write(f"audit: NOT MADE: {service} cannot be asked ({why}); where it can, run: make audit\n")
        return 0 if words == ["--if-reachable"] else 1
    audit = [sys.executable, "-m", "pip_audit", "--disable-pip", "--strict", "-r", str(RUN), "-r", str(DEV)]
    audit += ["--vulnerability-service", "osv", "--osv-url", service, "--progress-spinner", "off", "--cache-dir", CACHE]
    audit += [word for name in sorted(IGNORED) for word in ("--ignore-vuln", name)]
    return subprocess.run(audit, check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
