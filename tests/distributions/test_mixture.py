"""Hard cases for a mixture: heavy tails, and gaps in which its CDF is flat."""

import numpy as np
import pytest

import trueline as tl

MAPS = [tl.Isotonic(), tl.Smooth(), tl.BetaCalibration(), tl.Scaling()]


@pytest.mark.parametrize("scale", [0.3, 1e-6])
@pytest.mark.parametrize("recalibrator", MAPS, ids=repr)
def test_heavy_tails_of_an_over_confident_mixture(recalibrator, scale, rng):
    loc = rng.normal(size=300)
    y = rng.normal(loc, 1.0)
    F = tl.Mixture([tl.StudentT(loc, scale, 3.0), tl.Normal(loc, scale)])
    G = recalibrator.fit(y, F).transform(F[:20])
    crps = G.crps(y[:20])
    assert ((crps > 0) & (crps < 5.0)).all()
    np.testing.assert_allclose(G.mean(), loc[:20], atol=0.6)
    assert ((G.std() > 0.5) & (G.std() < 6.0)).all()


def test_outcomes_in_a_gap_between_components_keep_scores_of_their_own(rng):
    loc = rng.normal(size=400)
    y = rng.normal(loc + 1.5, 1.0)
    F = tl.Mixture([tl.Normal(loc, 0.1), tl.Normal(loc + 3.0, 0.1)])
    R = tl.Isotonic().fit(y, F)
    assert len(R.scores_.values) == 400
    G = R.transform(F)
    for coverage in (0.2, 0.5, 0.9):
        assert abs(tl.coverage(y, G, coverage) - coverage) < 0.01


def test_the_score_of_one_normal_is_its_own():
    F = tl.Normal([1.0, 5.0], [0.1, 3.0])
    y = [[-3.0, 0.0, 9.0]]
    np.testing.assert_allclose(tl.Mixture([F]).score(y), F.score(y), rtol=1e-9)
