"""Forecasts that go out to torch."""

import numpy as np
import pytest

import trueline as tl
from trueline.interop import to_torch

torch = pytest.importorskip("torch")

RNG = np.random.default_rng(0)
LOC = RNG.normal(size=60)
Y = LOC + 2.0 * RNG.normal(size=60)
F = tl.Normal(LOC, 1.0)
FORECASTS = {
    "isotonic": tl.Isotonic().fit(Y, F).transform(F),
    "smooth": tl.Smooth().fit(Y, F).transform(F),
    "student t": tl.StudentT(LOC, 1.0, 5.0),
    "normal": F,
}


@pytest.mark.parametrize("name", FORECASTS)
def test_it_is_a_distribution_of_torch_that_answers_as_the_forecast_does(name):
    G = FORECASTS[name]
    dist = to_torch(G)
    assert isinstance(dist, torch.distributions.Distribution)
    y = torch.tensor(Y, requires_grad=True)
    np.testing.assert_allclose(dist.log_prob(y).detach(), G.logpdf(Y), rtol=1e-12)
    # torch's own Normal has absolute digits in the lower tail.
    np.testing.assert_allclose(dist.cdf(y).detach(), G.cdf(Y), rtol=1e-12, atol=1e-15)
    level = torch.tensor(0.9, dtype=torch.float64)
    np.testing.assert_allclose(dist.icdf(level), G.ppf(0.9), rtol=1e-12)
    dist.cdf(y).sum().backward()
    np.testing.assert_allclose(y.grad, G.pdf(Y), rtol=1e-12)


def test_a_decision_can_be_learned_under_it():
    # The order that costs least under the newsvendor loss is a quantile of the demand.
    G = FORECASTS["smooth"]
    torch.manual_seed(0)
    demand = to_torch(G).sample((4000,))
    order = torch.tensor(LOC, requires_grad=True)
    optimiser = torch.optim.Adam([order], lr=0.05)
    for _ in range(300):
        optimiser.zero_grad()
        short = torch.clamp(demand - order, min=0.0)
        (order + 4.0 * short).sum(dim=1).mean().backward()
        optimiser.step()
    # The level of a quantile of 4000 draws has a standard error of 0.007; four of them, about.
    levels = G.cdf(order.detach().numpy())
    np.testing.assert_allclose(levels, 0.75, atol=0.03)


def test_it_comes_in_again_as_it_was():
    for G in FORECASTS.values():
        back = tl.as_distribution(to_torch(G))
        assert type(back) is type(G)
        np.testing.assert_array_equal(back.cdf(Y), G.cdf(Y))
