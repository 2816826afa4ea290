"""What a mix beside the answer takes for granted."""

from __future__ import annotations

from cabida.choose.mixing import SPOT_SHARE_RATIO
from cabida.plan import Assumption, Flip
from cabida.plan.mix import Mix
from cabida.text import percent, tr


def mix_assumptions(mix: Mix | None, flip: Flip | None) -> tuple[Assumption, ...]:
    """What a mix that is told beside the answer takes for granted: how much of the demand may hang on spot."""
    if mix is None or flip is None or not any(one.capacity == "spot" for one in mix.parts):
        return ()
    why, how = tr("choose.assume.spot_share.why"), tr("choose.assume.spot_share.how")
    return (Assumption("spot_share_ratio", percent(SPOT_SHARE_RATIO), why, how),)
