"""How long doubt takes: the chat brief over all its offers, 2,000 draws, and the same over five times as many offers.

python benchmarks/draws.py [--json]
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path

import cabida
from cabida.brief import complete, read_brief
from cabida.choose import drivers
from cabida.choose.means import means_of
from cabida.choose.reckoned import Reckoner, cost_matrix
from cabida.choose.serving import search_serving
from cabida.choose.worlds import DRAWS_COUNT, Drawn

BRIEF = Path(__file__).parents[1] / "examples" / "support-chat.yaml"
AS_OF = "2026-11-30"
TIMES = 5


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    wanted = parser.parse_args()
    brief = complete(read_brief(BRIEF, as_of=AS_OF), as_of=AS_OF)
    means = means_of(brief, AS_OF)
    found = search_serving(brief, means)
    able = [one for one in found.worked if one.status == "satisfies"]
    more = [
        replace(one, candidate=replace(one.candidate, id=f"{one.candidate.id} {copy}"))
        for copy in range(TIMES)
        for one in able
    ]
    spreads = drivers.currency_spreads({"USD", "EUR"}, means.terms)
    result: dict[str, float] = {"draws": DRAWS_COUNT}
    for name, options in (("offers", able), ("more_offers", more)):
        cost_matrix(Reckoner(Drawn(0, 10), found.ask, means.terms, spreads), options[:1])
        begun = time.perf_counter()
        cost_matrix(Reckoner(Drawn(0), found.ask, means.terms, spreads), options)
        result[name] = len(options)
        result[f"{name}_s"] = round(time.perf_counter() - begun, 3)
    cabida.recommend(BRIEF, as_of=AS_OF)
    begun = time.perf_counter()
    cabida.recommend(BRIEF, as_of=AS_OF)
    result["recommend_warm_s"] = round(time.perf_counter() - begun, 2)
    text = "\n".join(f"{key}: {value}" for key, value in result.items())
    print(json.dumps(result) if wanted.json else text)


if __name__ == "__main__":
    main()
