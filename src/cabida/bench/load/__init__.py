"""When requests leave and what they ask: arrivals, prompts, retries, the highest rate, the client's health.

::

    deck = prompts(plan.prompts, target, seed, salt=...)      # deck.at(k), or one after another
    rows = asks("steady", deck, lambda one: request_body(target, one, one.output_tokens), done=...)
    async with Wire(...) as wire, Health(told, ...) as health:
        driven = await drive(load, rows, wire, policy, told, health, stop, budget=budget)
    part = steady(outcomes, warm_up_s=load.warm_up_s, kind=load.kind)
    whose = bound(samples, outcomes, is_beside=...)            # whose.withheld(outcome)
    sought = await seek(measure, first=...)                    # measure makes a point(...)

Each is in the module of its name; ``asks`` in prompts, ``point`` in points.
"""
