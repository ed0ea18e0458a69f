"""Kind `workload`: an LSTM that names the category of every window of requests, and the votes of a monitor."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cachezoo.arrays import F32, F64, I64
from cachezoo.errors import ConfigError
from cachezoo.serving import lstm
from cachezoo.serving.kind import BLOCK, LSTM_PRECISIONS, OUTPUT_TOLERANCE, Kind, Recomputed, Session, State
from cachezoo.serving.lstm import Lstm, lstm_cost, softmax
from cachezoo.serving.requests import RequestBatch
from cachezoo.serving.synthetic import GIVEN, READ, WRITE, Script, SyntheticSet, changed, draws_of
from cachezoo.zoo.workload.known import of_votes
from cachezoo.zoo.workload.serve import KEYS, NONE, SECOND_US, UNKNOWN, Monitored, WorkloadServing

STRANGENESS_TOLERANCE = 1e-6  # by which sums of runtimes may differ, as a share
WEIGHTS = "weights.safetensors"
FLOAT_BYTES, REQUEST_BYTES, VOTE_BYTES = 4, 8 + 8 + 8 + 4 + 4, 8
DECISIONS = ("class", "vote", "in_force")


def _serve(manifest: Mapping[str, Any], session: Session) -> WorkloadServing:
    return WorkloadServing(
        **{key: manifest[key] for key in KEYS},
        infer=lambda windows: session.run(["category"], {"features": windows})[0],
    )


def _certain_rows(serving: WorkloadServing, seen: Monitored, rows: int) -> int:
    """Requests before the first window whose class or vote another runtime's last digits could turn."""
    ranked = np.sort(seen.probabilities, axis=1)
    near = (ranked[:, -1] - ranked[:, -2] <= 2 * OUTPUT_TOLERANCE) if ranked.shape[1] > 1 else ranked[:, 0] < 0
    near |= np.isclose(seen.strangeness, serving.unknown_above["window"], rtol=STRANGENESS_TOLERANCE)
    votes = of_votes(seen.strangeness, serving.vote_windows)
    turning = np.isclose(votes, serving.unknown_above["vote"], rtol=STRANGENESS_TOLERANCE)
    near[np.flatnonzero(turning) * serving.vote_windows] = True
    return int(seen.looked_at[np.argmax(near) * serving.window]) if near.any() else rows


def _recompute(serving: WorkloadServing, batch: RequestBatch, context: Mapping[str, Any]) -> Recomputed:
    found, seen = _decided(serving, batch)
    before = np.concatenate([[NONE], seen.in_force[:-1]]) if len(seen.in_force) else seen.in_force
    voted = seen.votes != NONE
    branches = {
        "vote": voted.sum(),
        "switch": ((before != NONE) & (before != seen.in_force)).sum(),
        "outvoted": (voted & (seen.votes != seen.in_force)).sum(),
    }
    if math.isfinite(min(serving.unknown_above.values())):  # bundles without do not count these
        branches |= {"unknown_window": (seen.classes == UNKNOWN).sum(), "unknown_vote": (seen.votes == UNKNOWN).sum()}
    if serving.vote_every_s:
        branches["passed_over"] = len(batch) - len(seen.looked_at)
    counts = found.branches | {name: int(count) for name, count in branches.items()}
    return replace(found, branches=counts, steady=_certain_rows(serving, seen, len(batch)))


def _decided(serving: WorkloadServing, batch: RequestBatch) -> tuple[Recomputed, Monitored]:
    """What a monitor says of requests."""
    seen = serving.run(batch)
    decisions = np.stack([seen.classes, seen.votes, seen.in_force], axis=1).astype(np.int32)
    branches = {"window": len(seen.classes), "rest": int(len(seen.looked_at) % serving.window > 0)}
    return Recomputed(seen.features, seen.probabilities, decisions, branches), seen


class WeightsSession:
    """The model over whole windows on numpy."""

    def __init__(self, manifest: Mapping[str, Any], files: Mapping[str, bytes]) -> None:
        """Read the weights; see `Lstm`."""
        try:
            self._lstm = Lstm(manifest, files[WEIGHTS], {"category": len(manifest["policy"]["classes"])})
        except ValueError as error:
            raise ValueError(f"{WEIGHTS}: {error}") from error

    def run(self, outputs: list[str] | None, inputs: Mapping[str, Any]) -> list[Any]:
        """`category` of `features` float32[B, T, F]."""
        windows = inputs["features"]
        h = c = self._lstm.zeros(len(windows))
        for step in range(windows.shape[1]):
            h, c = self._lstm.step(windows[:, step], h, c)
        return [softmax(self._lstm.head("category", h[-1]))]


def _check(manifest: Mapping[str, Any]) -> None:
    """Raises ConfigError: a limit of what is unknown, and nothing is known."""
    if manifest["policy"].get("unknown_above") and not manifest["calibration"].get("known"):
        raise ConfigError("policy.unknown_above has limits where calibration.known knows no trace")


def _state(manifest: Mapping[str, Any]) -> State:
    """The requests of a window, the network's state over it, and the votes: class and strangeness of each window."""
    arch, policy = manifest["arch"], manifest["policy"]
    network = 2 * int(arch["layers"]) * int(arch["units"]) * FLOAT_BYTES
    return State(network + policy["window"] * REQUEST_BYTES + policy["vote_windows"] * 2 * VOTE_BYTES, 0, "none")


Serve = Callable[[Mapping[str, Any]], WorkloadServing]
SECTOR = 512
WINDOW, VOTE_WINDOWS, VOTES = 8, 2, 12  # of the monitors' sets; a network's own window is as long as in training
GIVEN_WINDOW, GIVEN_VOTE_WINDOWS = 3, 4
FAR_VOTES, FAR_CLIP = 6, 60.0  # the clip lets distances of 2**50 bytes through
PLACES_FAR = tuple((1 << bits) + away * SECTOR for bits in (31, 32, 40, 41, 50) for away in (-9, 0, 9))
NEVER_UNKNOWN = 1e300
EVERY, EVERY_S = "policy.vote_every_s", 3  # of the set whose votes have pauses between them
NEAR = 1e-3  # of a limit to a value, as a share: a hundred times and more what sums of runtimes may differ by
ABOVE = "policy.unknown_above"
# Likeliest class of the four windows of each vote, by place; `t` is a tie of the places 0 and 1, `u` of 1 and 2.
VOTES_GIVEN = (
    "0011", "1110", "0001", "1101", "1111", "0101", "0000", "0110", "0010",
    "0001", "t1t1", "1212", "2121", "2200", "2220", "2u22", "0uu2", "0022",
)  # fmt: skip
PLACES = {"0": (0,), "1": (1,), "2": (2,), "t": (0, 1), "u": (1, 2)}
VOTING = (
    "window", "vote", "first_vote", "switch", "switch_back", "outvoted", "streak_broken", "tie_of_classes",
    "tie_keeps_the_one_in_force", "rest",
)  # fmt: skip
INPUTS = ("overlap", "touching", "apart_alone", "two_volumes", "at_once", "no_time_passes", "write", "cut_by_clip")
PAUSES = ("passed_over", "early_by_1_us", "due_to_the_1_us", "overdue", "waited_for", "cut_short")
STRANGE = ("unknown_window", "known_window", "unknown_vote", "known_vote", "unknown_in_force", "known_again")


def _window_script(requests: int) -> Script:
    """Windows of several kinds in turns: sequential, overlapping, at random, on two volumes, all at one time."""
    draws, script = draws_of("windows"), Script(("one", "two"))
    for k in range(requests):
        style = k // (3 * WINDOW) % 5
        size = int(draws.integers(1, 65)) * SECTOR
        offset, volume = int(draws.integers(1 << 22)) * SECTOR, 0
        if style in (1, 3) and script.rows:
            _, name, before, length, *_ = script.rows[-1]
            offset, volume = before + length, int(name == "two")
        if style == 2:
            offset = int(draws.integers(16)) * SECTOR
        if style in (3, 4):
            volume = int(draws.random() < 0.4)
        script.add(WRITE if draws.random() < 0.1 + 0.2 * style else READ, offset, size, volume)
    return script


def _far_script(requests: int) -> Script:
    """Windows whose requests lie close together and as far apart as a disk is long, in either direction."""
    draws, script = draws_of("far_windows"), Script(("one", "two"))
    for _ in range(requests):
        offset = int(draws.choice((0, *PLACES_FAR))) + int(draws.integers(3)) * SECTOR
        script.add(int(draws.random() < 0.3), offset, int(draws.integers(1, 65)) * SECTOR, int(draws.random() < 0.2))
    return script


def _batch(script: Script) -> RequestBatch:
    """The script's requests; those of every fifth window are issued at one time."""
    batch, requests = script.batch(), len(script.rows)
    times, place = batch.time_us.copy(), np.arange(requests)
    window = place // WINDOW
    first = window * WINDOW
    return replace(batch, time_us=np.where(window % 5 == 4, times[first], times))


def _paused(script: Script, votes: int, length: int) -> RequestBatch:
    """Requests of so many votes and of a part of one more.

    Votes are quick, slower than the pause, quick, and slowed by an hour, in turns. After the first come requests that
    are passed over, the last 1 µs too early; after the third nothing for two hours.
    """
    times, clock = list[int](), 0
    for vote in range(votes):
        gaps = [EVERY_S * SECOND_US // 5 if vote % 4 == 1 else 100] * (length - 1)
        if vote % 4 == 3:
            gaps[length // 3] = 3_600 * SECOND_US
        due = clock + EVERY_S * SECOND_US
        times += (clock + np.cumsum([0, *gaps])).tolist()
        if vote % 4 == 0:
            times += [times[-1] + 40, times[-1] + 40, due - 1]
        clock = due + 7_200 * SECOND_US if vote % 4 == 2 else max(due, times[-1])
    times += [clock + 30 * k for k in range(length // 2 + 1)]
    whole = script.batch().part(0, len(times))
    return replace(whole, time_us=np.array(times, np.int64))


def _given_probabilities(classes: int) -> F32:
    """A row for each window of `VOTES_GIVEN`, where a place that the model does not have is the last one."""
    rows = np.zeros((len(VOTES_GIVEN) * GIVEN_VOTE_WINDOWS, classes), np.float32)
    for row, written in zip(rows, "".join(VOTES_GIVEN), strict=True):
        places = sorted({min(place, classes - 1) for place in PLACES[written]})
        row[places] = 0.75 / len(places)
    return rows


def _has_unknown(manifest: Mapping[str, Any]) -> bool:
    return set(manifest["policy"].get("unknown_above", {})) == {"window", "vote"}


def _no_unknown(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Changes after which all is known."""
    return {ABOVE: {"window": NEVER_UNKNOWN, "vote": NEVER_UNKNOWN}} if _has_unknown(manifest) else {}


def _every(manifest: Mapping[str, Any], seconds: int = 0) -> dict[str, Any]:
    """Changes after which votes have so many seconds from beginning to beginning; earlier bundles do not say."""
    return {EVERY: seconds} if "vote_every_s" in manifest["policy"] else {}


def _limit(values: F64, side: float, share: float) -> float:
    """A limit a little beside the value that so many lie below, so that a sum that is a little wrong crosses it."""
    ordered = np.sort(values)
    for place in range(int(share * len(ordered)), len(ordered)):
        limit = float(ordered[place] * side)
        if not np.isclose(ordered, limit, rtol=NEAR / 100).any():
            return limit
    return float(ordered[-1]) + 1.0


@dataclass(frozen=True)
class _Monitor:
    """Rules of a monitor's set."""

    clip: float  # of the inputs
    votes: int  # windows of a vote, and votes that switch
    side: float  # of the limits, as a factor of the value that they lie beside
    share: float = 0.5  # of the windows and votes that are below that value


def _monitored(
    name: str, manifest: Mapping[str, Any], serve: Serve, batch: RequestBatch, rules: _Monitor
) -> SyntheticSet:
    """A set of given outputs; some of its windows and votes are unknown, where the model may say so."""
    changes: dict[str, Any] = {
        "policy.window": WINDOW, "policy.vote_windows": rules.votes, "policy.switch_votes": rules.votes,
        "policy.clip": rules.clip, **_every(manifest),
    }  # fmt: skip
    if _has_unknown(manifest):
        serving = serve(changed(manifest, changes))
        strange = serving.strangeness(serving.inputs(batch))
        limits = {"window": strange, "vote": of_votes(strange, rules.votes)}
        changes[ABOVE] = {key: _limit(values, rules.side, rules.share) for key, values in limits.items()}
    windows, classes = len(batch) // WINDOW, len(manifest["policy"]["classes"])
    given: F32 = np.full((windows, classes), 0.125, np.float32)
    given[np.arange(windows), np.arange(windows) // 7 % classes] = 0.5
    return SyntheticSet(name, batch, changes, {"outputs": GIVEN}, given)


def _sets(manifest: Mapping[str, Any], serve: Serve) -> list[SyntheticSet]:
    given = _given_probabilities(len(manifest["policy"]["classes"]))
    batch = _batch(_window_script(len(given) * GIVEN_WINDOW + 1))
    watched = _batch(_window_script(WINDOW * VOTE_WINDOWS * VOTES + 3))
    far = _batch(_far_script(WINDOW * VOTE_WINDOWS * FAR_VOTES))
    clip = float(manifest["policy"]["clip"])
    changes: dict[str, Any] = {
        "policy.window": GIVEN_WINDOW, "policy.vote_windows": GIVEN_VOTE_WINDOWS, "policy.switch_votes": 2,
        **_no_unknown(manifest), **_every(manifest),
    }  # fmt: skip
    paused = _paused(
        _window_script(2 * len(batch)), len(given) // GIVEN_VOTE_WINDOWS, GIVEN_WINDOW * GIVEN_VOTE_WINDOWS
    )
    with_pauses = SyntheticSet(
        "votes_paused", paused, {**changes, **_every(manifest, EVERY_S)}, {"outputs": GIVEN},
        np.concatenate([given, given[: GIVEN_VOTE_WINDOWS // 2]]),
    )  # fmt: skip
    return [
        SyntheticSet("votes", batch, changes, {"outputs": GIVEN}, given),
        SyntheticSet("votes_at_once", batch, {**changes, "policy.switch_votes": 1}, {"outputs": GIVEN}, given),
        _monitored("monitor", manifest, serve, watched, _Monitor(clip, VOTE_WINDOWS, 1 + NEAR)),
        _monitored("monitor_cut", manifest, serve, watched, _Monitor(1.5, 1, 1 - NEAR)),
        _monitored("monitor_far", manifest, serve, far, _Monitor(FAR_CLIP, VOTE_WINDOWS, 1 + NEAR, 0.25)),
        *([with_pauses] if _every(manifest) else []),
    ]


def _wanted(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    classes = len(manifest["policy"]["classes"])
    voting = VOTING if classes > 1 else ("window", "vote", "first_vote", "rest")
    among = ("tie_without_the_one_in_force",) if classes > 2 else ()
    strange = STRANGE if _has_unknown(manifest) else ()
    return *voting, *among, *strange, *INPUTS, *(PAUSES if _every(manifest) else ())


def _vote_branches(seen: Monitored, vote_windows: int) -> dict[str, int]:
    """How votes were counted."""
    last = np.arange(vote_windows - 1, len(seen.votes), vote_windows)
    votes, after = seen.votes[last], seen.in_force[last]
    before = np.concatenate([[NONE], after[:-1]])
    found = dict.fromkeys(("tie_keeps_the_one_in_force", "tie_without_the_one_in_force"), 0)
    for place, end in enumerate(last.tolist()):
        counts = np.bincount(seen.likeliest[end + 1 - vote_windows : end + 1])
        tied = np.flatnonzero(counts == counts.max())
        if len(tied) > 1 and votes[place] != UNKNOWN:
            kept = before[place] in tied
            found["tie_keeps_the_one_in_force"] += kept and before[place] != tied[0]
            found["tie_without_the_one_in_force"] += not kept and before[place] >= 0
    switched = (before != NONE) & (before != after)
    outvoted = votes != after
    counted = {name: int(count) for name, count in found.items()}
    return counted | {
        "vote": len(votes),
        "first_vote": min(1, len(votes)),
        "switch": int(switched.sum()),
        "switch_back": int(sum(after[k] in after[:k].tolist() for k in np.flatnonzero(switched))),
        "outvoted": int(outvoted.sum()),
        "streak_broken": int((outvoted[:-1] & (votes[1:] != votes[:-1])).sum()),
        "unknown_vote": int((votes == UNKNOWN).sum()),
        "known_vote": int((votes >= 0).sum()),
        "unknown_in_force": int((after == UNKNOWN).sum()),
        "known_again": int((switched & (before == UNKNOWN)).sum()),
    }


def _pause_branches(time_us: I64, seen: Monitored, length: int, every_us: int) -> dict[str, int]:
    """What lies between votes of so many requests, by their times."""
    found = dict.fromkeys(PAUSES, 0)
    found["passed_over"] = len(time_us) - len(seen.looked_at)
    for k in range(length, len(seen.looked_at), length):
        first, last, after = (int(seen.looked_at[place]) for place in (k - length, k - 1, k))
        since, before = (int(time_us[place] - time_us[first]) for place in (after, after - 1))
        found["early_by_1_us"] += last < after - 1 and before == every_us - 1
        found["due_to_the_1_us"] += since == every_us
        found["overdue"] += last == after - 1 and before >= every_us
        found["waited_for"] += since > every_us > before
    found["cut_short"] = int(len(seen.looked_at) % length > 0)
    return {name: int(count) for name, count in found.items()}


def _input_branches(batch: RequestBatch, window: int, rows: F32, clip: float) -> dict[str, int]:
    """What the requests of windows are to each other."""
    found = dict.fromkeys(INPUTS, 0)
    end = batch.offset + batch.size
    for first in range(0, len(batch), window):
        part = range(first, min(first + window, len(batch)))
        found["no_time_passes"] += batch.time_us[part[-1]] == batch.time_us[first] and len(part) > 1
        found["two_volumes"] += len(set(batch.volume.codes[first : first + window].tolist())) > 1
        for i in part:
            earlier = [j for j in range(first, i) if batch.volume.codes[j] == batch.volume.codes[i]]
            found["overlap"] += any(batch.offset[j] < end[i] and batch.offset[i] < end[j] for j in earlier)
            found["touching"] += any(end[j] == batch.offset[i] for j in earlier)
            found["apart_alone"] += i > first and not earlier
            found["at_once"] += i > first and batch.time_us[i] == batch.time_us[i - 1]
    found["write"] = int(batch.op.sum())
    found["cut_by_clip"] = int((np.abs(rows) == np.float32(clip)).sum())
    return {name: int(count) for name, count in found.items()}


def _recompute_set(manifest: Mapping[str, Any], serve: Serve, one: SyntheticSet) -> Recomputed:
    document = changed(manifest, one.changes)
    serving, given = serve(document), one.given
    if given is not None:
        serving._infer = lambda windows: given
    found, seen = _decided(serving, one.requests)
    likeliest = seen.probabilities == seen.probabilities.max(axis=1, keepdims=True)
    branches = found.branches | _vote_branches(seen, serving.vote_windows)
    looked_at = one.requests.taken(seen.looked_at)
    branches |= _input_branches(looked_at, serving.window, seen.features, float(document["policy"]["clip"]))
    if serving.vote_every_s:
        length, every_us = serving.window * serving.vote_windows, serving.vote_every_s * SECOND_US
        branches |= _pause_branches(one.requests.time_us, seen, length, every_us)
    branches |= {
        "tie_of_classes": int((likeliest.sum(axis=1) > 1).sum()),
        "unknown_window": int((seen.classes == UNKNOWN).sum()),
        "known_window": int((seen.classes != UNKNOWN).sum()),
    }
    return replace(found, branches=branches)


KIND = Kind(
    outputs=lambda manifest: tuple(manifest["policy"]["classes"]),
    sizes={
        **lstm.SIZES,
        "policy.window": (1, 1 << 12),
        "policy.vote_windows": (1, 1 << 20),
        "policy.switch_votes": (1, 1 << 31),
    },
    decisions=DECISIONS,
    wanted=("window", "vote", "switch"),
    serve=_serve,
    recompute=_recompute,
    contexts=lambda manifest, batch: [{}],
    open_weights=WeightsSession,
    cost=lambda manifest, files: lstm_cost(files[WEIGHTS], steps=int(manifest["policy"]["window"])),
    check=_check,
    profile=lambda manifest: BLOCK,
    conformance=lambda manifest: LSTM_PRECISIONS,
    state=_state,
    synthetic=_sets,
    synthetic_wanted=_wanted,
    synthetic_decisions=lambda context: DECISIONS,
    recompute_synthetic=_recompute_set,
)
