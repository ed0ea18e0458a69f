"""Wrong runtimes by rule: every change of one operator, constant, type or statement of libcachezoo's deciding code.

Whoever wrote the golden sets did not choose them, so they say what the sets miss. A change that is no C any more does
not compile, and is left out.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.c_library import LIBRARY
from tests.mutants.mutants import Mutant
from tests.mutants.switched import parts_of

# What decides, by kind; the kinds share some. LSTM arithmetic is held by outputs within 1e-5, and is not here.
HISTORY = ("history.c", "history_keys.c", "names.c", "forest.c")
FLASH = ("flash.c", "flash_set.c", "modes.c", "index.c", "index.h")
SEQUENCE = ("sequence.c", "pages.c")
DECIDING = {
    "admission": (*HISTORY, *FLASH, "kind_admission.c"),
    "caching": (*SEQUENCE, "index.c", "index.h", "manager.c", "kind_caching.c"),
    "workload": ("window.c", "monitor.c", "kind_workload.c"),
    "reuse": (
        "forest.c", "reuse_parts.h", "reuse_azor.c", "reuse_cache.c", "reuse_classic.c", "reuse_follow.c",
        "reuse_hazards.c", "reuse_lfu.c", "reuse_lirs.c", "reuse_lru.c", "reuse_own.c", "reuse_past.c",
        "reuse_s3fifo.c", "reuse_table.c", "reuse_trees.c", "reuse_worth.c", "reuse_wtinylfu.c", "kind_reuse.c",
    ),
    "streams": ("streams_table.c", "kind_streams.c"),
    "lifetime": ("lifetimes.c", "forest.c", "kind_streams.c"),
    "virtual": (
        "queue.c", "queue_keyed.c", "queue_stack.c", "queue_tree.c", "virtual.c", "virtual_map.c", "virtual_view.c",
        "kind_virtual.c",
    ),
}  # fmt: skip
# Functions that decide nothing: what is saved, counted and freed, and what is refused.
ASIDE = re.compile(
    r"^remake|save|restore|saved|free$|bytes$|stats$|_sound$|may_swap|swapped|fail|refuse|unfit|check|_same$|least_keys"
)
OTHERS = {
    "<": ("<=", ">"), "<=": ("<", ">="), ">": (">=", "<"), ">=": (">", "<="), "==": ("!=",), "!=": ("==",),
    "+": ("-",), "-": ("+",), "*": ("/",), "/": ("*",), "%": ("/",), "<<": (">>",), ">>": ("<<",), "&": ("|",),
    "|": ("&",), "^": ("&",), "&&": ("||",), "||": ("&&",), "++": ("--",), "--": ("++",), "+=": ("-=",),
    "-=": ("+=",), "*=": ("/=",), "/=": ("*=",), "|=": ("&=",), "&=": ("|=",), "^=": ("|=",), "!": ("",), "~": ("",),
}  # fmt: skip
# No set has 32,768 pages, so widths of 16 bits are not among them.
NARROWER = {
    "int64_t": "int32_t", "uint64_t": "uint32_t", "int32_t": "int8_t", "uint32_t": "uint8_t", "uint16_t": "uint8_t",
    "double": "float",
}  # fmt: skip
SATURATED = (255, 65535)
TOKEN = re.compile(
    r'(?P<skipped>//[^\n]*|/\*.*?\*/|^\#[^\n]*|\s+)|(?P<text>"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\')'
    r"|(?P<number>\.?\d(?:[\w.]|(?<=[eE])[+-])*)|(?P<word>[A-Za-z_]\w*)"
    r"|(?P<sign><<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)",
    re.DOTALL | re.MULTILINE,
)
NO_STATEMENT = set(
    "if else for while do switch case default return goto break continue const static struct enum unsigned int char "
    "float double bool void size_t".split()
)
RELEASES = {"free", "fclose", "__builtin_prefetch", "cz_fail", "cz_refuse"}
NAMED = re.compile(r"[A-Z][A-Z0-9_]+")
NO_VALUE = re.compile(
    r"NULL|U?INT\d+_C|CZ_OK|CZ_BAD_\w+|CZ_NO_MEMORY|CZ_IO|CZ_DIFFERENT|CZ_AGAIN|\w+_MAX|\w+_MIN|CZ_LEAF|CZ_FAN"
)
ASSIGNS = {"=", "+=", "-=", "*=", "/=", "|=", "&=", "^=", "%=", "<<=", ">>=", "++", "--"}
CLOSES = ")]}"


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def _tokens(source: str, start: int, end: int) -> list[_Token]:
    found = []
    for match in TOKEN.finditer(source, start, end):
        kind = str(match.lastgroup)
        if kind != "skipped":
            found.append(_Token(kind, match[0], match.start()))
    return found


def _of_tokens(tokens: list[_Token]) -> Iterator[tuple[_Token, str]]:
    """Other operators, constants and types, one at a time."""
    for token, after in zip(tokens, [*tokens[1:], tokens[-1]], strict=True):
        text = token.text
        if token.kind == "sign":
            for other in OTHERS.get(text, ()):
                yield token, other
        elif token.kind == "number":
            yield token, f"({text} + 1)"
            if not re.fullmatch(r"0|0x0", text):
                yield token, f"({text} - 1)"
        elif text in NARROWER:
            yield token, NARROWER[text]
        elif NAMED.fullmatch(text) and not NO_VALUE.fullmatch(text) and after.text != "(":
            yield token, f"({text} + 1)"


def _statements(tokens: list[_Token]) -> Iterator[tuple[list[_Token], str]]:
    """Expressions that are statements: their tokens without the semicolon, and the same as a text that has none."""
    depth, start, control = 0, None, []
    for k, token in enumerate(tokens):
        text, before = token.text, tokens[k - 1] if k else None
        begins = before is not None and depth == 0 and (
            before.text in (";", "{", "}", "else", "do") or (before.text == ")" and control and control[-1])
        )  # fmt: skip
        if begins and text not in CLOSES and text != "{":
            start = k
        if text in ("(", "["):
            depth += 1
            if depth == 1:
                control.append(text == "(" and before is not None and before.text in ("if", "for", "while", "switch"))
        elif text in (")", "]"):
            depth -= 1
        elif text == ";" and depth == 0 and start is not None:
            if _is_expression(tokens[start:k]):
                yield tokens[start:k], ""
            start = None


def _is_expression(tokens: list[_Token]) -> bool:
    if len(tokens) < 2 or tokens[0].text in NO_STATEMENT or tokens[0].text in RELEASES:
        return False
    declares = tokens[0].kind == "word" and (
        tokens[1].kind == "word" or (tokens[1].text == "*" and tokens[2].kind == "word")
    )
    return not declares and (tokens[-1].text == ")" or bool(ASSIGNS & {token.text for token in tokens}))


def _saturated(tokens: list[_Token], source: str) -> Iterator[str]:
    """A sum that stops at the end of a narrow counter."""
    texts = [token.text for token in tokens]
    sums = [k for k, text in enumerate(texts) if text in ASSIGNS]
    if len(sums) != 1 or texts[sums[0]] not in ("++", "+="):
        return
    k = sums[0]
    place = tokens[1:] if k == 0 else tokens[:k]
    if texts[:k].count("[") != texts[:k].count("]"):
        return
    name = source[place[0].start : place[-1].end]
    whole = source[tokens[0].start : tokens[-1].end]
    for most in SATURATED:
        yield f"{{ {whole}; if ({name} > {most}) {name} = {most}; }}"


def _said(source: str, low: int, high: int, wrong: str) -> str:
    """The lines of a change, which stay the same where others come and go: [right -> wrong] stands in them."""
    first, last = source.rfind("\n", 0, low) + 1, source.index("\n", high)
    text = f"{source[first:low]}[{source[low:high]} -> {wrong or 'nothing'}]{source[high:last]}"
    return " ".join(text.split())


def changes_of(name: str, source: str) -> Iterator[Mutant]:
    """All mutants of a source, in the order of their places, named by function and line."""
    named: Counter[str] = Counter()
    for _, end, function in parts_of(source):
        if function is None or ASIDE.search(function["name"]):
            continue
        tokens = _tokens(source, source.index("{", function.end() - 1), end)
        made: list[tuple[int, int, str]] = [
            (token.start, token.end, other) for token, other in _of_tokens(tokens)
        ]  # fmt: skip
        for statement, without in _statements(tokens):
            low, high = statement[0].start, statement[-1].end
            made.append((low, high, without))
            made += [(low, high + 1, other) for other in _saturated(statement, source)]
        for low, high, wrong in sorted(made):
            said = f"{name} {function['name']}: {_said(source, low, high, wrong)}"
            named[said] += 1
            again = f" ({named[said]})" if named[said] > 1 else ""  # a line may stand in a function more than once
            yield Mutant(said + again, name, source[low:high], wrong, low)


def all_changes(kinds: tuple[str, ...] = tuple(DECIDING), library: Path = LIBRARY) -> list[Mutant]:
    """All mutants of the deciding code of some kinds."""
    names = dict.fromkeys(name for kind in kinds for name in DECIDING[kind])
    return [
        mutant for name in names for mutant in changes_of(name, (library / "src" / name).read_text(encoding="utf-8"))
    ]
