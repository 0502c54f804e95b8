"""The journal of results."""

import pytest

from reproduce import ExperimentError
from reproduce.journal import Journal

SETTINGS = {"numpy": "2.0", "model": "a network"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "splits.jsonl"


def test_what_is_written_is_read_again(path):
    journal = Journal(path, SETTINGS)
    journal.append({"split": 0, "crps": 0.1})
    journal.append({"split": 1, "crps": None})
    again = Journal(path, SETTINGS)
    assert again.records == [{"split": 0, "crps": 0.1}, {"split": 1, "crps": None}]
    again.append({"split": 2})
    assert len(Journal(path, SETTINGS).records) == 3


def test_a_line_that_was_cut_off_is_left_out(path):
    Journal(path, SETTINGS).append({"split": 0})
    whole = path.read_text()
    path.write_text(whole + '{"split": 1, "cr')
    journal = Journal(path, SETTINGS)
    assert journal.records == [{"split": 0}]
    journal.append({"split": 1})
    assert Journal(path, SETTINGS).records == [{"split": 0}, {"split": 1}]


def test_a_damaged_line_is_an_error(path):
    journal = Journal(path, SETTINGS)
    for split in (0, 1):
        journal.append({"split": split, "crps": 0.125})
    whole = path.read_text()
    path.write_text(whole.replace("0.125", "0.135", 1))
    with pytest.raises(ExperimentError, match=r"is damaged in line 2\. Delete that line"):
        Journal(path, SETTINGS)
    # The last line may have been cut off, so that its result is computed again.
    path.write_text("0.135".join(whole.rsplit("0.125", 1)))
    assert Journal(path, SETTINGS).records == [{"split": 0, "crps": 0.125}]


def test_results_of_other_settings_are_not_mixed_in(path):
    Journal(path, SETTINGS).append({"split": 0})
    before = path.read_bytes()
    with pytest.raises(ExperimentError) as caught:
        Journal(path, {"numpy": "2.1", "torch": "2.4", "model": "a network"})
    assert str(caught.value) == (
        f"the results in {path} were made with numpy 2.0 rather than 2.1, torch none rather than "
        f"2.4. Start again with --fresh, or name another folder with --output."
    )
    assert path.read_bytes() == before


def test_fresh_begins_again(path):
    Journal(path, SETTINGS).append({"split": 0})
    assert Journal(path, {"numpy": "3.0"}, fresh=True).records == []
    assert Journal(path, {"numpy": "3.0"}).records == []


def test_an_empty_file_is_a_journal_without_results(path):
    path.touch()
    assert Journal(path, SETTINGS).records == []


@pytest.mark.parametrize("text", ["dataset,model\n", "[1]\n", '{"split": 0}\n'])
def test_another_file_of_that_name_is_left_alone(path, text):
    path.write_text(text)
    with pytest.raises(ExperimentError, match="is not a journal of results"):
        Journal(path, SETTINGS)
    assert path.read_text() == text
