#!/usr/bin/env python3
"""Mutants: the protocol broken in one place on purpose. A test must notice each of them.

The source knows nothing of its mutants. They are rows of ci/mutants/*.txt, one table for each module of src:

    no_flush | wait_table/pop_stack.rs | detach_all            name | file in src | function
    - true => Head::flagged(PICKED | FLUSH),                   what the source says: whole lines, once in the function
    + true => Head::flagged(PICKED),                           what the mutant says instead; may be nothing
    = loom::pick::a_picker_of_x_against_a_notifier_of_y         the tests that fail with it, as binary::path::of::test

A binary is a file or directory of tests/, `lib` (the unit tests), or `litmus` (a test of ci/litmus.py). Lines are compared without their
indentation; blank lines separate rows; a line that starts with # is a comment.

  ci/mutants.py check                  do the tables fit the source? are all orders and fences in them? Takes half a second
  ci/mutants.py list FILE              the mutants of a source file
  ci/mutants.py diff NAME              a mutant as a patch: `ci/mutants.py diff no_flush | git apply`, and `git apply -R`
  ci/mutants.py rows [NAME...]         lines "mutant binary test", for ci/model.sh
  ci/mutants.py instrument DIR         a copy of the package with all mutants in it; the environment's LAYBY_MUTANT names the
                                       one that is alive. Writes only what has changed, so that cargo builds only that
  ci/mutants.py verification [--check] prints docs/verification.md; or: is the committed one what would be printed?

Beside the tables are
  unmutated.txt        orders and fences that have no mutant, each with the reason
  promises.txt         which promise rests on which argument, and the mutants that show it; has every mutant once
  verification.md.in   the prose of docs/verification.md

Needs: python3 (3.9 or newer), and bash for `instrument`.
"""
import collections
import difflib
import re
import subprocess
import sys
import tempfile
import textwrap
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from rust_source import ROOT, code_only, files, function_at, functions, line_of, without_tests

TABLES = ROOT / 'ci' / 'mutants'
NOT_TABLES = {'unmutated.txt', 'promises.txt'}
VERIFICATION = ROOT / 'docs' / 'verification.md'

# What an order is worth. A fence counts as more than any order; those that have a name do wherever they are named, since they
# may be handed on to be called.
STRENGTH = {'Relaxed': 0, 'Acquire': 1, 'Release': 1, 'AcqRel': 2, 'SeqCst': 3}
FENCE = 4
ORDER = re.compile(r'\b(?:Relaxed|Acquire|Release|AcqRel|SeqCst)\b|(?<!\bfn )\b(?:fence_\w+|fence(?=\s*\())')


class Misfit(Exception):
    """What a table says is not so."""


@dataclass
class Row:
    name: str
    file: str
    function: str
    old: list = field(default_factory=list)
    new: list = field(default_factory=list)
    tests: list = field(default_factory=list)


@dataclass(frozen=True)
class Fit:
    """Where a row applies: a function of the source, and of its body the lines from `first` on."""
    function: object
    first: int
    body: str  # with the mutant in it


class Source:
    """A file of src."""

    def __init__(self, text):
        self.text = text
        self.code = without_tests(code_only(text))
        self.functions = list(functions(self.code))


@lru_cache(maxsize=None)
def sources():
    return {file: Source(text) for file, text in files().items()}


# ---- the tables

def blocks(path):
    """What blank lines separate in a file of ci/mutants, as lists of lines without comments."""
    text = re.sub(r'^#.*\n', '', path.read_text(), flags=re.M)
    return [block.strip('\n').split('\n') for block in re.split(r'\n\s*\n', text) if block.strip()]


def cells(line, count, where):
    found = [cell.strip() for cell in line.split('|')]
    if len(found) != count or not all(found):
        raise Misfit(f'{where}: {count} cells are wanted: {line}')
    return found


def parse_row(block, table):
    row = Row(*cells(block[0], 3, table))
    parts = {'-': row.old, '+': row.new, '=': row.tests}
    for line in block[1:]:
        if line[:1] not in parts:
            raise Misfit(f'row {row.name}: a line begins with none of - + =: {line}')
        parts[line[0]].append(line[1:].strip())
    row.tests = [test.strip() for line in row.tests for test in line.split(',')]
    return row


@lru_cache(maxsize=None)
def read_tables():
    """The rows of all tables, and what is wrong with them by themselves."""
    rows, wrong = [], []
    for path in sorted(TABLES.glob('*.txt')):
        if path.name in NOT_TABLES:
            continue
        for block in blocks(path):
            try:
                row = parse_row(block, path.name)
            except Misfit as misfit:
                wrong.append(str(misfit))
                continue
            rows.append(row)
            wrong += [f'row {row.name}: {complaint}' for complaint in complaints(row, path.stem)]
    names = collections.Counter(row.name for row in rows)
    wrong += [f'row {name}: there are {count} of that name' for name, count in names.items() if count > 1]
    return rows, wrong


def complaints(row, module):
    if not re.fullmatch(r'[a-z][a-z0-9_]*', row.name):
        yield 'a name is made of lower-case letters, digits and _'
    if row.file != f'{module}.rs' and not row.file.startswith(f'{module}/'):
        yield f'{row.file} is not of the module {module}, whose table this is'
    if not row.old:
        yield 'no line "-" says what the source says'
    if row.old == row.new:
        yield 'the mutant is what the source is'
    if not row.tests:
        yield 'no line "=" names a test'
    for test in row.tests:
        if not re.fullmatch(r'\w+(::\w+)+', test):
            yield f'not of the form binary::path::of::test: {test}'


def row_named(name):
    row = next((row for row in read_tables()[0] if row.name == name), None)
    if row is None:
        raise Misfit(f'no mutant is named {name}')
    return row


# ---- rows and the source

def place_of(row, body):
    """The first of the lines of `body` that the row replaces; None if there is not exactly one such place."""
    lines = [line.strip() for line in body.split('\n')]
    places = [at for at in range(len(lines)) if lines[at:at + len(row.old)] == row.old]
    return places[0] if len(places) == 1 else None


def mutated(row, body, at):
    lines = body.split('\n')
    indent = re.match(r' *', lines[at])[0]
    return '\n'.join(lines[:at] + [indent + line for line in row.new] + lines[at + len(row.old):])


def fit(row):
    source = sources().get(row.file)
    if source is None:
        raise Misfit(f'row {row.name}: there is no src/{row.file}')
    named = [function for function in source.functions if function.name == row.function]
    found = []
    for function in named:
        body = source.text[function.start:function.end]
        at = place_of(row, body)
        if at is not None:
            found.append(Fit(function, at, mutated(row, body, at)))
    if len(found) != 1:
        text = '\n    '.join(row.old)
        raise Misfit(f'row {row.name}: {len(found)} functions {row.function} of {row.file} have this text once:\n    {text}')
    if found[0].function.hurdle:
        raise Misfit(f'row {row.name}: {row.function} of {row.file} {found[0].function.hurdle}: it cannot have a mutant')
    return found[0]


@lru_cache(maxsize=None)
def fits():
    """Every row that fits, with its place; and what is wrong with the others."""
    fitting, wrong = [], []
    for row in read_tables()[0]:
        try:
            fitting.append((row, fit(row)))
        except Misfit as misfit:
            wrong.append(str(misfit))
    return fitting, wrong


# ---- orders and fences

def strength(token):
    return STRENGTH.get(token, FENCE)


def tokens(lines):
    """Orders and fences of some lines, as (line, token)."""
    return [(at, found[0]) for at, line in enumerate(code_only('\n'.join(lines)).split('\n')) for found in ORDER.finditer(line)]


def weakened(row):
    """The orders and fences that the mutant lacks or weakens: (line of `row.old`, which of that line's, token)."""
    old, new = tokens(row.old), tokens(row.new)
    old_names, new_names = [token for _, token in old], [token for _, token in new]
    gone = []
    if len(old) == len(new):
        gone = [at for at, (before, after) in enumerate(zip(old_names, new_names)) if strength(after) < strength(before)]
    else:
        for _, first, last, new_first, new_last in difflib.SequenceMatcher(None, old_names, new_names, False).get_opcodes():
            instead = max((strength(token) for token in new_names[new_first:new_last]), default=-1)
            gone += [at for at in range(first, last) if strength(old_names[at]) > instead]
    # What has only moved is still there.
    gone = [at for at in gone if new_names.count(old_names[at]) < old_names.count(old_names[at])]
    for at in gone:
        line, token = old[at]
        yield line, sum(1 for before, _ in old[:at] if before == line), token


def order_of(name):
    """The order of the source that the mutant weakens. For ci/litmus.py."""
    row = row_named(name)
    fit(row)
    orders = {token for _, _, token in weakened(row) if token in STRENGTH}
    if len(orders) != 1:
        raise Misfit(f'row {name}: it weakens {len(orders)} orders, and not one')
    return orders.pop()


@dataclass(frozen=True)
class Guard:
    """An order stronger than relaxed, or a fence."""
    file: str
    line: int
    which: int  # of the line's orders and fences
    token: str
    function: str
    text: str

    def __str__(self):
        return f'src/{self.file}:{self.line}: {self.token} in {self.function}: {self.text}'


def guards():
    for file, source in sources().items():
        code = re.sub(r'\buse\s[^;]*;', lambda found: re.sub(r'[^\n]', ' ', found[0]), source.code)
        lines, seen = source.text.split('\n'), collections.Counter()
        for found in ORDER.finditer(code):
            line = line_of(code, found.start())
            seen[line] += 1
            if strength(found[0]) > 0:
                function = function_at(source.functions, found.start())
                yield Guard(file, line, seen[line] - 1, found[0], function.name if function else '-', lines[line - 1].strip())


def covered():
    """(file, line, which of its orders) of all that some row weakens."""
    for row, place in fits()[0]:
        first = line_of(sources()[row.file].text, place.function.start) + place.first
        for line, which, _ in weakened(row):
            # The first line of a body begins at its brace, behind whatever orders the signature may name: it names none.
            yield row.file, first + line, which


def read_unmutated():
    """The rows of unmutated.txt: (file, function, the line's text) -> reason."""
    for line in re.sub(r'^#.*\n', '', (TABLES / 'unmutated.txt').read_text(), flags=re.M).split('\n'):
        if line.strip():
            # The text may have bars of its own.
            file, function, rest = (cell.strip() for cell in line.split('|', 2)) if line.count('|') >= 3 else ('', '', '')
            text, _, reason = (cell.strip() for cell in rest.rpartition('|'))
            yield (file, function, text), reason, line


def check_orders():
    by_row, wrong = set(covered()), []
    bare = [guard for guard in guards() if (guard.file, guard.line, guard.which) not in by_row]
    excused, used = {}, set()
    for key, reason, line in read_unmutated():
        if not all(key) or not reason:
            wrong.append(f'unmutated.txt: file | function | text | reason are wanted: {line}')
        elif key in excused:
            wrong.append(f'unmutated.txt: twice: {line}')
        excused[key] = reason
    for guard in bare:
        key = guard.file, guard.function, guard.text
        used.add(key)
        if key not in excused:
            wrong.append(f'no mutant weakens it, and ci/mutants/unmutated.txt does not say why: {guard}')
    lines = {(guard.file, guard.function, guard.text) for guard in guards()}
    for key in excused.keys() - used:
        why = 'it has a mutant' if key in lines else 'there is no such order or fence'
        wrong.append('unmutated.txt: {}: {} | {} | {}'.format(why, *key))
    return wrong, len(bare)


# ---- promises

@dataclass
class Argument:
    claim: str
    places: list = field(default_factory=list)  # (file, what to look for there)
    besides: list = field(default_factory=list)
    mutants: list = field(default_factory=list)


def read_promises():
    """The promises with their arguments: (sentence, [Argument]). What is wrong with the file goes into the last of both."""
    promises, wrong = [], []
    for block in blocks(TABLES / 'promises.txt'):
        if block[0].startswith('== '):
            promises.append((block[0][3:].strip(), []))
            continue
        argument = Argument(block[0])
        for line in block[1:]:
            sign, text = line[:1], line[1:].strip()
            if sign == '@':
                file, _, what = (cell.strip() for cell in text.partition(','))
                argument.places.append((file, what))
            elif sign == '+':
                argument.besides.append(text)
            elif sign == '=':
                argument.mutants += [name.strip() for name in text.split(',') if name.strip()]
            else:
                wrong.append(f'promises.txt: a line begins with none of @ + =: {line}')
        if promises:
            promises[-1][1].append(argument)
        else:
            wrong.append(f'promises.txt: an argument without a promise: {block[0]}')
    return promises, wrong


def check_promises():
    promises, wrong = read_promises()
    arguments = [argument for _, arguments in promises for argument in arguments]
    times = collections.Counter(name for argument in arguments for name in argument.mutants)
    names = {row.name for row in read_tables()[0]}
    wrong += [f'promises.txt: {times[name]} groups have the mutant {name}, and not one' for name in sorted(names) if times[name] != 1]
    wrong += [f'promises.txt: no mutant is named {name}' for name in sorted(times.keys() - names)]
    for argument in arguments:
        if not argument.places:
            wrong.append(f'promises.txt: nothing says where it is argued: {argument.claim}')
        for file, what in argument.places:
            path = ROOT / file
            if not path.is_file():
                wrong.append(f'promises.txt: there is no {file}')
            elif what.strip('"`') not in path.read_text():
                wrong.append(f'promises.txt: {file} has no {what}')
    return wrong


def wrapped(text, first='', rest='  '):
    return textwrap.fill(text, 120, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False)


def verification():
    """docs/verification.md: for each argument the tests that would fail without it, and with which mutants they have failed."""
    tests_of = {row.name: row.tests for row in read_tables()[0]}
    out = []
    for sentence, arguments in read_promises()[0]:
        out += [f'## {sentence}', '']
        for argument in arguments:
            places = '; '.join(f'`{file}`, {what}' if what else f'`{file}`' for file, what in argument.places)
            out += [wrapped(f'**{argument.claim}**', '', ''), wrapped(f'Argued in {places}.', '', '')]
            if argument.besides:
                out.append(wrapped(' '.join(argument.besides), '', ''))
            out.append('')
            mutants_of = collections.defaultdict(list)
            for name in argument.mutants:
                for test in tests_of.get(name, []):
                    mutants_of[test].append(name)
            out += [wrapped(f'`{test}`: ' + ', '.join(f'`{name}`' for name in names), '- ') for test, names in mutants_of.items()]
            out.append('')
    template = (TABLES / 'verification.md.in').read_text()
    counts = dict(mutants=len(tests_of), rows=sum(map(len, tests_of.values())), bare=check_orders()[1])
    template = re.sub(r'\{(\w+)\}', lambda found: str(counts[found[1]]) if found[1] in counts else found[0], template)
    return template.replace('<!-- promises -->\n', '\n'.join(out))


# ---- the instrumented copy

ALIVE = '''//! Made by ci/mutants.py.

pub(crate) fn alive() -> &'static str {
    static ALIVE: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    ALIVE.get_or_init(|| std::env::var("LAYBY_MUTANT").unwrap_or_default())
}
'''


def instrumented(source, arms):
    """The file's text, in which each function of `arms` is a match: an arm for each mutant, and its body as it is for all else.

    So a row may change any text of a function, whether it is an expression, a statement or half of one. Bodies are taken from
    the last to the first: one that is nested in another is done before it, and a mutant of the outer one has the inner one as
    it is.
    """
    text, grown = source.text, []
    for function in sorted(arms, key=lambda function: -function.start):
        end = function.end + sum(more for start, more in grown if start < function.end)
        every = ''.join(f'"{row.name}" => {place.body}\n' for row, place in arms[function])
        match = '{ match crate::mutants::alive() {\n' + every + '_ => ' + text[function.start:end] + '\n} }'
        text = text[:function.start] + match + text[end:]
        grown.append((function.start, len(match) - (end - function.start)))
    return text


def instrumented_sources():
    """Path below src -> text, of all files that are not as they are in src."""
    arms = collections.defaultdict(lambda: collections.defaultdict(list))
    for row, place in fits()[0]:
        arms[row.file][place.function].append((row, place))
    changed = {file: instrumented(sources()[file], by_function) for file, by_function in arms.items()}
    lib = changed.get('lib.rs') or sources()['lib.rs'].text
    return {**changed, 'lib.rs': f'{lib}\nmod mutants;\n', 'mutants.rs': ALIVE}


def write_copy(directory):
    # What is there and not of the copy goes, so it had better be an earlier copy.
    if directory.is_dir() and any(directory.iterdir()) and not (directory / 'src' / 'mutants.rs').is_file():
        raise Misfit(f'{directory} is not empty, and no copy of the package')
    with tempfile.TemporaryDirectory() as staged:
        staged = Path(staged)
        subprocess.run(['bash', '-c', 'source ci/lib.sh && copy_package "$1"', 'copy', staged], cwd=ROOT, check=True)
        for file, text in instrumented_sources().items():
            (staged / 'src' / file).write_text(text)
        wanted = {path.relative_to(staged) for path in staged.rglob('*') if path.is_file()}
        for path in [path for path in directory.rglob('*') if path.is_file()]:
            if path.relative_to(directory) not in wanted:
                path.unlink()
        for path in wanted:
            content, target = (staged / path).read_bytes(), directory / path
            if not target.is_file() or target.read_bytes() != content:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)


# ---- commands

def check():
    rows, wrong = read_tables()
    orders, bare = check_orders()
    wrong = wrong + fits()[1] + orders + check_promises()
    if not wrong:
        count = sum(len(row.tests) for row in rows)
        print(f'{len(rows)} mutants in {count} rows fit the source; {bare} orders and fences are listed as without a mutant')
    return wrong


def list_mutants(file):
    file = re.sub(r'^(\./)?src/', '', file)
    if file not in sources():
        raise Misfit(f'there is no src/{file}')
    for row in read_tables()[0]:
        if row.file == file:
            changes = ['    - ' + line for line in row.old] + ['    + ' + line for line in row.new]
            print('\n'.join([f'{row.name} in {row.function}', *changes, '    = ' + ', '.join(row.tests)]))


def diff(name):
    row = row_named(name)
    place, text = fit(row), sources()[row.file].text
    changed = text[:place.function.start] + place.body + text[place.function.end:]
    path = f'src/{row.file}'
    sys.stdout.writelines(difflib.unified_diff(text.splitlines(True), changed.splitlines(True), f'a/{path}', f'b/{path}'))


def print_rows(names):
    rows = [row_named(name) for name in names] or read_tables()[0]
    for row in rows:
        for test in row.tests:
            binary, _, path = test.partition('::')
            print(row.name, binary, path)


def check_verification():
    if VERIFICATION.is_file() and VERIFICATION.read_text() == verification():
        return []
    return ['docs/verification.md is not what the tables say: ci/mutants.py verification >docs/verification.md']


def main(command='', *arguments):
    if command == 'check' and not arguments:
        return check()
    if command == 'list' and len(arguments) == 1:
        return list_mutants(*arguments)
    if command == 'diff' and len(arguments) == 1:
        return diff(*arguments)
    if command == 'rows':
        return print_rows(arguments)
    if command == 'instrument' and len(arguments) == 1:
        return check() or write_copy(Path(arguments[0]).resolve())
    if command == 'verification' and arguments == ('--check',):
        return check_verification()
    if command == 'verification' and not arguments:
        return print(verification(), end='')
    sys.exit(__doc__)


if __name__ == '__main__':
    try:
        sys.exit('\n'.join(main(*sys.argv[1:]) or []) or 0)
    except Misfit as misfit:
        sys.exit(str(misfit))
