"""Samples: halves of the service times, not of the rows, and what may be untimed."""

from dataclasses import replace

import numpy as np
import pytest

from cachezoo.devices.samples import Samples, join
from cachezoo.errors import DeviceError


def some(count: int, untimed: range = range(0)) -> Samples:
    timed = ~np.isin(np.arange(count), untimed)
    write = (np.arange(count) % 2).astype(np.uint8)
    return Samples(np.arange(count) * 4096, np.full(count, 4096), write, np.ones(count), np.zeros(count), timed)


def test_halves_hold_as_many_service_times_and_between_them_all_requests():
    first, second = some(400, untimed=range(100)).halves()
    assert (len(first), first.known, len(second), second.known) == (250, 150, 150, 150)
    assert join([first, second]).offset.tolist() == some(400).offset.tolist()
    assert join([second, first]).timed.tolist() == [True] * 150 + [False] * 100 + [True] * 150


def test_timed_requests_of_an_operation():
    samples = some(6, untimed=range(2, 4))
    assert samples.of(0).tolist() == [True, False, False, False, True, False]
    assert samples.of(1).tolist() == [False, True, False, False, False, True]
    plain = Samples(samples.offset, samples.size, samples.write, samples.time_us, samples.think_us)
    assert plain.timed.all()
    assert plain.known == len(plain) == 6


def test_only_what_is_timed_needs_a_time_and_counts():
    samples = some(300, untimed=range(100))
    nowhere = replace(samples, time_us=np.where(samples.timed, 1.0, -1.0))
    assert nowhere.check("x") is nowhere
    with pytest.raises(DeviceError, match=r"x: request 101: .* time 0 µs"):
        replace(samples, time_us=np.zeros(300)).check("x")
    with pytest.raises(DeviceError, match=r"x: request 8: .* size 0"):
        replace(samples, size=np.where(np.arange(300) == 7, 0, 4096)).check("x")
    with pytest.raises(DeviceError, match="x: 99 requests with service times"):
        some(300, untimed=range(201)).check("x")
