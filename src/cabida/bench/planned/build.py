"""From what a plan's file says to the plan, and what no shape can check: that its parts know each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cabida.bench.planned.metrics import known_metrics
from cabida.brief.fields import METRICS
from cabida.brief.kinds import Money
from cabida.brief.profiles import named, normalised
from cabida.brief.shapes import Walk
from cabida.plan.bench import (
    BenchPlan,
    Contender,
    Drill,
    Expected,
    Job,
    Load,
    Policy,
    Prompts,
    Rule,
    Run,
    Spread,
    Target,
    Turn,
)
from cabida.text import closest, tr

DAY_HOURS, WEEK_HOURS = 24, 168
PAIRED = {  # names in the file -> names in the plan, where they differ
    "target": {},
    "policy": {
        "retries": "retries_count",
        "backoff": "backoff_s",
        "connect_timeout": "connect_s",
        "first_token_timeout": "first_token_s",
        "idle_timeout": "idle_s",
        "total_timeout": "total_s",
        "connections": "connections_most",
        "requests_per_s": "requests_per_s_most",
        "requests": "requests_most",
        "response_size": "response_bytes_most",
    },
    "drill": {
        "at": "at_s",
        "delay": "delay_s",
        "jitter": "jitter_s",
        "bandwidth": "bytes_per_s",
        "cut_after": "cut_after_bytes",
        "lasts": "lasts_s",
        "within": "within_s",
    },
    "job": {"duration": "duration_s"},
    "load": {
        "burst": "burst_ratio",
        "speed": "speed_ratio",
        "duration": "duration_s",
        "requests": "requests_count",
        "warm_up": "warm_up_s",
    },
    "prompts": {"prefixes": "prefixes_count", "input_tokens": "input", "output_tokens": "output"},
    "contender": {"replicas": "replicas_count", "price": "price_money_per_hour"},
    "run": {"duration": "duration_s", "cost": "cost_money", "worth": "worth_money"},
}


def build(plain: Mapping[str, Any], free: Mapping[str, Any], walk: Walk) -> BenchPlan | None:
    """The plan, or ``None`` when too little of it is right. Problems go into ``walk``."""
    currency = plain.get("currency") or "USD"
    making = _Making(free, walk, currency)
    for key in ("name", "contenders", "runs"):
        if key not in plain and (key not in walk.where or key in walk.unknown):
            walk.refuse("CB-P003", walk.where.get(key, 1), key=key)
    contenders = making.contenders(plain.get("contenders") or [])
    runs = making.runs(plain.get("runs") or [], {one.name for one in contenders})
    prompts, rules = making.prompts(plain.get("prompts") or {}), making.rules(plain.get("rules") or [])
    if walk.problems:
        return None
    objectives, error_ratio = _objectives(plain.get("objectives") or {})
    return BenchPlan(
        name=plain["name"],
        contenders=contenders,
        runs=runs,
        prompts=prompts,
        rules=rules,
        policy=Policy(**making.named("policy", _whole_bytes(plain.get("policy") or {}, "response_size"))),
        objectives=objectives,
        error_ratio_most=error_ratio,
        decision=plain.get("decision", ""),
        currency=currency,
        denominator=plain.get("denominator", ""),
        keep_samples=plain.get("keep_samples", "redacted"),
        seed=plain.get("seed", 1),
        where=dict(walk.where),
        file=walk.file,
    )


def _whole_bytes(said: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: round(value) if name == key else value for name, value in said.items()}


def _objectives(said: Mapping[str, float]) -> tuple[dict[str, dict[str, float]], float | None]:
    found: dict[str, dict[str, float]] = {}
    for name, value in said.items():
        metric, _, statistic = name.partition("_")
        if metric in METRICS:
            found.setdefault(metric, {})[statistic] = value
    return found, said.get("error_rate")


class _Making:
    """Makes the parts of a plan; what doesn't go together is noted with its line."""

    def __init__(self, free: Mapping[str, Any], walk: Walk, currency: str) -> None:
        self.free = free
        self.walk = walk
        self.currency = currency
        self.ends_itself = False  # a search measures level after level, a ramp step after step
        self.has_objectives = bool(walk.where.get("objectives"))

    def named(self, group: str, said: Mapping[str, Any]) -> dict[str, Any]:
        """What was said, under the plan's names."""
        return {PAIRED[group].get(name, name): value for name, value in said.items()}

    def refuse(self, code: str, path: str, **values: object) -> None:
        """Notes a problem at the line of ``path`` or of what it is part of."""
        here = path
        while here and here not in self.walk.where:
            here = here[: max(here.rfind("."), here.rfind("["), 0)]
        self.walk.refuse(code, self.walk.where.get(here, 0), path=path, **values)

    def told_of(self, path: str) -> bool:
        """Whether a fault at ``path`` or below it is noted: then it isn't missing as well."""
        return any(one.what.startswith(path) for one in self.walk.problems)

    def amount(self, said: Mapping[str, Any], key: str, path: str) -> dict[str, Any]:
        """``said`` with one amount as a number of the plan's currency."""
        found: Money | None = said.get(key)
        if found is None:
            return dict(said)
        if found.currency and found.currency != self.currency:
            self.refuse("CB-P007", f"{path}.{key}", found=found.currency, currency=self.currency)
        return {**said, key: found.amount}

    def contenders(self, listed: list[dict[str, Any]]) -> tuple[Contender, ...]:
        """Endpoints to be measured; their names differ."""
        made: list[Contender] = []
        for at, said in enumerate(listed):
            path = f"contenders[{at}]"
            if "name" not in said or "url" not in said.get("target", {}):
                continue
            if said["name"] in {one.name for one in made}:
                self.refuse("CB-P008", f"{path}.name", name=said["name"])
            target = Target(
                **{
                    **said["target"],
                    "headers": self.free.get(f"{path}.target.headers") or {},
                    "body": self.free.get(f"{path}.target.body") or {},
                }
            )
            rest = self.named("contender", self.amount(said, "price", path)) | {
                "target": target,
                "setup": self.free.get(f"{path}.setup") or {},
                "launch": self.free.get(f"{path}.launch") or "",
            }
            made.append(Contender(**rest))
        return tuple(made)

    def rules(self, listed: list[dict[str, Any]]) -> tuple[Rule, ...]:
        """Rules of acceptance; each kind takes a value, but for the reason of an answer's end."""
        made = []
        for at, said in enumerate(listed):
            if "kind" not in said:
                continue
            value = self.free.get(f"rules[{at}].value")
            made.append(Rule(said["kind"], value, said.get("name", "")))
            if value is None and said["kind"] != "finish-reason":
                self.refuse("CB-P013", f"rules[{at}]", kind=said["kind"])
        return tuple(made)

    def prompts(self, said: Mapping[str, Any]) -> Prompts:
        """What is asked; texts from a file need the file."""
        lengths = {
            key: Spread(one["mean"], one.get("spread", 0.0), one.get("max"))
            for key in ("input_tokens", "output_tokens")
            if (one := said.get(key)) is not None and "mean" in one
        }
        plain = {key: one for key, one in said.items() if key not in ("input_tokens", "output_tokens")}
        found = Prompts(**self.named("prompts", plain | lengths))
        if found.source != "synthetic" and not found.file:
            self.refuse("CB-P014", "prompts", source=found.source)
        longest = found.input.most_tokens
        if longest is None and not found.input.spread_ratio:
            longest = found.input.mean_tokens
        if longest is not None and found.source == "synthetic" and found.shared_prefix_tokens > longest:
            self.refuse("CB-P015", "prompts.shared_prefix_tokens", tokens=f"{found.shared_prefix_tokens:g}")
        return found

    def runs(self, listed: list[dict[str, Any]], contenders: set[str]) -> tuple[Run, ...]:
        """Runs in their order; each names its contender and has what its phase needs."""
        made: list[Run] = []
        for at, said in enumerate(listed):
            path = f"runs[{at}]"
            if any(key not in said for key in ("name", "phase", "candidate")):
                continue
            if said["name"] in {one.name for one in made}:
                self.refuse("CB-P008", f"{path}.name", name=said["name"])
            if contenders and said["candidate"] not in contenders:
                self._unknown_contender(said["candidate"], path, contenders)
            plain = self.named("run", self.amount(self.amount(said, "cost", path), "worth", path))
            self.ends_itself = said["phase"] in ("search", "memory")
            plain["load"] = self.load(said.get("load"), f"{path}.load")
            if said["phase"] == "search" and plain["load"].kind == "closed" and not self.has_objectives:
                self.refuse("CB-P035", path)
            plain["drills"] = tuple(
                self.drill(one, f"{path}.drills[{place}]", plain["load"])
                for place, one in enumerate(said.get("drills") or [])
            )
            plain["job"] = self.job(said["job"], f"{path}.job") if "job" in said else None
            plain["expected"] = tuple(
                Expected(**one)
                for one in said.get("expected") or []
                if {"metric", "value", "low", "high"} <= set(one)
            )
            plain["decides"] = tuple(
                Turn(**one)
                for one in said.get("decides") or []
                if {"metric", "side", "at", "then"} <= set(one)
            )
            run = Run(**plain)
            made.append(run)
            self._phase(run, said, path)
            self._metrics(run, said, path)
        return tuple(made)

    def _unknown_contender(self, name: str, path: str, contenders: set[str]) -> None:
        near = closest(name, contenders)
        known = ", ".join(sorted(contenders))
        cure = tr("brief.closest", near=near) if near else tr("brief.choices", choices=known)
        self.refuse("CB-P009", f"{path}.candidate", name=name, cure=cure)

    def _metrics(self, run: Run, said: Mapping[str, Any], path: str) -> None:
        """What is expected of a run, or decides, is a figure that runs have."""
        known = known_metrics(run.job.patterns if run.job else {})
        for key in ("expected", "decides"):
            for at, one in enumerate(said.get(key) or []):
                name = one.get("metric", known[0])
                if name not in known:
                    near = closest(name, known)
                    cure = (
                        tr("brief.closest", near=near)
                        if near
                        else tr("brief.choices", choices=", ".join(known))
                    )
                    self.refuse("CB-P034", f"{path}.{key}[{at}].metric", name=name, cure=cure)

    def _phase(self, run: Run, said: Mapping[str, Any], path: str) -> None:
        """A drill needs something that fails, a training run a job, the others a load."""
        needs = {
            "drill": ("drills", run.drills),
            "training": ("job", run.job),
            "load": ("load", said.get("load")),
        }
        key, there = needs.get(run.phase, ("", True))
        if not there and not self.told_of(f"{path}.{key}"):
            self.refuse("CB-P016", path, phase=run.phase, key=key)
        if any(one.kind == "checkpoint" for one in run.drills) and not (run.job and run.job.checkpoint):
            self.refuse("CB-P024", f"{path}.drills")
        if run.drills and run.phase != "drill":
            self.refuse("CB-P017", f"{path}.drills", phase=run.phase)
        for one in run.expected:
            if not one.low <= one.value <= one.high:
                self.refuse("CB-P018", f"{path}.expected", metric=one.metric)

    def load(self, said: Mapping[str, Any] | None, path: str) -> Load:
        """How requests arrive, with what its kind needs and an end."""
        if said is None or "kind" not in said:
            return Load()
        plain = self.named("load", said)
        plain["steps"] = tuple(
            (one["requests_per_s"], one["duration"])
            for one in said.get("steps") or []
            if "requests_per_s" in one and "duration" in one
        )
        plain["profile"] = self._profile(said.get("profile"), f"{path}.profile")
        load = Load(**plain)
        needs = {
            "closed": ("concurrency", load.concurrency), "poisson": ("requests_per_s", load.requests_per_s),
            "gamma": ("requests_per_s", load.requests_per_s), "steps": ("steps", load.steps),
            "profile": ("profile", load.profile), "trace": ("trace", load.trace),
        }  # fmt: skip
        key, there = needs[load.kind]
        if not there and not self.told_of(f"{path}.{key}"):
            self.refuse("CB-P019", path, kind=load.kind, key=key)
        has_rate = load.requests_per_s is not None or self.told_of(f"{path}.requests_per_s")
        if load.kind == "profile" and not has_rate:
            self.refuse("CB-P019", path, kind=load.kind, key="requests_per_s")
        ends = load.duration_s is not None or load.requests_count is not None
        ends = ends or self.told_of(f"{path}.duration") or self.told_of(f"{path}.requests:")
        if not ends and not self.ends_itself and load.kind not in ("steps", "trace"):
            self.refuse("CB-P020", path)
        return load

    def _profile(self, said: Any, path: str) -> tuple[float, ...]:
        """Hourly weights with mean 1, by name or one for each hour of a day or a week."""
        if said is None:
            return ()
        if isinstance(said, tuple):
            return named(said[0])
        if self.told_of(f"{path}["):
            return ()
        if len(said) not in (DAY_HOURS, WEEK_HOURS):
            self.refuse("CB-B027", path, count=len(said))
            return ()
        if not any(said):
            self.refuse("CB-P033", path)
            return ()
        kept = tuple(float(one) for one in said)
        return kept if abs(sum(kept) / len(kept) - 1) < 1e-9 else normalised(kept)

    def drill(self, said: Mapping[str, Any], path: str, load: Load) -> Drill:
        """A failure with the means to make it."""
        plain = self.named("drill", _whole_bytes(said, "cut_after"))
        for key in ("command", "undo"):
            plain[key] = self.free.get(f"{path}.{key}") or ()
        if "kind" not in plain:
            return Drill("command")
        drill = Drill(**plain)
        called = bool(drill.command or drill.pid_file)
        slowed = bool(drill.delay_s or drill.jitter_s or drill.bytes_per_s)
        there, needed = {
            "slow-network": (
                slowed and drill.lasts_s > 0,
                "delay + lasts, jitter + lasts, bandwidth + lasts",
            ),
            "cut-network": (drill.lasts_s > 0, "lasts"),
            "checkpoint": (True, ""),  # the run's job is what is stopped
            "drain": (bool(drill.command), "command"),
            "bad-deploy": (bool(drill.command and drill.undo), "command + undo"),
            "cold-start": (called and bool(drill.undo), "pid_file + undo, command + undo"),
        }.get(drill.kind, (called, "command, pid_file"))
        if not there and not self.told_of(f"{path}."):
            self.refuse("CB-P021", path, kind=drill.kind, needed=needed)
        if load.duration_s is not None and drill.at_s >= load.duration_s:
            self.refuse("CB-P022", f"{path}.at")
        return drill

    def job(self, said: Mapping[str, Any], path: str) -> Job:
        """A training job with the command that starts it."""
        plain = self.named("job", said)
        plain["command"] = self.free.get(f"{path}.command") or ()
        plain["patterns"] = self.free.get(f"{path}.patterns") or {}
        if not plain["command"] and not self.told_of(f"{path}.command"):
            self.refuse("CB-P023", path)
        return Job(**plain)
