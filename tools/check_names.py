"""Check of names: banned words, participles as functions, class names defined twice, unclear docstrings.

Usage: python tools/check_names.py [--count] [PATH ...]; by default src/, tools/, tests/, benchmarks/ and studies/.
Exit code 1 when something is found. `--count` prints totals by rule instead of the locations.
"""

import ast
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

CHECKED_FOLDERS = ("src", "tools", "tests", "benchmarks", "studies")
BANNED = frozenset(
    """
    found one own every each at made told settled beside merit merits place places piece pieces among most longest begun
    given taken held carved living judged wanted answered looked asked reckoned bent fed unfed cohort cohorts witness
    sighted watched watching wanting whole whose spoken witnessed
    """.split()
)
"""Identifiers that are never used; GLOSSARY names the field's word for each."""
SUBJECT_WORDS = {"phrasebook": frozenset({"place", "places", "most", "merit", "at", "each"})}
"""Banned words that are the subject of a folder: the demo's grammar has nouns of places and the word "most"."""
PARTICIPLES = frozenset(
    """
    told held made taken given begun found chosen grown known shown drawn written said kept left lost born cut spelt
    learnt bent met sent read_by fed gone done seen laid bound
    """.split()
)
BOOLEAN_RETURNS = {"bool"}
RIDDLES = re.compile(r"(What|Who|Whose|Whom|Whether|Those|Of|So many|How many|Where) ")


def identifiers(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield each name that is bound in a module, with its line: functions, classes, parameters, variables."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno


def is_participle_function(node: ast.AST) -> bool:
    """Return whether a function is named by a bare participle although it does not return a boolean."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    if any(isinstance(decorator, ast.Name) and decorator.id == "property" for decorator in node.decorator_list):
        return False
    word = node.name.lstrip("_")
    participle = "_" not in word and (word in PARTICIPLES or re.fullmatch(r"[a-z]{3,}ed", word) is not None)
    returned = ast.unparse(node.returns) if node.returns else ""
    return participle and word not in {"seed", "embed", "speed", "feed", "need"} and returned not in BOOLEAN_RETURNS


def riddles(tree: ast.AST) -> Iterator[int]:
    """Yield the lines of docstrings that begin with a question word instead of naming the thing."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text and RIDDLES.match(text):
                yield node.body[0].lineno


def check(paths: list[Path]) -> list[tuple[str, str]]:
    """Return (rule, message) for each finding in these files; class names are compared over src/ alone."""
    findings: list[tuple[str, str]] = []
    classes: defaultdict[str, list[str]] = defaultdict(list)
    for path in paths:
        tree = ast.parse(path.read_text("utf-8"))
        allowed = frozenset[str]().union(*(SUBJECT_WORDS.get(part, ()) for part in path.parts))
        for name, line in identifiers(tree):
            if name.strip("_") in BANNED - allowed:
                findings.append(("banned name", f"{path}:{line}: {name}: a banned name. See docs/glossary.md."))
        for node in ast.walk(tree):
            if is_participle_function(node):
                function = f"{path}:{node.lineno}: {node.name}"  # type: ignore[attr-defined]
                findings.append(("participle function", f"{function}: a participle. Name what the function does."))
            if isinstance(node, ast.ClassDef) and "src" in path.parts:
                classes[node.name].append(f"{path}:{node.lineno}")
        findings += [("riddle", f"{path}:{line}: the docstring does not name the thing.") for line in riddles(tree)]
    for name, locations in classes.items():
        if len(locations) > 1:
            findings.append(("class defined twice", f"{', '.join(locations)}: class {name} is defined more than once."))
    return findings


def main(arguments: list[str]) -> int:
    roots = [Path(word) for word in arguments if word != "--count"]
    roots = roots or [
        root for name in ("src", "tools", "tests", "benchmarks", "studies") if (root := Path(name)).is_dir()
    ]
    files = sorted(path for root in roots for path in ([root] if root.is_file() else root.rglob("*.py")))
    findings = check(files)
    if "--count" in arguments:
        totals = Counter(rule for rule, _ in findings)
        for rule in ("banned name", "participle function", "riddle", "class defined twice"):
            print(f"{rule}: {totals[rule]}")
    else:
        for _, message in findings:
            print(message)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
