"""Why the first option is first, in sentences with their numbers."""

from __future__ import annotations

from cabida import text
from cabida.plan import Decision, Option
from cabida.report import words as say
from cabida.report.every_form import capital, chance, first, fits
from cabida.text import tr


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
    return [capital(sentence) for sentence in said if sentence]


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
    return [capital(sentence) for sentence in said]


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
