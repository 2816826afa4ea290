"""The questions that can be answered, as data: how people put them in English and Spanish.

The first whose pattern is found and whose needs are named is what was asked. Patterns are of plain text: lower case, no
accents. ``needs``: cards (one at least), pair (two cards), model, format.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher

from cabida.app.asking.slots import Slots, plain, slots
from cabida.text import tr


@dataclass(frozen=True, slots=True)
class Intent:
    """One question that can be answered; its example is text ``asking.example.NAME``."""

    name: str
    pattern: str
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Read:
    """A question as understood."""

    intent: str
    slots: Slots


GPU = r"(?:gpus?|cards?|tarjetas?|grafica|accelerators?|aceleradora?s?|hardware)"
BEST = r"(?:best|cheapest|right|good|which|what|mejor|cual|que|mas barat\w+|conviene)"
INTENTS = (
    Intent("why_not", r"\bwhy (not|isn'?t|wasn'?t|aren'?t|didn'?t)\b|\bpor que no\b"),
    Intent("why", r"\bwhy (this|that|did|is|was|the|does)\b.*(w[io]n|win\w*|chos\w+|recommend\w*|first|best|option)|\bwhy this\b|\bpor que (es|gana|este|esta|ese|fue|la|el)\b"),
    Intent("change", r"what (would|could|might) (change|flip|alter)|change (the|your) (answer|decision|winner|mind)|que (podria )?(cambiaria|cambiar)|cambiaria la (respuesta|decision)"),
    Intent("sure", r"how (sure|confident|certain|reliable)|can i trust|que tan segur|como de segur|cuan segur|que seguridad|es fiable|me puedo fiar"),
    Intent("measure", r"what (should|do|must) (i|we) (measure|benchmark|test)|which (measurement|benchmark)|que (debo|deberia|tengo que|hay que|conviene|debemos) (medir|probar)|worth measuring"),
    Intent("profile", r"\b(student|hobby\w*|estudiante|aficionado|start-?up|emprendimiento|enterprise|corporat\w+|gran empresa|empresa grande|research group|grupo de investigacion|university|universidad)\b"),
    Intent("mig", r"\bmig\b|partition\w*|\bslices?\b|\bparticion\w*|rebanada|dividir"),
    Intent("used", r"\bused\b|second[- ]?hand|refurbished|de segunda mano|\busad[ao]s?\b|reacondicionad", ("cards",)),
    Intent("price", r"(good|fair|high|cheap|expensive|reasonable|normal) price|(good|fair) deal|is the price|overpriced|too (expensive|much)|(buen|mal|caro|barato|justo|razonable)\w* (precio|trato)|precio (justo|bueno|razonable|normal|alto)|es (caro|barato|cara|barata)|esta bien de precio|buen precio", ("cards",)),
    Intent("rent_or_buy", r"\b(rent|cloud|lease|alquil\w+|nube|arrendar|rentar)\b.*\b(buy|own|purchas\w+|compr\w+)\b|\b(buy|own|purchas\w+|compr\w+)\b.*\b(rent|cloud|lease|alquil\w+|nube|arrendar|rentar)\b|when does (owning|buying) pay|cuando (compensa|conviene) comprar"),
    Intent("rent_or_api", r"\bapis?\b"),
    Intent("overbuy", r"over-?(buy|buying|provision\w*|spend\w*|size|sizing)|too many gpus|buy too much|how much headroom|sobredimension|comprar de mas|gastar de mas|comprar demasiad|cuanto margen|cuanta holgura"),
    Intent("fine_tune", r"fine-?tun\w*|\bqlora\b|\blora\b|afin(ar|o)|ajust(ar|e) fino|ajustar|\btrain\b.*\b(on|with)\b|entren\w+ .*\b(en|con)\b", ("cards", "model")),
    Intent("quantisation", r"(which|what|best|cual|que|mejor) .{0,20}(quanti[sz]ation|quants?\b|precision|weight format|cuantizacion|formato de pesos|cuantificacion)|(how|como) .{0,12}(quanti[sz]e|cuanti[zf])|quanti[sz]ation (for|should)"),
    Intent("compatible", r"support\w*|compatib\w+|\bruns? (on|in)\b|\bworks? (on|in|with)\b|soport\w+|funciona\w*|admite\w*|corre en|\bcan .* (use|do|run)\b|puede\w* .* (usar|ejecutar)|\bhas\b|\btiene\b|\bdo(es)? .* have\b", ("cards", "format")),
    Intent("serve", r"how many (\w+ )?(users?|requests?|people|queries|tokens|clients)|(cuant[oa]s|que cantidad de) (\w+ )?(usuarios|peticiones|personas|consultas|solicitudes|tokens|clientes)|how fast|throughput|que tan rapid|como de rapid|(a )?que velocidad|rendimiento de", ("model",)),
    Intent("quality_of_versus", r"\b(always|ever) (better|faster|cheaper|worth)|siempre (mejor|mas)|better than|worth it over|es mejor .* que|mejor que", ("pair",)),
    Intent("instead", r"instead of|rather than|in place of|en vez de|en lugar de", ("pair",)),
    Intent("month_cost", r"how much (does|do|would|will|is)|what (does|would|will) .* cost|cost (of|a month|per month)|monthly (cost|bill)|cuanto (cuesta|costaria|cobra\w*|vale|me)|coste|costo mensual|que precio tiene", ("model",)),
    Intent("fit", r"\bfit\w*|\bcan .*\b(run|hold|load|host|serve)|\bwill .* (run|work|fit)|\bdo(es)? .* (run|work) |enough (memory|vram)|\bcab(e|en|ria)\b|entra en|puede\w* (\w+ )?(correr|ejecutar|cargar|con)|puedo (correr|ejecutar|cargar|usar)|alcanza|basta\w*|\bcorre\b|suficiente", ("cards", "model")),
    Intent("either", r"\bor\b|\bo\b|\bu\b|\bvs\.?\b|versus|against|frente a|contra|compar\w+|entre|difference|diferencia", ("pair",)),
    Intent("best_training", rf"\b{BEST}\b.*\b(train\w*|fine-?tun\w*|pre-?train\w*|lora|qlora|entren\w*|afin\w+|ajuste fino|preentren\w*)"),
    Intent("best_inference", rf"\b{BEST}\b.*\b{GPU}\b|\b{BEST}\b.*\b(infer\w+|serv\w+|run\w*|chat\w*|llms?|ejecut\w+|correr|desplegar|deploy\w*)"),
    Intent("what_for", r"what (is|are) .* (good )?for|(when|why) (should|would|to) .*use|para que (sirve|es|vale)|cuando usar", ("cards",)),
    Intent("fit", r".", ("cards", "model")),
    Intent("what_for", r"what is|what are|tell me|que es|hablame|info|specs?", ("cards",)),
)  # fmt: skip
SAME = {"quality_of_versus": "better"}
NAMES = tuple(dict.fromkeys(SAME.get(one.name, one.name) for one in INTENTS))


def read(question: str, *, cards: int = 0, model: bool = False) -> Read | None:
    """What a question asks, ``None`` when it is none of those that can be answered.

    Args:
        question: as typed.
        cards: how many accelerators were said beside it; model: whether a model was.
    """
    text, found = plain(question)[:600], slots(question[:600])
    has = {
        "cards": len(found.cards) + cards > 0, "pair": len(found.cards) + cards > 1,
        "model": bool(found.models) or model, "format": bool(found.formats),
    }  # fmt: skip
    for one in INTENTS:
        if all(has[need] for need in one.needs) and re.search(one.pattern, text):
            return Read(SAME.get(one.name, one.name), found)
    for one in INTENTS:  # it lacks something that is asked back
        if one.pattern != "." and re.search(one.pattern, text):
            return Read(SAME.get(one.name, one.name), found)
    return None


def nearest(question: str, count: int = 6) -> list[str]:
    """Questions that can be answered, the most alike first."""
    asked, words = plain(question), set(plain(question).split())

    def alike(name: str) -> float:
        example = plain(tr(f"asking.example.{name}"))
        return len(words & set(example.split())) + SequenceMatcher(None, asked, example).ratio()

    return [tr(f"asking.example.{name}") for name in sorted(NAMES, key=alike, reverse=True)][:count]
