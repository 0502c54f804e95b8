"""Every message says what came, what was expected and how to fix it."""

import numpy as np
import pytest

import trueline as tl
from tests.inventory.cases import days, weekly
from trueline.inventory import Newsvendor, Oracle, Planner, SeasonalNaive, Store, plan, simulate

F = weekly(14, 0.2, level=0.05)


def run(demand=(5.0, 6.0), dates=("2017-01-02", "2017-01-03"), policy=lambda *_: 0, **kwargs):
    return simulate(Store(), policy, demand, dates, **kwargs)


CASES = {
    "unknown order day": (
        lambda: Store(order_days=["Monday", "Wedensday"]),
        "order_days holds 'Wedensday'; expected a weekday.*Did you mean 'Wednesday'?",
    ),
    "weekday 7": (lambda: Store(order_days=[7]), "order_days holds 7; expected a weekday"),
    "a truth value": (lambda: Store(order_days=[True]), "order_days holds True"),
    "twice": (lambda: Store(order_days=["monday", 0]), "holds Monday more than once"),
    "no order day": (lambda: Store(order_days=[]), "order_days is empty"),
    "no life": (lambda: Store(shelf_life=0), "shelf_life is 0; expected a whole number"),
    "half a pack": (lambda: Store(pack=2.5), "pack is 2.5; expected a whole number"),
    "at a loss": (lambda: Store(price=1.0), "expected a cost below the price"),
    "for nothing": (lambda: Store(cost=0.0), "cost is 0.0; expected a number above 0"),
    "too many": (lambda: Store(max_packs=10**9), "lower max_packs"),
    "negative stock": (lambda: Store().step([0, 0, -1, 0, 0], 1), r"stock\[2\] is -1.0; expected"),
    "split unit": (lambda: Store().step([0, 0.5, 0, 0, 0], 1), r"stock\[1\] is 0.5; expected"),
    "short stock": (lambda: Store().step([0, 0], 1), r"stock has shape \(2,\); expected"),
    "negative sales": (lambda: run([5.0, -2.0]), r"demand\[1\] is -2.0; expected sales of 0"),
    "NaN": (lambda: run([5.0, np.nan]), r"demand\[1\] is nan; expected finite"),
    "doubled": (lambda: run(dates=["2017-01-02"] * 2), "dates has 2017-01-02 twice"),
    "out of order": (
        lambda: run(dates=["2017-01-03", "2017-01-02"]),
        "dates are out of order: 2017-01-02 comes after 2017-01-03",
    ),
    "a gap": (
        lambda: run(dates=["2017-01-02", "2017-01-04"]),
        "dates jumps from 2017-01-02 to 2017-01-04; expected every day",
    ),
    "no dates": (lambda: run(dates=["x", "y"]), "dates cannot be read as dates"),
    "NaT": (lambda: run(dates=["2017-01-02", "NaT"]), r"dates\[1\] is missing"),
    "one date": (lambda: run(dates=["2017-01-02"]), "dates has 1 days but demand has 2"),
    "no days": (lambda: run([], []), "demand has shape"),
    "sold while closed": (
        lambda: run(closed=[True, False]),
        "demand is 5 on 2017-01-02, when the store is closed",
    ),
    "closed by number": (lambda: run(closed=[0, 1]), "expected 2 booleans"),
    "fractional packs": (lambda: run(policy=lambda *_: 1.5), "packs is 1.5; expected whole"),
    "negative packs": (lambda: run(policy=lambda *_: -1), "packs is -1.0; expected whole"),
    "too many packs": (lambda: run(policy=lambda *_: 500), "expected at most max_packs, 400"),
    "two orders": (lambda: run(policy=lambda *_: [1, 2]), "expected one number of packs"),
    "stock of many": (lambda: run(stock=np.zeros((2, 5))), "expected that of one store"),
    "oracle's stock of many": (
        lambda: Oracle.solve(Store(), [1.0], ["2017-01-02"], stock=np.zeros((2, 5))),
        "expected that of one store",
    ),
    "past the forecast": (
        lambda: plan(Store(), F[:9], weekday=0),
        "the horizon is 14 days but the forecast has 9 rows.*pass horizon=9",
    ),
    "past the forecast of a policy": (
        lambda: run(policy=Planner(F[:14]), demand=np.ones(3), dates=days(3)),
        "the forecast has 14 rows, but day 2 needs those up to 16",
    ),
    "past the forecast of a day": (
        lambda: run(policy=Newsvendor(lambda day: F[:2])),
        "the forecast of day 0 has 2 rows, but 3 days are planned",
    ),
    "no forecast": (lambda: run(policy=Planner([None, F])), "there is no forecast for day 0"),
    "no horizon": (lambda: plan(Store(), F, weekday=0, horizon=0), "horizon is 0; expected"),
    "no weekday": (lambda: plan(Store(), F, weekday="Mon"), "Did you mean 'Monday'"),
    "odd step": (lambda: plan(Store(), F, weekday=0, step=5), "a divisor or a multiple of the"),
    "step of 0": (lambda: plan(Store(), F, weekday=0, step=0), "step is 0; expected"),
    "tolerance": (lambda: plan(Store(), F, weekday=0, tolerance=-1.0), "tolerance is -1.0"),
    "too fine": (
        lambda: plan(Store(), weekly(14, 0.2), weekday=0, step=1),
        "with a step of 1 the largest table has .* cells; expected at most max_cells, 262,144",
    ),
    "too many batches": (
        lambda: plan(Store(shelf_life=9, order_days=range(7)), weekly(14, 0.2), weekday=0),
        "up to 9 batches .* can be on the shelf at once",
    ),
    "level": (lambda: Newsvendor(F, 1.5), r"level holds 1.5; expected levels in \(0, 1\)"),
    "short history": (lambda: SeasonalNaive([1.0] * 13, weeks=2), "at least 14 days"),
    "history of returns": (lambda: SeasonalNaive([-1.0] * 7), r"history\[0\] is -1"),
    "no weeks": (lambda: SeasonalNaive([1.0] * 7, weeks=0), "weeks is 0; expected"),
    "past the oracle": (
        lambda: run(
            policy=Oracle.solve(Store(), [1.0], ["2017-01-02"]), demand=[1, 1, 1], dates=days(3)
        ),
        "the oracle was solved for 1 days and was called for day 2",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_message(name):
    call, message = CASES[name]
    with pytest.raises(ValueError, match=message):
        call()


def test_types():
    with pytest.raises(TypeError, match=r"order_days is the string 'Monday'"):
        Store(order_days="Monday")
    with pytest.raises(TypeError, match="price is '2'; expected a number"):
        Store(price="2")
    with pytest.raises(TypeError, match="demand holds strings"):
        run(["5", "6"])
    with pytest.raises(TypeError):
        plan(Store(), "much", weekday=0, horizon=2)


def test_a_table_never_grows_past_its_limit():
    for scale in (1.0, 10.0, 100.0):
        mean = np.full(14, 700.0 * scale)
        found = plan(Store(max_packs=40_000), tl.Normal(mean, 0.2 * mean), weekday=0)
        assert found.cells <= 1 << 18


def test_a_policy_that_is_none():
    with pytest.raises(TypeError) as caught:
        simulate(Store(), 5, [1.0], ["2017-01-02"])
    assert str(caught.value) == (
        "policy is a int; expected an object with a method order(day, stock, known), such as "
        "Planner(forecasts), or a function of these."
    )
