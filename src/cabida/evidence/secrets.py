"""Secrets that logs print - keys, tokens, passwords - are blanked before anything is kept."""

from __future__ import annotations

import re

BLANK = "[redacted]"
LONGEST = 4000  # characters looked at; nobody keeps more of a line
_NAMES = (
    r"(?:[\w.-]{0,40}(?:api|access|secret|private|auth|account|service|encryption|signing)[-_]?keys?(?:[-_]?id)?|"
    r"[\w.-]{0,40}(?:passw(?:or)?d|passwd|secret|credentials?)|(?:[\w.-]{0,40}[-_])?(?:hf|hub|hugging[-_]?face|auth|access|bearer|"
    r"api|secret|session|refresh|ngc|wandb|github|bot|id)[-_]?tokens?|[A-Z0-9_]{0,60}_(?:TOKEN|KEY|SECRET|PASSWORD|PAT)|"
    r"(?:use_auth_)?token|authorization)"
)
_WORD = re.compile(
    r"(?i)key|passw|secret|credential|token|authori[sz]ation|_pat"
)  # one of them is in every name
_VALUE = r"(?:\[[^\]]*\]?|'[^']*'?|\"[^\"]*\"?|(?:Bearer|Basic)\s+\S+|[^\s,;)}\]]+)"
_NOTHING = r"(?!None\b|null\b|False\b|''|\"\")"
_NAMED = re.compile(rf"(?i)(?<![\w/])({_NAMES}['\"]?\s*[=:]\s*){_NOTHING}{_VALUE}")
_FLAGGED = re.compile(rf"(?i)((?<![\w-])--?{_NAMES}['\"]?,?\s+)(?!-){_NOTHING}{_VALUE}")
_SHAPED = re.compile(
    r"\b(?:hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|nvapi-[\w-]{16,}|"
    r"AKIA[0-9A-Z]{12,}|ASIA[0-9A-Z]{12,}|xox[abprs]-[\w-]{10,}|AIza[\w-]{30,}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*|"
    r"glpat-[\w-]{16,}|cabida_[\w-]{40,})"
)
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{8,}")
_LOGIN = re.compile(r"(?<=://)[^\s/@:]*:[^\s/@]+(?=@)")
_QUERY = re.compile(
    r"(?i)([?&](?:token|key|sig|signature|x-amz-[\w-]+|access_token|api_key|password)=)[^&\s'\"]+"
)


def redacted(text: str) -> str:
    """``text`` with keys, tokens, passwords and logins in addresses blanked; a longer one is cut."""
    text = text[:LONGEST]
    if _WORD.search(text):  # what names a key is looked for slowly
        text = _NAMED.sub(rf"\1{BLANK}", text)
        text = _FLAGGED.sub(rf"\1{BLANK}", text)
    text = _SHAPED.sub(BLANK, text)
    text = _BEARER.sub(rf"\1 {BLANK}", text)
    text = _QUERY.sub(rf"\1{BLANK}", text)
    return _LOGIN.sub(BLANK, text)
