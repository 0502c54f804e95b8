"""Forecasts as distributions of torch."""

import copy
import pickle

import numpy as np
import pytest
from scipy import stats

import trueline as tl
from tests.interop.cases import LEVELS, every_forecast, forecast, values
from trueline.interop import to_torch

torch = pytest.importorskip("torch")

THREE = tl.Mixture([tl.Normal([0.0, 1.0, 2.0], 1.0), tl.Normal([3.0, 1.0, 2.0], 0.5)])


def tensor(a, **options):
    return torch.tensor(np.ascontiguousarray(a), dtype=torch.float64, **options)


@every_forecast
def test_it_answers_as_the_forecast_does(base, form):
    F = forecast(base, form)
    dist = to_torch(F)
    assert isinstance(dist, torch.distributions.Distribution)
    assert dist.batch_shape == (3,)
    assert dist.event_shape == ()
    ours = type(dist).__module__.startswith("trueline")
    assert ours == (form != "as it is" or base not in ("normal", "laplace"))
    # torch's own Normal has the lower tail as one less the upper: absolute digits only.
    same = (
        np.testing.assert_array_equal
        if ours
        else lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-15)
    )
    y = values(F)
    same(dist.cdf(tensor(y.T)).numpy(), F.cdf(y).T)
    same(dist.log_prob(tensor(y.T)).numpy(), F.logpdf(y).T)
    same(dist.icdf(tensor(LEVELS[:, None])).numpy(), F.ppf(LEVELS).T)
    same(dist.mean.numpy(), F.mean())
    same(dist.variance.numpy(), F.var())
    np.testing.assert_allclose(dist.stddev.numpy(), F.std(), rtol=1e-12)


def test_the_derivative_of_the_cdf_is_the_density():
    dist = to_torch(THREE)
    y = tensor([[-20.0, 0.0, 2.5], [0.3, 1.0, 30.0]], requires_grad=True)
    dist.cdf(y).sum().backward()
    np.testing.assert_array_equal(y.grad.numpy(), THREE.pdf(y.detach().numpy().T).T)


SMOOTH = {
    "mixture": THREE,
    "smooth": forecast("normal", "smooth"),
    "student t": tl.StudentT([0.0, 1.0, 2.0], [1.0, 10.0, 0.1], 4.0),
}


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("method", ["log_prob", "cdf", "icdf"])
def test_gradients_pass_the_check_of_torch(name, method):
    F = SMOOTH[name]
    levels = np.array([[0.15], [0.5], [0.83]])
    inputs = levels if method == "icdf" else F.ppf(levels[:, 0]).T
    ask = getattr(to_torch(F), method)
    # One value a row, and one for all rows, whose gradient is the sum over rows.
    for x in (inputs, inputs[:, :1]):
        assert torch.autograd.gradcheck(ask, tensor(x, requires_grad=True), eps=1e-5, rtol=1e-4)


def test_the_gradient_of_the_log_density_has_eight_digits():
    dist = to_torch(tl.Mixture([tl.Normal([0.0, 1e6], [1.0, 1e-3])]))
    y = tensor([[-3.0, 1e6 + 2e-3], [30.0, 1e6]], requires_grad=True)
    dist.log_prob(y).sum().backward()
    np.testing.assert_allclose(y.grad.numpy()[:, 0], [3.0, -30.0], rtol=1e-8)
    # A width of a billionth of the value leaves fewer digits of the value.
    np.testing.assert_allclose(y.grad.numpy()[:, 1], [-2000.0, 0.0], rtol=1e-3, atol=1e-1)


def test_a_second_derivative_is_refused():
    y = tensor([0.0, 0.0, 0.0], requires_grad=True)
    (first,) = torch.autograd.grad(to_torch(THREE).cdf(y).sum(), y, create_graph=True)
    with pytest.raises(RuntimeError, match="a second derivative"):
        first.sum().backward()


def test_draws_follow_the_forecast_and_torchs_seed():
    dist = to_torch(THREE)
    torch.manual_seed(1)
    drawn = dist.sample((2000,))
    assert drawn.shape == (2000, 3)
    assert not drawn.requires_grad
    torch.manual_seed(1)
    assert torch.equal(drawn, dist.sample((2000,)))
    assert not torch.equal(drawn, dist.sample((2000,)))
    for row in range(3):
        test = stats.kstest(drawn[:, row].numpy(), lambda y, row=row: THREE[row].cdf(y[None])[0])
        assert test.pvalue > 0.01
    assert dist.sample().shape == (3,)
    assert dist.sample((2, 0)).shape == (2, 0, 3)
    assert dist.sample((2, 5)).shape == (2, 5, 3)
    assert not dist.has_rsample
    with pytest.raises(NotImplementedError):
        dist.rsample()


def test_a_batch_expands_as_torchs_own():
    dist = to_torch(THREE)
    wide = dist.expand((4, 3))
    assert wide.batch_shape == wide.mean.shape == wide.sample().shape == (4, 3)
    assert wide.sample((2,)).shape == (2, 4, 3)
    y = tensor([0.0, 1.0, 2.0])
    assert torch.equal(wide.cdf(y), dist.cdf(y).expand(4, 3))
    assert torch.equal(wide.log_prob(y.expand(4, 3)), dist.log_prob(y).expand(4, 3))
    one = to_torch(THREE[0]).expand((5,))
    assert one.log_prob(tensor(1.0)).shape == one.sample().shape == (5,)
    with pytest.raises(RuntimeError, match="expand"):
        dist.expand((4,))


def test_it_can_be_part_of_other_distributions():
    joint = torch.distributions.Independent(to_torch(THREE), 1)
    y = tensor([0.0, 1.0, 2.0])
    assert joint.event_shape == (3,)
    torch.testing.assert_close(joint.log_prob(y), to_torch(THREE).log_prob(y).sum())
    weights = torch.distributions.Categorical(tensor([0.2, 0.3, 0.5]))
    mixed = torch.distributions.MixtureSameFamily(weights, to_torch(THREE))
    expected = 0.2 * THREE[0].cdf(1.0) + 0.3 * THREE[1].cdf(1.0) + 0.5 * THREE[2].cdf(1.0)
    np.testing.assert_allclose(mixed.cdf(tensor(1.0)).numpy(), expected[0])


def test_answers_have_the_wider_dtype_and_the_device_of_the_values():
    single = to_torch(THREE, dtype=torch.float32)
    assert single.mean.dtype == single.sample().dtype == torch.float32
    assert single.cdf(torch.zeros(3)).dtype == torch.float32
    assert single.cdf(tensor([0.0, 0.0, 0.0])).dtype == torch.float64
    assert to_torch(THREE).cdf(torch.zeros(3)).dtype == torch.float64
    assert to_torch(tl.Normal(0, 1), dtype=torch.float32).loc.dtype == torch.float32
    elsewhere = to_torch(THREE, device="meta").mean
    assert elsewhere.device.type == "meta"


def test_bad_arguments_are_refused():
    with pytest.raises(TypeError, match=r"dtype is torch\.int64; expected a floating-point dtype"):
        to_torch(THREE, dtype=torch.int64)
    with pytest.raises(TypeError, match="dtype is 'float32'"):
        to_torch(THREE, dtype="float32")
    with pytest.raises(TypeError, match="cannot make a distribution of"):
        to_torch("Normal")
    with pytest.raises(ValueError, match="not broadcastable"):
        to_torch(THREE).cdf(tensor([0.0, 1.0]))
    with pytest.raises(ValueError, match="within the support"):
        to_torch(THREE).cdf(tensor([0.0, 1.0, np.nan]))
    assert to_torch(THREE).icdf(tensor([0.0, 1.0, 1.5])).tolist()[:2] == [-np.inf, np.inf]
    assert to_torch(THREE).icdf(tensor([0.0, 1.0, 1.5]))[2].isnan()


def test_it_survives_copies_and_pickling():
    dist = to_torch(THREE)
    y = tensor([0.0, 1.0, 2.0])
    for again in (copy.deepcopy(dist), pickle.loads(pickle.dumps(dist))):
        assert torch.equal(again.cdf(y), dist.cdf(y))
    assert repr(dist) == "TorchDistribution(Mixture(3 rows), batch_shape: (3,))"
