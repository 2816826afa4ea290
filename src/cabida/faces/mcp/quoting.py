"""Tools about vendors' offers: audited, compared, answered with a letter and an annex, kept."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from cabida.errors import InvalidInput
from cabida.faces.mcp.args import AS_OF, CURRENCY, LONG_CHARS, Arg
from cabida.faces.mcp.commanded import rows, tool_of
from cabida.faces.mcp.given import decision_of, path_of
from cabida.faces.mcp.tool import Asked, Told, Tool
from cabida.text import language, problem, tr

if TYPE_CHECKING:
    from cabida.evidence.quotes import Quote

QUOTE = Arg("quote", needed=True, most=LONG_CHARS)
KNOWN = {  # what is known instead of assumed, as the use case takes it
    "utilisation_ratio": "number", "stored_gb": "number", "egress_gb_per_month": "number", "staff_count": "number",
    "loaded_money_per_year": "number", "migration_days": "number", "wacc_ratio": "number",
    "unrecovered_tax_ratio": "number",
}  # fmt: skip
NEEDS = Arg("known", "map", flags=KNOWN)
MOST_QUOTES = 12
GAP = ("severity", "title", "question")


def quotes_of(asked: Asked, said: str) -> tuple[Quote, ...]:
    """The quotes that a call brings: a pasted text, one that is kept (``q3``), or a file under the folder."""
    from cabida.evidence.quotes import read_quotes
    from cabida.evidence.quotes.keeping import is_name, quote_named

    if is_name(said):
        return (quote_named(said, asked.store).quote,)
    if "\n" in said or asked.place.root is None:
        return read_quotes("quote.txt" if not _as_yaml(said) else "quote.yaml", text=said)
    return read_quotes(path_of(asked.place, said))


def _as_yaml(text: str) -> bool:
    """Whether the first line that says something reads ``name: value``, as the form of a quote does."""
    lines = (line.strip() for line in text.splitlines())
    first = next((line for line in lines if line and not line.startswith("#")), "")
    name, colon, _ = first.partition(":")
    return bool(colon) and name.replace("_", "").isalnum() and name == name.lower()


def _one(asked: Asked) -> Quote:
    found = quotes_of(asked, str(asked.said["quote"]))
    if len(found) != 1:
        raise InvalidInput([problem("CB-Q290", file="quote", count=len(found))])
    return found[0]


def _beside(asked: Asked) -> dict[str, Any]:
    decision = decision_of(asked) if "decision" in asked.said else None
    return {
        "decision": decision,
        "language": language(),
        **asked.only("as_of", "currency"),
        **asked.get("known", {}),
    }


def _audit(asked: Asked) -> Told:
    from cabida import app

    made = app.quote_audit(_one(asked), **_beside(asked))
    form = asked.get("give", "audit")
    if form != "audit":
        text = (app.quote_letter if form == "letter" else app.quote_annex)(made)
        return Told({"text": text, "lines_count": len(text.splitlines())}, tr(f"mcp.say.{form}"))
    whole = asdict(made)
    gaps = [f"{one['severity']}: {one['title']} {one['question']}" for one in whole["gaps"]]
    shown = {name: whole[name] for name in ("vendor", "quote_id", "purpose", "verdict", "answer", "as_of")}
    shown |= {"completeness": whole["completeness"], "findings": whole["findings"], "price": whole["price"]}
    shown |= {
        "gaps_count": len(gaps),
        "gaps": gaps,
        "placed": whole["placed"],
        "against": whole.get("against"),
    }
    return Told(whole, made.answer, shown)


def _compare(asked: Asked) -> Told:
    from cabida import app

    found = [one for each in asked.said["quotes"] for one in quotes_of(asked, each)]
    made = app.quote_compare(found, **_beside(asked))
    return Told(asdict(made), made.answer)


def _offer(asked: Asked) -> Told:
    from cabida import app

    return Told({"text": app.quote_offer(_one(asked))}, tr("mcp.say.offer"))


def _template(asked: Asked) -> Told:
    from cabida import app

    text = str(app.quote_template("yaml", purpose=asked.get("purpose", ""), language=language()))
    return Told({"text": text, "lines_count": len(text.splitlines())}, tr("mcp.say.template"))


def _add(asked: Asked) -> Told:
    from cabida.evidence.quotes import keep

    kept = keep(quotes_of(asked, str(asked.said["quote"])), asked.store)
    ids = [one.id for one in kept]
    return Told({"ids": ids}, tr("mcp.say.kept", id=", ".join(ids)))


GIVE = Arg("give", among=("audit", "letter", "annex"))
TOOLS = (
    Tool(
        "quote_audit", _audit, (QUOTE, GIVE, Arg("decision"), CURRENCY, NEEDS, AS_OF),
        {"verdict": "string", "answer": "string", "gaps": "array", "text": "string"},
        ("quote_audit", "quote_letter", "quote_annex", "quote_read"),
    ),
    Tool(
        "quote_compare", _compare,
        (Arg("quotes", "strings", needed=True, most=MOST_QUOTES), Arg("decision"), CURRENCY, NEEDS, AS_OF),
        {"answer": "string", "rows": "array"}, ("quote_compare",),
    ),
    Tool("quote_offer", _offer, (QUOTE,), {"text": "string"}, ("quote_offer",)),
    Tool(
        "quote_template", _template, (Arg("purpose", among=("rent", "reserve", "buy", "api", "cluster")),),
        {"text": "string"}, ("quote_template",),
    ),
    tool_of(
        "quotes", "quote list", "", lambda data: tr("mcp.say.rows", count=data["rows_count"]), whole=rows,
        gives="rows:array rows_count:integer", covers="quotes",
    ),
    Tool("quote_keep", _add, (QUOTE,), {"ids": "array"}, ("quote_add",), changes=True),
)  # fmt: skip
