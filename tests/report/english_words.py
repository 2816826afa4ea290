"""Words of the English texts that no Spanish text uses: what must not be read in Spanish."""

import json
import re
from pathlib import Path

LOCALE = Path(__file__).parents[2] / "src" / "cabida" / "locale"
WORD = re.compile(r"(?<![\w./@#=+:-])[A-Za-zÁÉÍÓÚÑÜáéíóúñü]{2,}(?![\w/@#=+(…-]|\.\w)")
CODE = re.compile(
    r"```.*?```|`[^`]*`|https?://\S+|\\(?=_)|cabida launch \S+ --out \w+"
    r"|<(?:script|style|pre)\b.*?</(?:script|style|pre)>|<[^>]*>",
    re.S,
)
# what Spanish engineers say in English, constants and functions of equations, and words of both languages
SAID = set(
    ("cache device draft error file host kv long online per spot store support token tokens year").split()  # noqa: SIM905
)


def vocabulary(language):
    found = {}
    for file in (LOCALE / language).glob("*.json"):
        for text in json.loads(file.read_text("utf-8")).values():
            for word in WORD.findall(re.sub(r"\{[^}]*\}", " ", CODE.sub(" ", text))):
                found[word.lower()] = found.get(word.lower(), 0) + 1
    return found


ENGLISH = {word for word, times in vocabulary("en").items() if times > 1} - set(vocabulary("es")) - SAID
