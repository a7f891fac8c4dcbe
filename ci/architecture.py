#!/usr/bin/env python3
"""What the parts of src/ may know of each other and of the world outside, and that their comments' references to documents
hold. Prints what breaks a rule, as file:line.

A rule looks at code only: not at comments, strings and what is compiled for tests, unless it says so. What it allows stands
beside it, with the reason. Unsafe code and operating systems have gates of their own in ci/check.sh.

  ci/architecture.py            the source
  ci/architecture.py seeded     faults in copies of it, one or more for each rule, each of which must be told

Needs: python3 (3.9 or newer). Takes less than a second, with the faults too.
"""
import pathlib
import re
import sys

from rust_source import code_only, end_of_bracket, files, line_of, without_tests

# Who may use whom. From the bottom to the top; nobody uses what is above it, and the clients do not use each other.
BELOW_THE_TABLE = {'sync', 'sys', 'counters', 'deadline', 'error', 'spin_policy'}
CLIENTS = {'atomic', 'eventcount', 'mutex', 'once', 'rwlock', 'sema', 'paper', 'pipeline'}
OF_A_CLIENT = {'sync', 'counters', 'deadline', 'error', 'spin_policy', 'wait_table', 'ticket_queue'}
MAY_USE = {
    'sync': set(),
    'counters': {'sync'},
    'error': set(),
    'sys': {'sync', 'counters'},
    'deadline': {'sync'},
    'spin_policy': {'sync', 'sys', 'counters', 'deadline'},
    'wait_table': BELOW_THE_TABLE,
    'ticket_queue': BELOW_THE_TABLE | {'wait_table'},
    'atomic': OF_A_CLIENT,
    'eventcount': OF_A_CLIENT,
    'mutex': OF_A_CLIENT,
    'once': OF_A_CLIENT,
    'rwlock': OF_A_CLIENT,
    # Not on `eventcount`: its counts have one writer, which needs no read-modify-write.
    'pipeline': OF_A_CLIENT,
    'sema': OF_A_CLIENT,
    # `sys` for the names of THE_PAPER_NAMES; `sema`, of which it makes one more of its listings' kind.
    'paper': OF_A_CLIENT | {'sys', 'sema'},
    'debugger': {'wait_table'},
    # It makes every static of a model.
    'model': {'sync', 'wait_table', 'ticket_queue', 'paper'},
}
# Backends are for a client's user to choose; the listings are generic over them. `fork`: listing 3 has chains of its own, which a
# child must empty.
THE_PAPER_NAMES = {'Backend', 'Broadcast', 'Spin', 'Native', 'fork'}

# Traits that others can implement in safe code: why no exclusion and no memory safety rests on what they do.
SAFE_TRAITS = {
    'Home': 'all that others can define is a constant, which is the same at every use',
    'Location': 'a wrong key loses its own wake-ups; primitives wait under keys that it cannot return',
    'Broadcast': 'listing 2 sleeps by it, and looks again whenever it is woken',
    'RawSemaphore': 'one name for several semaphores, used by the benchmarks',
    'Purpose': 'an element is published and withdrawn as it must be, whatever the purpose says',
    'LockWithin': 'a method for lock_api\'s types, whose guards nobody else can make',
    'RwLockWithin': 'the same',
    'RwLockAsync': 'the same',
    'TryUpgrade': 'the same',
    'LockAsync': 'the same',
    'CondvarAsync': 'the same',
    'CondvarWake': 'the same',
    'Waitable': 'sealed',
    'Access': 'sealed',
    'Sharing': 'sealed',
    'Sealed': 'private',
}

# (what is wrong, pattern, where it is allowed: path -> reason, whether comments count too)
PATTERNS = [
    ('atomics are taken from crate::sync, so that a model sees them',
     r'\b(?:core|std)::(?:\{[^;]*?\b)?sync::atomic\b',
     {'sync/': 'the one place that names them',
      'atomic/': 'for the standard library\'s atomics, which are its users\'',
      'wait_table/location.rs': 'implements its trait for the standard library\'s atomics, too'}, False),
    ('the clock is asked through crate::sync or crate::deadline, so that a model can turn it',
     r'\bInstant::now\b|\bSystemTime\b|\.elapsed\(\)',
     {'sync/': 'the one place that names it', 'deadline.rs': 'what deadlines are made from'}, False),
    ('what gives a lock back is unsafe to call: exclusion rests on who calls it, and with what', r'\bpub fn (?:release|unlock|hand_over)\b',
     {}, False),
    ('what contains an element is not `Unpin`: a `&mut` to it would claim what others can reach', r'\bimpl\b[^;{]*\bUnpin for\b', {}, False),
    ('a home or a backend is marked by `Invariant`: a subtype of it may have another table', r'\bPhantomData<(?:fn\(\) -> )?[HB]>', {
        'wait_table/linked.rs': 'lives for a call', 'wait_table/group.rs': 'lives for a call'}, False),
    ('a wait naps by sys/nap.rs, which is no cancellation point', r'\bthread::sleep\b',
     {'sys/nap.rs': 'the one place that naps', 'sync/': 'what the threads of a model sleep by'}, False),
    ('thread-locals are world_thread_local!, so that a model has its own',
     r'(?<!world_)\bthread_local!',
     {'sync/': 'the one place that names it', 'sys/thread_id.rs': 'a diagnostic, which no model has'}, False),
    ('the source does not know of its mutants: they are in ci/mutants', r'(?i)mutant', {}, True),
    ('both model checkers together are cfg(layby_model): see build.rs', r'any\(\s*layby_(?:loom|shuttle),\s*layby_(?:loom|shuttle)\s*\)',
     {}, True),
]


def module_of(file):
    return file.split('/')[0].removesuffix('.rs')


def is_allowed(file, places):
    return any(file == place or place.endswith('/') and file.startswith(place) for place in places)


def broken_patterns(file, text, code):
    for wrong, pattern, allowed, in_comments in PATTERNS:
        if not is_allowed(file, allowed):
            for found in re.finditer(pattern, text if in_comments else code):
                yield found.start(), wrong


def safe_traits(code):
    """Traits that anybody can implement without `unsafe`, and of which nobody has said that nothing rests on them."""
    for found in re.finditer(r'\bpub trait (\w+)', code):
        if found[1] not in SAFE_TRAITS:
            yield found.start(), 'make it an unsafe trait, or say in SAFE_TRAITS of ci/architecture.py why nothing rests on it'


def unpinned_elements(code):
    """Elements, which others reach by their links, of types to which a `&mut` would be unique."""
    for found in re.finditer(r'\bimpl Linked for (\w+)', code):
        fields = re.search(rf'\bstruct {found[1]}\b[^{{;]*(\{{[^}}]*\}})', code)
        if not fields or not re.search(r'\bPhantomPinned\b', fields[1]):
            yield found.start(), f'{found[1]} has a field PhantomPinned, for others reach it beside a `&mut`'


def silent_outcomes(code):
    """Results that say whether a call did what its name says, and that can be dropped without a warning."""
    attributes = r'((?:#\[(?:[^\[\]]|\[[^\]]*\])*\]\s*)*)'
    for found in re.finditer(attributes + r'\bpub fn (?:try_\w+|\w+_timeout|\w+_deadline)\b[^{;]*->\s*(\w+)', code):
        # A `Result` and `WaitOutcome` warn by themselves.
        if 'must_use' not in found[1] and found[2] not in ('Result', 'WaitOutcome'):
            yield found.end(1), 'a result that says whether it was done is #[must_use]'


def names_behind(code, at):
    """The first names of a path that goes on at `at`: of `a::b` it is a, of `{a::b, c}` they are a and c."""
    if code[at] != '{':
        found = re.compile(r'\w+').match(code, at)
        return [(found[0], found.end())] if found else []
    names, depth, expected = [], 0, False
    for found in re.compile(r'[{},]|\w+').finditer(code, at):
        if found[0] == '{':
            depth, expected = depth + 1, depth == 0
        elif found[0] == '}':
            depth -= 1
            if not depth:
                break
        elif found[0] == ',':
            expected = depth == 1
        elif expected:
            names.append((found[0], found.end()))
            expected = False
    return names


def paths_from_the_root(file, code):
    """(where, name, behind it) of all paths that begin at the root of the crate, by `crate::` or by enough of `super::`."""
    inline = [(found.end(), end_of_bracket(code, found.end() - 1)) for found in re.finditer(r'\bmod\s+\w+\s*\{', code)]
    parts = file.removesuffix('.rs').split('/')
    level = len(parts) - (parts[-1] in ('mod', 'lib'))
    for found in re.finditer(r'\bcrate::|(?<![\w:])(?:super::)+', code):
        supers = found[0].count('super::')
        nested = sum(start < found.start() < end for start, end in inline)
        if not supers or supers >= level + nested:
            for name, end in names_behind(code, found.end()):
                yield found.start(), name, end


def reexports(lib):
    """What the root has of its modules: name -> module."""
    return {name: module for module, names in re.findall(r'\buse\s+(\w+)::\{([^}]*)\}', lib) for name in re.findall(r'\w+', names)}


def broken_references(text):
    """Comments that send their reader to a heading that is not there: `FILE.md, "Heading"`."""
    for found in re.finditer(r'([\w/]+\.md),\s(?:\s*//[/!]?\s*)?"([^"]+)"', text):
        document, heading = pathlib.Path(found[1]), re.sub(r'\s*\n\s*//[/!]?\s*', ' ', found[2])
        if not document.exists() or not re.search(rf'^#+ {re.escape(heading)}$', document.read_text(), re.M):
            yield found.start(), f'{document} has no heading "{heading}"'


def broken_imports(file, code, modules, at_root):
    module = module_of(file)
    if module == 'lib':
        return
    if module not in MAY_USE:
        yield 0, f'the module {module} is not in the table of ci/architecture.py'
    for at, name, end in paths_from_the_root(file, code):
        used = name if name in modules else at_root.get(name, name)
        if used in modules and used != module and used not in MAY_USE.get(module, modules):
            yield at, f'{module} must not use {used}'
        elif used == 'sys' and module in CLIENTS:
            rest = re.compile(r'\s*::\s*(?=[\w{])').match(code, end)
            named = {name for name, _ in names_behind(code, rest.end())} if rest else {'sys itself'}
            if named - THE_PAPER_NAMES:
                yield at, f'{module} must not use {", ".join(sorted(named - THE_PAPER_NAMES))} of sys'


# What must be told of a copy of the source: rule, file, what is replaced (or None: added at the end), by what, and a part of the complaint.
FAULTS = [
    ('a safe trait', 'sys/mod.rs', 'pub unsafe trait Backend', 'pub trait Backend', 'make it an unsafe trait'),
    ('a new trait', 'once.rs', None, 'pub trait Doorman { fn may_enter(&self) -> bool; }', 'make it an unsafe trait'),
    ('a safe release', 'mutex/barging.rs', 'pub unsafe fn release(', 'pub fn release(', 'is unsafe to call'),
    ('a number from the caller', 'mutex/fair.rs', 'pub unsafe fn release(', 'pub fn release(', 'is unsafe to call'),
    ('a unique element', 'wait_table/element.rs', 'not_unique: PhantomPinned', 'not_unique: ()', 'PhantomPinned'),
    ('a unique task', 'wait_table/task/element.rs', 'not_unique: PhantomPinned', 'not_unique: ()', 'PhantomPinned'),
    ('a future that claims to be Unpin', 'sema/tasks.rs', None, 'impl<H: Home> Unpin for Take<H> {}', 'not `Unpin`'),
    ('a foreign atomic', 'once.rs', None, 'use std::sync::atomic::AtomicBool;', 'crate::sync'),
    ('a foreign clock', 'once.rs', None, 'fn late() -> bool { Instant::now() > START }', 'the clock'),
    ('a nap that is a cancellation point', 'sys/fork.rs', '_ => nap(NAP)', '_ => std::thread::sleep(NAP)', 'sys/nap.rs'),
    ('a foreign thread-local', 'once.rs', None, 'thread_local! { static MINE: u8 = 0; }', 'world_thread_local!'),
    ('a mutant in the source', 'once.rs', None, '// a mutant leaves this out', 'ci/mutants'),
    ('both checkers by name', 'once.rs', None, '#[cfg(any(layby_loom, layby_shuttle))] fn model() {}', 'layby_model'),
    ('a use of what is above', 'wait_table/table.rs', None, 'use crate::sema::Semaphore;', 'must not use sema'),
    ('a use of the neighbour', 'mutex/fair.rs', None, 'use super::super::sema::Semaphore;', 'must not use sema'),
    ('a use of the operating system', 'mutex/fair.rs', None, 'use crate::sys::futex::Futex;', 'must not use sys'),
    ('a module nobody knows', 'novel.rs', None, 'fn nothing() {}', 'is not in the table'),
    ('a heading that is gone', 'once.rs', None, '// See DESIGN.md, "No such heading".', 'has no heading'),
    ('a home that is covariant', 'once.rs', 'home: Invariant<H>', 'home: PhantomData<fn() -> H>', 'is marked by `Invariant`'),
    ('a result that can be dropped', 'once.rs', None, 'pub fn try_it() -> bool { true }', '#[must_use]'),
]


def seeded():
    """Faults that are not told."""
    sources, missed = files(), []
    for name, file, old, new, complaint in FAULTS:
        before = sources.get(file, '')
        after = before + '\n' + new if old is None else before.replace(old, new)
        told = [line for line in complaints({**sources, file: after}, {file}) if complaint in line]
        if after == before or not told:
            missed.append(f'the seeded fault "{name}" in src/{file} ' + ('changes nothing' if after == before else 'is not told'))
    print(f'{len(FAULTS) - len(missed)} of {len(FAULTS)} faults are told')
    return '\n'.join(missed)


def complaints(sources, about):
    """What is wrong with the files that it is about."""
    codes = {file: without_tests(code_only(text)) for file, text in sources.items() if file in about or file == 'lib.rs'}
    modules = {module_of(file) for file in sources} - {'lib'}
    at_root = reexports(codes['lib.rs'])
    for file in about:
        code = codes[file]
        for at, wrong in [*broken_patterns(file, sources[file], code), *broken_imports(file, code, modules, at_root),
                          *broken_references(sources[file]), *safe_traits(code), *unpinned_elements(code), *silent_outcomes(code)]:
            line = line_of(code, at)
            yield f'src/{file}:{line}: {wrong}: {sources[file].splitlines()[line - 1].strip()}'


def main(arguments):
    if arguments == ['seeded']:
        return seeded()
    sources = files()
    return '\n'.join(complaints(sources, list(sources)))


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]) or 0)
