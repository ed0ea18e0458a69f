"""Device profiles: finding one by its name, and what its models say of size, distance and pattern.

Every figure here comes out of the kernels that replay traces, fed with a few requests made for it.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter, ValidationError

from cachezoo.arrays import F64, I64
from cachezoo.devices.analytic import NONE, disk_at_rest, drive_at_rest
from cachezoo.devices.built_in import BUILT_IN, DEFAULT
from cachezoo.errors import ConfigError
from cachezoo.kernels.hdd import hdd_service_us
from cachezoo.kernels.ssd import ssd_service_us
from cachezoo.seeds import derive_seed
from cachezoo.settings.device import AnalyticDevice, Device, EmulatedDevice, Hdd, Ssd
from cachezoo.yaml_file import checked, read_yaml

Row = dict[str, Any]
Modelled = AnalyticDevice | EmulatedDevice
Service = Callable[[I64, I64, bool], F64]

FOLDER = Path("conf/device")
PROJECT = Path(__file__).resolve().parents[3]
SIZES = (4096, 16384, 65536, 131072, 524288, 2097152, 8388608)
OPS = ("read", "write")
NEXT_TRACK = -1.0
DISTANCES = {"0": 0.0, "a track": NEXT_TRACK, "0.1 %": 0.001, "1 %": 0.01, "10 %": 0.1, "1/3": 1 / 3, "all": 1.0}
GRAIN = 512
PHASES = 64
RANDOM_REQUESTS, RUN_REQUESTS = 4096, 64
MOST_REQUESTS = 1 << 18
SPAN_OF_SSD = 1 << 36  # the model has no capacity: addresses only choose channels
ROOT_OF_RANDOM_DISTANCE, RANDOM_DISTANCE = 8 / 15, 1 / 3  # means over two uniformly random addresses


def read_device(path: Path) -> Device:
    """A device profile that names no others.

    Raises:
        ConfigError: missing, not YAML, or not what the schema allows.
    """
    adapter: TypeAdapter[Device] = TypeAdapter(Device)
    return checked(adapter, read_yaml(path), str(path), "conf/device holds profiles to copy from")


def load_device(given: str, folder: Path | None = None) -> Device:
    """A profile.

    Args:
        given: a YAML file, or the name of one in conf/device without its ending.
        folder: where names are looked up; None: in conf/device here, in that of the project that this package runs
            from, and last in what is built in.

    Raises:
        ConfigError: no such file or name, or not a device.
    """
    if folder is None and given == DEFAULT and not any((place / f"{given}.yaml").is_file() for place in _folders()):
        return BUILT_IN
    path = profile_path(given, folder)
    value = read_yaml(path)
    return _composed(path) if isinstance(value, dict) and "defaults" in value else read_device(path)


def load_profile(given: str, folder: Path | None = None) -> Modelled:
    """The models of a profile; arguments as for `load_device`.

    Raises:
        ConfigError: as for `load_device`, or it has no models (`source: real`).
    """
    device = load_device(given, folder)
    if not isinstance(device, AnalyticDevice | EmulatedDevice):
        path = profile_path(given, folder)
        message = f"{path}: source is {device.source}, which has no models; give a profile that is analytic or emulated"
        raise ConfigError(message)
    return device


def load_models(given: str, folder: Path | None = None) -> AnalyticDevice:
    """The models of a profile, whatever they are for; arguments and errors as for `load_profile`."""
    device = load_profile(given, folder)
    return AnalyticDevice(source="analytic", hdd=device.hdd, ssd=device.ssd)


def profile_path(given: str, folder: Path | None = None) -> Path:
    """The file that a profile's name or path means.

    Raises:
        ConfigError: there is none.
    """
    path = Path(given)
    if path.suffix in (".yaml", ".yml") or len(path.parts) > 1:
        if not path.is_file():
            raise ConfigError(f"{path}: no such file; give a device profile (YAML), such as {FOLDER}/*.yaml")
        return path
    places = _folders() if folder is None else [folder]
    for place in places:
        if (place / f"{given}.yaml").is_file():
            return place / f"{given}.yaml"
    built_in = {DEFAULT} if folder is None else set[str]()
    names = sorted({file.stem for place in places for file in place.glob("*.yaml")} | built_in)
    known = f"{folder or FOLDER} has {', '.join(names)}" if names else f"there is no {folder} here"
    raise ConfigError(f"{given[:80]}: no such device profile; {known}; or give a YAML file")


def _folders() -> list[Path]:
    """Where names are looked up: here, and in the project that this package runs from."""
    return [FOLDER, PROJECT / FOLDER]


def _composed(path: Path) -> Device:
    """A profile that names others in a defaults list, as Hydra composes it."""
    from hydra import compose, initialize_config_dir
    from hydra.errors import HydraException
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    group = path.resolve().parent
    adapter: TypeAdapter[Device] = TypeAdapter(Device)
    try:
        with initialize_config_dir(str(group.parent), version_base="1.3"):
            tree = OmegaConf.to_container(compose(None, overrides=[f"+{group.name}={path.stem}"]), resolve=True)
        return adapter.validate_python(tree.get("device") if isinstance(tree, dict) else None)
    except (HydraException, OmegaConfBaseException) as error:
        raise ConfigError(f"{path}: {' '.join(str(error).split())[:300]}; fix its defaults") from error
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise ConfigError(f"{path}: {key}: {first['msg']}; fix it or what its defaults name") from error


def size_text(size: int) -> str:
    """A size such as 4 KiB or 8 MiB."""
    return f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"


def average_seek_us(hdd: Hdd, write: bool = False) -> float:
    """Mean µs of a seek between two addresses, each uniformly random, without the rotational delay."""
    curve = hdd.seek_root_us * ROOT_OF_RANDOM_DISTANCE + hdd.seek_linear_us * RANDOM_DISTANCE
    return hdd.seek_base_us + curve + (hdd.write_settle_us if write else 0.0)


def _disk_service(hdd: Hdd) -> Service:
    def service(offset: I64, size: I64, write: bool) -> F64:
        marks = np.full(offset.size, write, np.uint8)
        times: F64 = hdd_service_us(disk_at_rest(hdd), offset, size, marks, NONE)
        return times

    return service


def _ssd_service(ssd: Ssd) -> Service:
    def service(offset: I64, size: I64, write: bool) -> F64:
        marks = np.full(offset.size, write, np.uint8)
        times: F64 = ssd_service_us(*drive_at_rest(ssd), offset, size, marks, NONE)
        return times

    return service


def _run_us(service: Service, first: int, count: int, size: int, write: bool) -> float:
    """Mean response time of the second half of a run of requests back to back."""
    times = service(first + np.arange(count, dtype=np.int64) * size, np.full(count, size, np.int64), write)
    return float(times[count // 2 :].mean())


def _random_us(service: Service, size: int, span: int, write: bool) -> float:
    rng = np.random.default_rng(derive_seed(1, "device profile", size))
    offset = rng.integers(0, max((span - size) // GRAIN, 1), RANDOM_REQUESTS) * GRAIN
    return float(service(offset, np.full(RANDOM_REQUESTS, size, np.int64), write).mean())


def track_bytes(hdd: Hdd) -> int:
    """What passes under the head in a revolution in the middle of the disk."""
    return int((hdd.outer_mb_s + hdd.inner_mb_s) / 2 * hdd.rotation_us)


def distance_us(hdd: Hdd, size: int, distance: float, write: bool) -> float | None:
    """Mean response time of a request so far from where the head stands; back-to-back in a run if the distance is 0.

    The way there and back around the middle of the disk are averaged, and where the model knows the angle of an
    address, a revolution's moments of issue.

    Args:
        hdd: the disk.
        size: bytes of the request.
        distance: as a part of the capacity, or NEXT_TRACK.
        write: the request writes; the one before it, which brings the head there, reads.

    Returns:
        µs, or None where the disk is too small for it.
    """
    if distance == 0.0:
        return sequential_us(hdd, size, write)
    room = hdd.capacity_bytes - size - GRAIN
    step = track_bytes(hdd) if distance == NEXT_TRACK else int(distance * hdd.capacity_bytes)
    step = min(step, room) // GRAIN * GRAIN
    if step < GRAIN:
        return None
    low = (room - step) // 2 // GRAIN * GRAIN + GRAIN
    phases = PHASES if hdd.rotation == "position" else 1
    times = []
    for head, start in ((low, low + step), (low + step, low)):
        for phase in range(phases):
            think = np.array([0.0, phase / phases * hdd.rotation_us])
            pair, marks = np.array([head - GRAIN, start], np.int64), np.array([0, write], np.uint8)
            sizes = np.array([GRAIN, size], np.int64)
            times.append(hdd_service_us(disk_at_rest(hdd), pair, sizes, marks, think)[1])
    return float(np.mean(times))


def sequential_us(hdd: Hdd, size: int, write: bool) -> float | None:
    """Mean response time in a run of requests back to back, once the buffers have had their fill."""
    filled = (hdd.write_buffer_bytes if write else hdd.read_buffer.segment_bytes) // size
    count = min(RUN_REQUESTS + 4 * filled, MOST_REQUESTS, hdd.capacity_bytes // size)
    if count < RUN_REQUESTS:
        return None
    return _run_us(_disk_service(hdd), (hdd.capacity_bytes - count * size) // 2, count, size, write)


def distance_rows(hdd: Hdd) -> Iterator[Row]:
    """Response times of the disk: op, size_bytes, and response_us by the names of DISTANCES."""
    for op in OPS:
        for size in SIZES:
            times = {name: distance_us(hdd, size, part, op == "write") for name, part in DISTANCES.items()}
            yield {"op": op, "size_bytes": size, "response_us": times}


def _ssd_sequential_us(ssd: Ssd, size: int, write: bool) -> float:
    filled = ssd.write_buffer_bytes // size if write else 0
    return _run_us(_ssd_service(ssd), 0, min(RUN_REQUESTS + 4 * filled, MOST_REQUESTS), size, write)


def access_rows(device: Modelled) -> Iterator[Row]:
    """Throughput at depth 1 by device, operation, pattern and size.

    Yields:
        device, op, pattern (`random` over the whole device, or `sequential`), size_bytes, response_us (mean), iops,
        mb_s (10**6 bytes/s); the last three are None where the disk is too small.
    """
    hdd, ssd = device.hdd, device.ssd
    for op in OPS:
        write = op == "write"
        for size in SIZES:
            found = {
                ("hdd", "random"): _random_us(_disk_service(hdd), size, hdd.capacity_bytes, write),
                ("hdd", "sequential"): sequential_us(hdd, size, write),
                ("ssd", "random"): _random_us(_ssd_service(ssd), size, SPAN_OF_SSD, write),
                ("ssd", "sequential"): _ssd_sequential_us(ssd, size, write),
            }
            for (name, pattern), time in found.items():
                rates = (None, None) if time is None else (1e6 / time, size / time)
                row = {"device": name, "op": op, "pattern": pattern, "size_bytes": size, "response_us": time}
                yield {**row, "iops": rates[0], "mb_s": rates[1]}
