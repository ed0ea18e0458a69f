"""Who splits a cache among applications best: pages read from the disk, beside the best fixed split and equal parts.

    python benchmarks/share.py --choose      # G-VPA's and UCP's settings, on mixes of training traces alone; 20 minutes
    python benchmarks/share.py               # every partitioner on mixes of test traces, and of public ones
    python benchmarks/share.py --halves      # five captures of unseen programs: learned on a half, judged on the other
    python benchmarks/share.py --speed       # references a second and memory, 4 to 64 applications

Mixes of 2, 4, 8 and 16 applications are drawn with a seed, in lockstep as in the paper, for caches of 2, 10 and 30 % of
their pages. The goal: G-VPA's total transfers within 5 % of the best fixed split's on every mix, and never above those
of equal parts.
"""

import argparse
import itertools
import os
import resource
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from cachezoo.contest.choice import Goal
from cachezoo.questions.share.case import Case, counted_from
from cachezoo.questions.share.mix import Application, Mix, by_clock, lockstep, mix_pages, reference_times
from cachezoo.questions.share.partitioners import parse
from cachezoo.seeds import derive_seed
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.read import read_any
from cachezoo.yaml_file import read_yaml

ROOT = Path(__file__).resolve().parents[1]
COUNTS, SIZES, DRAWN, SEED = (2, 4, 8, 16), (0.02, 0.10, 0.30), {"train": 2, "test": 2}, 11
FRAGMENT = 256
MOST_REQUESTS, HALF_SIZES = 60_000, (0.05, 0.20)
# Captures of programs that no model or setting was fitted to.
HELD_OUT = {"database_mariadb": "captured", "web_lighttpd": "captured", "mariadb_a": "corpus/database",
            "git_a": "corpus/fileserver", "dovecot_a": "corpus/mail"}  # fmt: skip
FAIR = (
    "shared", "shared(policy=lirs)", "shared(policy=s3fifo)", "shared(policy=wtinylfu)", "shared(policy=auto)", "equal",
    "equal(policy=auto)", "proportional", "learned(policy=lru)", "learned(policy=lru|arc|lirs|s3fifo)", "learned",
    "learned(by=lookahead)", "learned(talus=1)",
    "ucp", "ucp(policy=lru|s3fifo)", "climb", "gvpa",
)  # fmt: skip
OURS = "gvpa(alpha=0.98, cost=1, fill=0.5, reach=64)"
PLAIN = ("gvpa", "gvpa(cost=1)", OURS, "equal", "proportional", "shared", "shared(policy=s3fifo)", "ucp", "hindsight")
TIMED = (
    "gvpa",
    OURS,
    "equal",
    "ucp",
    "climb",
    "learned(policy=lru)",
    "learned(policy=lru|s3fifo)",
    "ucp(policy=s3fifo)",
)
PUBLIC = {
    "cloudphysics": ("block/cloudphysics_us.csv.gz", "auto", {}),
    "hp_ajw": ("block/hp_ajw.srt.gz", "auto", {}),
    "ms_dtrs": ("block/ms_dtrs.disksim.gz", "auto", {}),
    "postmark_ssd": ("block/postmark.disksim.gz", "auto", {}),
    "OLTP": ("lbn/OLTP.lis.zst", "lis", {}),
    "P2": ("lbn/P2.lis.zst", "lis", {}),
}
TRAIN_PAPER = ((0.0, 0.5, 1.0, 2.0), (1, 4, 16))  # cost, reach; all else the paper's
TRAIN_SLOW = ((4, 64), (10000, 50000), (0.5, 0.95, 1.0))  # with cost 1: reach, q, alpha
TRAIN_FILL = (
    (0.25, 0.5, 1, 2),
    (4, 16),
    ((2000, 0.95), (2000, 0.98), (5000, 0.95)),
)  # with cost 1: fill, reach, q, alpha
TRAIN_FAR = (
    "gvpa(cost=1, fill=0.5, reach=64)", "gvpa(alpha=0.98, cost=1, fill=0.5, reach=64)",
    "gvpa(q=5000, cost=1, fill=0.25, reach=64)", "gvpa(q=5000, cost=1, fill=0.5, reach=64)",
    "gvpa(q=5000, cost=1, fill=1, reach=64)", "gvpa(q=5000, cost=1, fill=0.5, step=4, reach=64)",
)  # fmt: skip
TRAIN_WINDOW = (2000, 10000, 20000, 50000, 200000)


def captured(role: str) -> dict[str, Path]:
    """Prepared traces of that role: one of each category, and the corpus's."""
    matrix: Any = read_yaml(ROOT / "conf/matrix.yaml")
    own = {f"{name}_{role}": ROOT / f"data/requests/{name}/{name}_{role}.parquet" for name in
           ("database", "fileserver", "mail", "web")}  # fmt: skip
    corpus = {
        key: ROOT / f"data/corpus/{entry['category']}/{key}.parquet"
        for key, entry in matrix["corpus"].items() if entry["role"] == role
    }  # fmt: skip
    return own | corpus


def applications(role: str) -> dict[str, Application]:
    """Captured applications of a role, those of the tests with the public ones where there are any."""
    found = {}
    for name, path in captured(role).items():
        found[name] = (path, "auto", {})
    folder = os.environ.get("CACHEZOO_PUBLIC_TRACES")
    if role == "test" and folder:
        found |= {name: (Path(folder) / file, fmt, options) for name, (file, fmt, options) in PUBLIC.items()}
    out = {}
    for name, (path, fmt, options) in found.items():
        pages = expand_pages(read_any(path, fmt, options=options, quiet=True))
        out[name] = Application(name, pages.page_ids, pages.n_pages)
    return out


def mixes(known: dict[str, Application], role: str) -> list[tuple[str, Mix]]:
    """Mixes drawn with a seed, and, of the tests, one of all public applications."""
    names, found = sorted(known), list[tuple[str, list[str]]]()
    for count, turn in itertools.product(COUNTS, range(DRAWN[role])):
        rng = np.random.default_rng(derive_seed(SEED, "share", role, count, turn))
        found.append((f"{count}{'abcd'[turn]}", [names[k] for k in rng.permutation(len(names))[:count]]))
    if set(PUBLIC) <= set(names):
        found.append(("public", sorted(PUBLIC)))
    return [(name, mix_pages([known[one] for one in own])) for name, own in found]


def cases(role: str) -> Iterator[tuple[str, Case]]:
    """Mixes with each size of cache, in whole fragments; page times are no part of what is compared."""
    for name, mix in mixes(applications(role), role):
        for size in SIZES:
            pages = max(int(size * mix.n_pages) // FRAGMENT, 2 * mix.count) * FRAGMENT
            start = counted_from(mix, "auto", pages)
            yield f"{name} {100 * size:.0f}%", Case.of(mix, pages, np.zeros(mix.count), start)


def ratios(texts: list[str], role: str) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Names of cases; their transfers a reference of each text, and of the best fixed split, equal parts."""
    names, own, base = [], [], []
    for name, case in cases(role):
        names.append(name)
        own.append([case.score(parse(text)).transfers for text in texts])
        base.append([case.score(parse(text)).transfers for text in ("static-best", "equal")])
        case.mix.__dict__.pop("page_ids", None)
        print(name, *base[-1], *own[-1], file=sys.stderr, flush=True)
    return names, np.array(own), np.array(base)


def verdict(own: np.ndarray, base: np.ndarray) -> list[list[str]]:
    """Of each text: mean and greatest ratio to both, cases within 5 %, cases above equal parts."""
    best, equal = own / base[:, :1], own / base[:, 1:]
    return [
        [f"{best[:, k].mean():.4f}", f"{best[:, k].max():.4f}", f"{equal[:, k].mean():.4f}", f"{equal[:, k].max():.4f}",
         f"{int((best[:, k] <= 1.05).sum())}/{len(own)}", f"{int((equal[:, k] > 1).sum())}/{len(own)}"]
        for k in range(own.shape[1])
    ]  # fmt: skip


HEAD = ["partitioner", "mean of best", "max of best", "mean of equal", "max of equal", "within 5 %", "above equal"]


def show(rows: list[list[str]]) -> None:
    """A Markdown table."""
    print("| " + " | ".join(rows[0]) + " |\n|" + "---|" * len(rows[0]))
    for row in rows[1:]:
        print("| " + " | ".join(row) + " |")


def choose() -> None:
    """Every setting on the training mixes, least mean ratio to the best fixed split first."""
    texts = [f"gvpa(cost={c}, reach={r})" for c, r in itertools.product(*TRAIN_PAPER)]
    texts += [f"gvpa(cost=1, reach={r}, q={q}, alpha={a})" for r, q, a in itertools.product(*TRAIN_SLOW)]
    texts += [
        f"gvpa(cost=1, fill={fill}, reach={r}, q={q}, alpha={a})" for fill, r, (q, a) in itertools.product(*TRAIN_FILL)
    ]
    texts += TRAIN_FAR
    texts += [f"ucp(window={w})" for w in TRAIN_WINDOW]
    _, own, base = ratios(texts, "train")
    order = np.argsort((own / base[:, :1]).mean(axis=0), kind="stable")
    said = verdict(own, base)
    show([HEAD, *([str(parse(texts[k])), *said[k]] for k in order)])


def table() -> None:
    """Every partitioner on the test mixes."""
    names, own, base = ratios(list(PLAIN), "test")
    show([["mix, cache", *PLAIN], *([name, *(f"{own[i, k] / base[i, 0]:.3f}" for k in range(len(PLAIN)))]
                                   for i, name in enumerate(names))])  # fmt: skip
    print("\ntransfers, the best fixed split's being 1; beside the goal:\n")
    show([HEAD, *([text, *said] for text, said in zip(PLAIN, verdict(own, base), strict=True))])


def in_halves(order: str) -> tuple[Mix, int]:
    """Five captures, the first half of each, then the second half of each; and where the second halves begin.

    Args:
        order: within each half, by the clocks from its own beginning on, or in lockstep.
    """
    own, times, cuts = list[Application](), list[Any](), list[int]()
    for name, folder in HELD_OUT.items():
        trace = read_any(ROOT / f"data/raw/{folder}/{name}.parquet", "auto", quiet=True)
        trace = trace.take(np.arange(min(MOST_REQUESTS, len(trace))))
        pages = expand_pages(trace)
        cuts.append(int(pages.request_start[len(trace) // 2]))
        own.append(Application(name, pages.page_ids, pages.n_pages))
        times.append(reference_times(trace, pages.request_start))
    halves = [[one[:cut] for one, cut in zip(times, cuts, strict=True)],
              [one[cut:] for one, cut in zip(times, cuts, strict=True)]]  # fmt: skip
    app = [by_clock([one - one[0] for one in half]) if order == "clock" else lockstep([len(one) for one in half])
           for half in halves]  # fmt: skip
    return Mix(tuple(own), np.concatenate(app), order), len(app[0])


def halves() -> None:
    """Transfers of the second halves, by what was learned on the first: 5 and 20 % of the pages, both orders."""
    rows = [["partitioner", *(f"{order} {100 * size:.0f} %" for order in ("clock", "lockstep") for size in HALF_SIZES)]]
    cells: dict[str, list[str]] = {text: [] for text in FAIR}
    for order in ("clock", "lockstep"):
        mix, first = in_halves(order)
        for size in HALF_SIZES:
            case = Case.of(mix, int(size * mix.n_pages), np.zeros(mix.count), np.full(mix.count, first))
            base = case.score(parse("shared"))
            for text in FAIR:
                own = case.score(parse(text))
                low, high = own.lead(base, Goal.COST).ends
                cells[text].append(f"{own.transfers:.4f} ({100 * low:.1f}, {100 * high:.1f})")
                print(order, size, text, *own.shared.policies, cells[text][-1], file=sys.stderr, flush=True)
    show(rows + [[text, *own] for text, own in cells.items()])


def speed() -> None:
    """References a second of one thread, and the most memory so far; queues and stack distances apart."""
    rows = [["applications", "references", "queues", *TIMED, "memory"]]
    rng = np.random.default_rng(derive_seed(SEED, "share", "speed"))
    mix_pages([Application(name, np.zeros(9, np.int32), 1) for name in "ab"]).moves("lru", 9)  # compiles
    for count in (4, 16, 64):
        length = 4_000_000 // count
        own = [Application(str(a), (rng.zipf(1.2, length) % 40000).astype(np.int32), 40000) for a in range(count)]
        mix, pages = mix_pages(own), 512 * FRAGMENT
        rates = [_rate(lambda mix=mix: mix.moves("lru", 262144), len(mix))]
        _ = mix.distance
        counted = np.arange(len(mix)) >= len(mix) // 2
        for text in TIMED:
            parse(text).run(mix, pages, counted)
            mix.measured.clear()
            work = partial(parse(text).run, mix, pages, counted)
            rates.append(_rate(work, len(mix)))
        memory = f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MiB"
        rows.append([f"{count}", f"{len(mix):,}", *rates, memory])
    show(rows)


def _rate(work: Callable[[], object], references: int) -> str:
    start = time.process_time()
    work()
    return f"{references / (time.process_time() - start) / 1e6:.1f} M/s"


def main() -> None:
    """Parse options and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--choose", action="store_true", help="settings, on training traces")
    parser.add_argument("--halves", action="store_true", help="learned on a half, judged on the other")
    parser.add_argument("--speed", action="store_true", help="references a second")
    given = parser.parse_args()
    (choose if given.choose else halves if given.halves else speed if given.speed else table)()


if __name__ == "__main__":
    sys.exit(main())
