"""The environment: what Gymnasium asks of it, and that it is the same store."""

import subprocess
import sys
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import trueline as tl
from tests.inventory.cases import days, weekly
from trueline.inventory import PerishableInventoryEnv, Store, simulate

ID = "trueline/PerishableInventory-v0"


def historical(**kwargs):
    demand = np.arange(10.0, 24.0)
    return PerishableInventoryEnv(Store(max_packs=9), demand, days(14), **kwargs)


@pytest.mark.parametrize(
    "kwargs",
    [
        {},
        {"store": Store(shelf_life=1, max_packs=3)},
        {"demand": np.arange(14.0), "dates": days(14), "episode_days": 5},
        {"demand": weekly(9, 0.1), "dates": days(9), "closed": np.arange(9) == 4},
    ],
    ids=["default", "a day of life", "historical", "forecast"],
)
def test_gymnasium_has_nothing_to_say_against_it(kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make(ID, **kwargs).unwrapped)


def test_it_is_registered_by_the_import_alone():
    code = (
        "import gymnasium\n"
        f"env = gymnasium.make('trueline.inventory:{ID}')\n"
        "print(type(env.unwrapped).__name__)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "PerishableInventoryEnv"


def test_everything_else_works_without_gymnasium():
    code = (
        "import sys\n"
        "sys.modules['gymnasium'] = None\n"
        "from trueline.inventory import *\n"
        "from trueline import inventory\n"
        "print(int(inventory.Store().step([0, 0, 0, 0, 9], 5).sold))\n"
        "try:\n"
        "    inventory.PerishableInventoryEnv\n"
        "except ImportError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    sold, message = done.stdout.strip().splitlines()
    assert sold == "5"
    assert message.startswith("the environment needs gymnasium, which cannot be imported")
    assert message.endswith('pip install "gymnasium>=1.0"')


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'Shop'"):
        tl.inventory.Shop  # noqa: B018


def test_an_episode_is_the_simulation():
    env = historical()
    observation, info = env.reset(seed=0)
    env.action_space.seed(0)
    orders, rewards, seen = [], [], [observation]
    truncated = False
    while not truncated:
        action = env.action_space.sample(mask=info["action_mask"])
        orders.append(int(action))
        observation, reward, terminated, truncated, info = env.step(action)
        assert not terminated
        rewards.append(reward)
        seen.append(observation)
    run = simulate(
        Store(max_packs=9), lambda day, stock, known: orders[day], np.arange(10.0, 24.0), days(14)
    )
    np.testing.assert_array_equal(run.ordered, orders)  # the mask leaves nothing but 0 elsewhere
    np.testing.assert_allclose(run.reward, rewards)
    np.testing.assert_array_equal(np.array(seen)[:-1, :-1], run.on_hand)
    np.testing.assert_array_equal(np.array(seen)[:, -1], np.arange(15) % 7)


def test_an_order_on_another_day_is_ignored_and_reported():
    env = historical()
    env.reset(seed=0)
    *_, info = env.step(5)
    assert (info["ordered"], info["ignored"]) == (5, 0)
    assert info["action_mask"].sum() == 1  # tomorrow is a Tuesday
    observation, reward, *_, info = env.step(5)
    assert (info["ordered"], info["ignored"]) == (0, 5)
    assert reward == pytest.approx(1.99 * info["sold"])
    assert observation[-2] == 0


def test_the_seed_fixes_demand_and_where_an_episode_begins():
    def play(seed):
        env = PerishableInventoryEnv(demand=weekly(60, 0.2), dates=days(60), episode_days=7)
        _, info = env.reset(seed=seed)
        first = info["date"]
        return first, [env.step(0)[-1]["demand"] for _ in range(7)]

    assert play(1) == play(1)
    assert len({play(seed)[0] for seed in range(20)}) > 10
    assert len({tuple(play(seed)[1]) for seed in range(20)}) == 20


def test_sampled_demand_is_whole_not_negative_and_none_on_closed_days():
    closed = np.arange(14) == 3
    env = PerishableInventoryEnv(
        demand=tl.Normal(np.full(14, 1.0), 5.0), dates=days(14), closed=closed
    )
    env.reset(seed=0)
    demand = [env.step(0)[-1]["demand"] for _ in range(14)]
    assert min(demand) == 0
    assert demand[3] == 0
    assert max(demand) > 0


def test_stock_may_be_given_for_all_episodes_or_for_one():
    env = historical(stock=[1, 2, 3, 4, 5])
    assert env.reset()[0].tolist() == [1, 2, 3, 4, 5, 0]
    assert env.reset(options={"stock": [0, 0, 0, 0, 9]})[0].tolist() == [0, 0, 0, 0, 9, 0]
    assert env.reset()[0].tolist() == [1, 2, 3, 4, 5, 0]


def test_a_day_in_words():
    env = historical(render_mode="ansi")
    env.reset(seed=0)
    env.step(2)
    assert env.render() == "2017-01-02: 2 packs ordered, 10 units asked for, 0 sold, 0 spoiled"
    assert historical().render() is None


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: historical(episode_days=15), "an episode has 15 days; expected 2 to 14"),
        (lambda: historical(render_mode="human"), "render_mode is 'human'; expected \"ansi\""),
        (lambda: historical(stock=[0, 0, 0, 0, 109]), "at most 108 units"),
        (lambda: PerishableInventoryEnv(demand=[1.0, 2.0]), "demand was given without dates"),
        (lambda: PerishableInventoryEnv(dates=days(3)), "given without demand"),
        (lambda: historical().reset(options={"shelf": 1}), "options holds"),
        (lambda: PerishableInventoryEnv(demand=weekly(3, 1.0), dates=days(4)), "4 days but demand"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_an_episode_that_is_over_must_be_reset():
    env = historical(episode_days=2)
    env.reset(seed=0)
    assert [env.step(0)[3] for _ in range(2)] == [False, True]
    with pytest.raises(RuntimeError, match="the episode is over"):
        env.step(0)
