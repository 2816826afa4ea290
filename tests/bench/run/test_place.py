"""What ends while a load runs is counted, judged and kept beside it, and nothing of it is lost when that is stopped."""

import asyncio
from types import SimpleNamespace

from cabida.bench.outcome import Outcome
from cabida.bench.run import place
from cabida.bench.run.place import Outcomes, Place


class Kept:
    def __init__(self):
        self.rows = []

    def request(self, one, *, judging=False):
        self.rows.append((one.id, one.output_tokens, judging))

    def judged(self, one):
        self.rows.append((one.id, "judged", one.unjudged_rules))

    def event(self, kind, *, id, text):
        self.rows.append((id, kind, text))


def a_place(stop, judging=None, count=None):
    rules = SimpleNamespace(made=(SimpleNamespace(name="exact"),))
    going = SimpleNamespace(journal=Kept(), stop=stop, rules=rules)
    return Place(going, None, None, None, None, None, judging, None, count, None)


def an_outcome(number, **more):
    return Outcome(f"run/{number}", 0, 0.0, "ok", text="one two three", ended_s=1.0, **more)


def test_tokens_that_nobody_told_are_counted_before_the_request_is_kept():
    async def told():
        one = a_place(asyncio.Event(), count=lambda text: len(text.split()))
        one.told(an_outcome(0))
        one.told(an_outcome(1, output_tokens=7, counted_by="usage"))
        await one.judged()
        return one

    one = asyncio.run(told())
    assert sorted(one.going.journal.rows) == [("run/0", 3, False), ("run/1", 7, False)]
    assert sorted((each.counted_by, each.text) for each in one.outcomes.rows) == [
        ("tokenizer", ""),
        ("usage", ""),
    ]


def test_a_judge_that_never_answers_holds_up_no_stop_and_loses_no_request(monkeypatch):
    monkeypatch.setattr(place, "JUDGED_WITHIN_S", 0.05)
    monkeypatch.setattr(place, "LOOK_EVERY_S", 0.05)

    class Endless:
        async def judged(self, one, **_):
            await asyncio.Event().wait()

    async def told():
        stop = asyncio.Event()
        one = a_place(stop, Endless())
        for number in range(5):
            one.told(an_outcome(number))
        asyncio.get_running_loop().call_later(0.2, stop.set)
        await asyncio.wait_for(one.judged(), 20.0)
        return one

    one = asyncio.run(told())
    assert all(row[1:] == ("judged", ("exact",)) for row in one.going.journal.rows[5:])
    assert one.going.journal.rows[:5] == [(f"run/{number}", None, True) for number in range(5)]
    assert sorted((each.id, each.accepted) for each in one.outcomes.rows) == [
        (f"run/{k}", None) for k in range(5)
    ]


def test_a_rule_that_fails_leaves_its_answer_unjudged_and_says_why():
    class Failing:
        async def judged(self, one, **_):
            raise ZeroDivisionError("by none")

    async def told():
        one = a_place(asyncio.Event(), Failing())
        one.told(an_outcome(0))
        await one.judged()
        return one

    one = asyncio.run(told())
    asked, note, judged = one.going.journal.rows
    assert asked == ("run/0", None, True)
    assert "ZeroDivisionError: by none" in note[2]
    assert judged == ("run/0", "judged", ("exact",))
    assert [each.accepted for each in one.outcomes.rows] == [None]


def test_of_very_many_outcomes_every_so_many_th_is_kept(monkeypatch):
    monkeypatch.setattr(place, "OUTCOMES_MOST", 100)
    kept = Outcomes()
    for number in range(1000):
        kept.add(an_outcome(number, gaps_s=(0.1, 0.3)))
    assert [one.id for one in kept.rows] == [f"run/{number}" for number in range(0, 1000, kept.stride)]
    assert 50 <= len(kept.rows) <= 100
    assert kept.rows[0].gaps_s == (0.2,)
