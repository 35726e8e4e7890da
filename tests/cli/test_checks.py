"""`check-agent` and `check-host`, and what `run` says of isolation."""

from __future__ import annotations

import pytest


def test_an_agent_that_passes_its_examination(call):
    ended = call("check-agent", "bots.py:Echo", "--task", "micro1")
    assert ended.code == 0
    assert "lasts in a long game" in ended.out
    assert "NO" not in ended.out


def test_a_failed_examination_names_the_reason(call):
    ended = call("check-agent", "bots.py:Crash", "--host", "thread", "--task", "micro1")
    assert ended.code == 1
    assert "disqualified: crashed" in ended.out
    assert "ValueError: enough" in ended.out
    assert "\x1b" not in ended.out
    data = call("check-agent", "bots.py:Crash", "--host", "thread", "--task", "micro1", "--json").data()
    assert data["passed"] is False
    assert {mark["question"]: mark["passed"] for mark in data["marks"]}["lasts in a long game"] is False


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["check-agent", "human"], "starts the agent itself"),
        (["check-agent", "nobody"], "unknown agent"),
        (["check-agent", "random", "--limits", "memroy=1MB"], "nearest: memory"),
        (["check-agent", "random", "--host", "task", "--isolation", "sandbox"], "leave --host out"),
        (["run", "-t", "micro1", "-a", "random", "--isolation", "sandbox"], "write --host process"),
        (["run", "-t", "micro1", "-a", "random", "--host", "task", "--limits", "disk=1MB"], "--limits"),
        (["run", "-t", "micro1", "-a", "bots.py:Echo", "--pass-env", "NOT_SET"], "is not set"),
        (
            ["run", "-t", "micro1", "-a", "bots.py:Echo", "--isolation", "none", "--limits", "disk=1MB"],
            "no limits",
        ),
        (["run", "-t", "micro1", "-a", "bots.py:Echo", "--show", "bots.py"], "is for isolation sandbox"),
        (
            ["run", "-t", "micro1", "-a", "bots.py:Echo", "--isolation", "sandbox", "--show", "no"],
            "there is no",
        ),
    ],
)
def test_wrong_options_are_refused(call, words: list[str], message: str):
    ended = call(*words)
    assert ended.code == 2
    assert message in ended.err
    assert ended.out == ""


@pytest.mark.usefixtures("bubblewrap")
def test_an_agent_in_a_sandbox_sees_what_it_is_shown(call, folder):
    (folder / "inner").mkdir()
    (folder / "inner" / "helper.py").write_text("answer = 32\n")
    (folder / "shown.py").write_text(
        "import pathlib\nfrom inner.helper import answer\n"
        "def act(observation):\n"
        "    assert sorted(map(str, pathlib.Path().iterdir())) == ['inner', 'shown.py']\n    return answer\n"
    )
    (folder / "inner").chmod(0o755)
    words = ["run", "-t", "micro1", "-a", "shown.py:act", "--steps", "2", "--isolation", "sandbox", "--json"]
    refused = call(*words)
    assert refused.code == 2
    assert f"the sandbox shows only {folder}/shown.py: add --show {folder}/inner" in refused.err
    seat = call(*words, "--show", "inner").data()["matches"][0]["seats"][0]
    assert seat["disqualified"] is None
    folder.chmod(0o755)
    refused = call(*words, "--show", ".", "--journal", "match.jsonl")
    assert refused.code == 2
    assert "no agent may see" in refused.err
    (folder / "plan.toml").write_text(
        "isolation = 'sandbox'\nshow = '.'\n[[agents]]\nspec = 'shown.py:act'\n[[agents]]\nspec = 'random'\n"
        "[[tasks]]\ntask = 'micro1'\nsteps = 2\n"
    )
    refused = call("tournament", "plan.toml")
    assert refused.code == 2
    assert "no agent may see" in refused.err


def test_limits_hold_in_a_match(call, folder):
    (folder / "hungry.py").write_text("def act(observation):\n    return len(b'x' * 500_000_000) and 32\n")
    words = ["run", "-t", "micro1", "-a", "hungry.py:act", "--steps", "2", "--json"]
    seat = call(*words, "--limits", "memory=300MB").data()["matches"][0]["seats"][0]
    assert seat["disqualified"] == "crashed"
    assert "MemoryError" in seat["detail"]


def test_the_matrix_as_a_table_and_as_data(call):
    ended = call("check-host", "--host", "task")
    assert ended.code == 0
    assert "swallows its cancellation" in ended.out
    assert "agents, all as expected\n" in ended.out
    assert "cores" in ended.out
    data = call("check-host", "--host", "task", "--json").data()
    assert {row["place"] for row in data["rows"]} == {"task"}
    assert all(row["as_expected"] for row in data["rows"])
    assert {data["limits"][kind]["cpu"] for kind in ("process", "sandbox")} == {"kernel"}


def test_agents_of_the_matrix_are_chosen_by_a_text(call):
    words = ["check-host", "--host", "task", "--json"]
    data = call(*words, "--only", "RAISES in act", "--only", "late_by_a").data()
    assert [row["agent"] for row in data["rows"]] == ["late_by_a_little", "late_by_a_lot", "RaisesInAct"]
    refused = call("check-host", "--only", "memroy")
    assert (refused.code, refused.out) == (2, "")
    assert refused.err == (
        "flagfall: --only memroy: no agent has this in its name or description; nearest: eats_memory,"
        " grows_memory, fills_memory\n"
    )
    refused = call(*words, "--only", "segfaults")
    assert (refused.code, refused.out) == (2, "")
    assert "no agent in a task has this" in refused.err
