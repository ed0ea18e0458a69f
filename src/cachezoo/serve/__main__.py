"""`cachezoo-serve`: the command of the package for servers."""

from __future__ import annotations

import argparse
import json
import sys

from cachezoo.serve import run, words
from cachezoo.serve.options import OPTIONS, settings
from cachezoo.serve.words import ServeError

COMMANDS = ("status", "stop", "reload", "attach")
START_HELP = "Serve a disk through a cache on an SSD, until Ctrl-C or stop."
HELP = {
    "status": "Show hits, times, SSD writes and faults.",
    "stop": "Write everything to the disk and stop; status 1 if that fails.",
    "reload": "Change the policy without stopping; not in mode back.",
    "attach": "Replace a failed SSD without stopping; not in mode back.",
}
CONFIG_HELP = "File with these options."
OPTION_HELP = "Filter option; repeatable."
CHECK_HELP = "Only check and print what would run."
BACKGROUND_HELP = "Return once it serves."
JSON_HELP = "Print JSON."


def parser() -> argparse.ArgumentParser:
    """The grammar of the command; words that are no command are those of a start."""
    also = f"Also: cachezoo-serve {'|'.join(COMMANDS)} [NAME]; each has --help."
    top = argparse.ArgumentParser(prog="cachezoo-serve", description=START_HELP, epilog=also, allow_abbrev=False)
    top.add_argument("disk", metavar="DISK", nargs="?", help="Block device or file to cache.")
    for name, option in OPTIONS.items():
        top.add_argument(f"--{name}", metavar=option.metavar, help=option.help.replace("%", "%%"))
    top.add_argument("--config", metavar="FILE", help=CONFIG_HELP)
    top.add_argument("--option", metavar="cz-KEY=VALUE", action="append", default=[], help=OPTION_HELP)
    top.add_argument("--check", action="store_true", help=CHECK_HELP)
    top.add_argument("--background", action="store_true", help=BACKGROUND_HELP)
    top.add_argument("--json", action="store_true", help=JSON_HELP)
    return top


def _later(command: str) -> argparse.ArgumentParser:
    own = argparse.ArgumentParser(prog=f"cachezoo-serve {command}", description=HELP[command], allow_abbrev=False)
    own.add_argument("name", metavar="NAME", nargs="?", help="Served disk; default the only one.")
    wanted = {"reload": ("policy", "promise"), "attach": ("ssd", "size", "format", "label")}.get(command, ())
    for name in wanted:
        option = OPTIONS[name]
        own.add_argument(
            f"--{name}", metavar=option.metavar, help=option.help.replace("%", "%%"), required=name == "ssd"
        )
    if command == "status":
        own.add_argument("--json", action="store_true", help=JSON_HELP)
    return own


def act(words_given: list[str]) -> int:
    """Do what a command line says; the exit status.

    Raises:
        ServeError: it cannot be done, in one line.
    """
    command = words_given[0] if words_given and words_given[0] in COMMANDS else None
    if command is None:
        asked = parser().parse_args(words_given)
        given = {name: getattr(asked, name.replace("-", "_")) for name in OPTIONS}
        wanted = settings(asked.disk, given, asked.option, asked.config)
        if asked.check:
            line = run.check(wanted)
            sys.stdout.write(f"{json.dumps({'command': line}) if asked.json else words.plain(line)}\n")
            return 0
        return run.start(wanted, asked.json, asked.background)
    asked = _later(command).parse_args(words_given[1:])
    if command == "status":
        run.status(asked.name, asked.json)
        return 0
    if command == "stop":
        said = run.stop(asked.name)
    elif command == "reload":
        said = run.reload(asked.name, asked.policy, asked.promise)
    else:
        said = run.attach(asked.name, asked.ssd, asked.size, asked.format, asked.label)
    sys.stdout.write(f"{words.plain(said)}\n")
    return 0


def main() -> None:
    """Run the command; an expected error is one line, and status 1."""
    try:
        status = act(sys.argv[1:])
    except ServeError as error:
        words.say(f"cachezoo-serve: {error}")
        status = 1
    except OSError as error:
        words.say(f"cachezoo-serve: {words.of_system(error)}")
        status = 1
    except KeyboardInterrupt:
        status = 130
    raise SystemExit(status)


if __name__ == "__main__":
    main()
