"""Why the first option is first, in sentences with their numbers; and what every form says of an option."""

from __future__ import annotations

from cabida import text
from cabida.plan import Decision, Option
from cabida.report import words as say
from cabida.text import tr


def first(decision: Decision) -> Option | None:
    """The option the decision is about: the chosen one, else the nearest."""
    chosen = [one for one in decision.options if one.status == "chosen"]
    return next(iter(chosen or decision.options), None)


def headroom_bytes(option: Option) -> float | None:
    """Usable memory that nothing fills, per accelerator; ``None`` for an API."""
    if not option.memory or option.usable_bytes <= 0:
        return None
    return option.usable_bytes - sum(value for key, value in option.memory.items() if key != "headroom")


def fits(option: Option) -> str:
    """``fits with 19 GiB to spare per GPU``, ``1.2 GiB short per GPU``, or nothing for an API."""
    spare = headroom_bytes(option)
    if spare is None:
        return ""
    return tr("report.fits" if spare >= 0 else "report.short", size=text.size(abs(spare)))


def replicas(option: Option) -> str:
    """How many times the command is to be started; empty when once."""
    count = option.replicas_count + option.spare_replicas_count
    return tr("report.replicas", count=count) if count > 1 and option.command else ""


def chance(option: Option) -> str:
    """``best with probability 0.71``."""
    if option.best_probability <= 0:
        return ""
    return tr("report.best", probability=say.probability(option.best_probability))


def metrics_line(option: Option, decision: Decision) -> list[str]:
    """The headline metrics, each with its name and interval."""
    return [
        f"{say.label(name)} {say.figure(name, option.metrics[name], decision.currency)}"
        for name in say.headline(option, decision)
    ]


def why(decision: Decision) -> list[str]:
    """Sentences that say what speaks for the first option."""
    option = first(decision)
    if option is None:
        return []
    said = [fits(option)]
    for name, limit_s in say.objectives(decision).items():
        head, _, statistic = name.rpartition("_")
        metric = f"{head}_ms_{statistic}"
        if metric in option.metrics:
            figure = say.figure(metric, option.metrics[metric])
            said.append(
                tr("report.against", metric=say.label(metric), figure=figure, limit=text.duration(limit_s))
            )
    said += [_cheaper(decision, option), *doubt(decision)]
    return [_capital(sentence) for sentence in said if sentence]


def doubt(decision: Decision) -> list[str]:
    """How likely the first option is the best, and what it costs when another is."""
    option = first(decision)
    if option is None or option.best_probability <= 0:
        return []
    said = [chance(option)]
    if option.expected_regret_money > 0:
        amount = option.expected_regret_money * say.unit_scale(decision)
        regret = f"{text.number(amount, 2)} {decision.currency} {say.per_output(decision)}"
        said.append(tr("report.regret", money=regret))
    return [_capital(sentence) for sentence in said]


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _cheaper(decision: Decision, option: Option) -> str:
    rivals = [one for one in decision.options if one.status == "satisfies" and one.id != option.id]
    if option.status != "chosen" or not rivals:
        return ""
    rival = min(rivals, key=lambda one: one.cost_per_month_money)
    difference = rival.cost_per_month_money - option.cost_per_month_money
    if difference <= 0:
        return ""
    money = f"{say.price(difference, decision.currency)}/{say.period(decision)}"
    return tr("report.cheaper", money=money, rank=rival.rank)
