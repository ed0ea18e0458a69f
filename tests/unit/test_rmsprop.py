"""RMSProp with a square root that no CPU answers in its own way."""

import copy

import numpy as np
import pytest
import torch

from cachezoo.training.lightning_fit import RmsProp


def drawn(*shape: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(1).standard_normal(shape).astype(np.float32))


def test_steps_are_those_of_torch_but_for_the_last_digit_of_the_root():
    network = torch.nn.Linear(30, 7)
    other = copy.deepcopy(network)
    pairs = [
        (network, RmsProp(network.parameters(), 0.01)),
        (other, torch.optim.RMSprop(other.parameters(), lr=0.01)),
    ]
    for scale in (1.0, 1e-3, 30.0):
        for one, optimizer in pairs:
            optimizer.zero_grad()
            one(scale * drawn(50, 30)).square().mean().backward()
            optimizer.param_groups[0]["lr"] *= 0.9
            optimizer.step()
    for mine, theirs in zip(network.parameters(), other.parameters(), strict=True):
        # Steps are up to 0.1; a root's last digit grows where the next gradients are of weights that differ in theirs.
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=2e-5)


def test_the_root_is_not_torch_s(monkeypatch: pytest.MonkeyPatch):
    def refused(*_: object, **__: object) -> None:
        raise AssertionError

    for place, name in ((torch, "sqrt"), (torch.Tensor, "sqrt"), (torch.Tensor, "sqrt_"), (torch, "_foreach_sqrt")):
        monkeypatch.setattr(place, name, refused)
    values = torch.nn.Parameter(drawn(100))
    before, values.grad = values.detach().clone(), drawn(100)
    RmsProp([values], 0.01).step()
    assert torch.isfinite(values).all() and (values != before).all()


def test_a_step_takes_a_loss_and_leaves_what_has_no_gradient():
    used, unused = torch.nn.Parameter(drawn(3)), torch.nn.Parameter(drawn(3))
    before = unused.detach().clone()

    def closure() -> float:
        loss = used.square().sum()
        loss.backward()
        return float(loss.detach())

    assert RmsProp([used, unused], 0.01).step(closure) == pytest.approx(float((drawn(3) ** 2).sum()))
    assert torch.equal(unused, before) and not torch.equal(used, drawn(3))
