"""A whole run that has passed is remembered with its commit, in pytest's cache: scripts/release.py looks."""

import subprocess


def remember(session):
    """Which commit a whole run has passed for: `make release` looks."""
    config = session.config
    whole = config.args_source is config.ArgsSource.TESTPATHS and not config.option.keyword
    if whole and session.exitstatus == 0:
        git = ["git", "-C", config.rootpath]
        changed = subprocess.run([*git, "status", "--porcelain"], capture_output=True, text=True, check=False)
        commit = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
        if commit.returncode == 0 and not changed.stdout:
            config.cache.set("cachezoo/passed", {"commit": commit.stdout.strip(), "lane": config.option.markexpr})
