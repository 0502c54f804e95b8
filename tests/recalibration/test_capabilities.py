"""What a recalibrator can do is asked of it, whatever its class."""

import numpy as np
import pytest

import trueline as tl
from trueline.export import to_sql
from trueline.files import apply
from trueline.recalibration import BY_NAME

Y = np.array([0.5, -1.0, 2.0, 2.0, 0.1])
F = tl.Normal(np.zeros(5), 1.0)
GROUPS = ["a", "b", "a", "b", "a"]

# What every map that is a law of the score can do.
LAW = {"is_exportable", "is_stored", "keeps_scores"}
COMMON = [tl.Isotonic(), tl.Smooth(), tl.BetaCalibration(), tl.Scaling(), tl.Auto()]


CAPABILITIES = (
    "learns_from_scores",
    "is_mergeable",
    "is_exportable",
    "is_stored",
    "keeps_scores",
    "needs_groups",
    "needs_features",
)


def able(R):
    return {name for name in CAPABILITIES if getattr(R, name)}


@pytest.mark.filterwarnings("ignore::trueline.CalibrationWarning")
@pytest.mark.parametrize("recalibrator", COMMON, ids=repr)
def test_one_map_for_all_rows(recalibrator):
    R = recalibrator.fit(Y, F)
    assert able(R) == {"learns_from_scores", "is_mergeable", *LAW}
    assert R.groups_ is None
    assert R.laws() == {None: R.law_}
    assert R.law("any group") is R.law_
    assert R.n_fit() == 5.0
    assert R.score_kind_ == "standardised"


def test_one_map_per_group():
    R = tl.Grouped().fit(Y, F, groups=GROUPS)
    assert able(R) == {"learns_from_scores", "is_mergeable", "needs_groups", *LAW}
    assert list(R.laws()) == ["a", "b", None]
    assert R.law("not seen") is R.law() is R.laws()[None]
    assert [R.n_fit("a"), R.n_fit("b"), R.n_fit("not seen"), R.n_fit()] == [3.0, 2.0, 5.0, 5.0]


def test_a_stream():
    R = tl.Online(window=3).fit(Y, F)
    assert able(R) == LAW
    assert R.laws() == {None: R.law_}
    assert R.n_fit() == 3.0


def test_features():
    R = tl.Conditional()
    assert able(R) == {"needs_features"}
    with pytest.warns(tl.CalibrationWarning, match="5 rows are too few"):
        R.fit(Y, F, X=np.ones((5, 1)))
    assert R.score_kind_ == "standardised"
    with pytest.raises(NotImplementedError, match=r"^Conditional does not have one law of the"):
        R.law()
    with pytest.raises(NotImplementedError, match=r"^Conditional does not keep the scores"):
        R.n_fit()


def test_isotonic_laws():
    R = tl.IDR().fit(Y, F)
    assert able(R) == {"is_mergeable", "is_stored"}
    assert (R.n_fit(), R.score_kind_) == (5.0, "standardised")
    with pytest.raises(NotImplementedError, match=r"^IDR does not have one law of the score"):
        R.law()
    with pytest.raises(NotImplementedError, match=r"^IDR does not compress\.$"):
        R.compress(10)


def test_a_class_of_ones_own_promises_nothing_by_itself():
    class Own(tl.Recalibrator):
        def fit(self, y, dist, sample_weight=None, groups=None, X=None):
            return self

        def transform(self, dist, groups=None):
            return dist

        def _is_fitted(self):
            return True

    R = Own()
    assert able(R) == {"needs_features", "keeps_scores"}
    with pytest.raises(NotImplementedError, match=r"^Own does not have groups\.$"):
        R.rename_groups({})


def test_atoms():
    with pytest.warns(tl.CalibrationWarning, match="distinct scores"):
        tied = tl.Isotonic().fit([1.0, 1.0, 1.0, 2.0, 2.0], F)
    assert tied.has_atoms
    assert not tl.Isotonic().fit([1.0, 2.0, 3.0, 4.0, 5.0], F).has_atoms
    assert not tl.Scaling().fit(Y, F).has_atoms


@pytest.mark.parametrize("name", BY_NAME)
def test_short_names_are_known_to_the_regressor(name):
    from trueline.estimators._fitting import resolve

    assert type(resolve(name)) is BY_NAME[name]


def test_a_stream_is_applied_to_files_and_exported_alike(tmp_path):
    R = tl.Online().fit(np.linspace(-2.0, 2.0, 40), tl.Normal(np.zeros(40), 1.0))
    file, out = tmp_path / "new.csv", tmp_path / "out.csv"
    file.write_text("mean,std\n1,2\n")
    apply(R, file, out)
    lower = R.transform(tl.Normal(1.0, 2.0)).interval(0.9)[0][0]
    assert out.read_text().splitlines()[1].split(",")[2] == f"{lower}"
    assert to_sql(R, level=0.05)
