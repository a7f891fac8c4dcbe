"""What the scripts of ci/ have to know about a Rust file: what of it is code, and where its functions are.

No parser of the language. It knows comments, strings, characters and brackets, which is enough to find a function's body
and to tell code from what only looks like it.
"""
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SRC = ROOT / 'src'

# What brackets and names do not count in. A lifetime is no character: it has no second quote.
_OPAQUE = re.compile(r'''
    (?P<line>    //[^\n]* )
  | (?P<block>   /\* )
  | (?P<raw>     \b[bc]?r(?P<hashes>\#*)"(?s:.*?)"(?P=hashes) )
  | (?P<string>  (?:\b[bc])?"(?:\\(?s:.)|[^"\\])*" )
  | (?P<char>    (?:\bb)?'(?:\\(?:u\{[^}]*\}|x..|.)|[^\\'\n])' )
''', re.X)
_BLOCK_EDGE = re.compile(r'/\*|\*/')
_PAIRS = {'(': ')', '[': ']', '{': '}'}
_FUNCTION = re.compile(r'''(?P<before>(?:\b(?:pub(?:\s*\([^)]*\))?|default|const|async|unsafe|safe|extern(?:\s*"[^"]*")?)\s+)*)
                           \bfn\s+(?:r\#)?(?P<name>[A-Za-z_]\w*)''', re.X)
_TEST_ONLY = re.compile(r'#\[cfg\((?=[^\]]*\btest\b)(?![^\]]*\bnot\(test\))[^\]]*\]')
_MACRO = re.compile(r'\b\w+!\s*(?:\w+\s*)?(?=[{(\[])')


def _blank(text):
    return re.sub(r'[^\n]', ' ', text)


def code_only(source):
    """The source with its comments and the insides of its strings and characters blank; every place stays where it is."""
    parts, at = [], 0
    while found := _OPAQUE.search(source, at):
        end = found.end()
        if found['block']:
            depth = 1
            while depth and (edge := _BLOCK_EDGE.search(source, end)):
                depth += 1 if edge[0] == '/*' else -1
                end = edge.end()
        text = source[found.start():end]
        is_comment = found['line'] or found['block']
        parts += [source[at:found.start()], _blank(text) if is_comment else text[0] + _blank(text[1:-1]) + text[-1]]
        at = end
    return ''.join(parts) + source[at:]


def end_of_bracket(code, at):
    """Behind the bracket that closes the one at `at`."""
    closing = []
    for found in re.compile(r'[(){}\[\]]').finditer(code, at):
        if found[0] in _PAIRS:
            closing.append(_PAIRS[found[0]])
        elif not closing or closing.pop() != found[0]:
            break
        if not closing:
            return found.end()
    raise ValueError(f'a bracket is not closed: line {line_of(code, at)}')


def line_of(text, at):
    return text.count('\n', 0, at) + 1


def without_tests(code):
    """`code_only` text without the items that are compiled for tests only."""
    while found := _TEST_ONLY.search(code):
        item = re.compile(r'[{;]').search(code, found.end())
        end = item.end() if item[0] == ';' else end_of_bracket(code, item.start())
        code = code[:found.start()] + _blank(code[found.start():end]) + code[end:]
    return code


@dataclass(frozen=True)
class Function:
    name: str
    start: int  # of its body, at the brace
    end: int    # behind the closing brace
    hurdle: str  # why its body cannot be made the arm of a match; empty if it can


def functions(code):
    """All functions with a body, in the order of the file. `code` is `code_only` text."""
    macros = [(found[0].strip(), found.end(), end_of_bracket(code, found.end())) for found in _MACRO.finditer(code)]
    for found in _FUNCTION.finditer(code):
        signature = _signature(code, found.end())
        if signature is None:
            continue  # a trait's declaration
        start, returns_impl = signature
        hurdle = ''
        if re.search(r'\bconst\b', found['before']):
            hurdle = 'is a const fn'
        elif returns_impl:
            hurdle = 'returns an impl Trait, of which each arm would have its own'
        for macro, first, last in macros:
            if first < start < last:
                hurdle = f'is inside {macro}'
        yield Function(found['name'], start, end_of_bracket(code, start), hurdle)


def _signature(code, at):
    """Where the body of the function begins whose name ends at `at`, and whether `impl` is in what it returns; None if it
    has no body."""
    angles, arrow, where = 0, None, None
    while True:
        found = re.compile(r'->|=>|\bwhere\b|[<>({\[;]').search(code, at)
        token, at = found[0], found.end()
        if token == '->' and not angles and where is None:
            arrow = at
        elif token == 'where' and not angles:
            where = found.start()
        elif token in '<>':
            angles += 1 if token == '<' else -1
        elif token == ';':
            return None
        elif token == '{' and not angles:
            returned = code[arrow:where or found.start()] if arrow else ''
            return found.start(), bool(re.search(r'\bimpl\b', returned))
        elif token in _PAIRS:
            at = end_of_bracket(code, found.start())


def function_at(places, at):
    """The innermost of the functions `places` that has `at` in its body, or None."""
    around = [place for place in places if place.start <= at < place.end]
    return max(around, key=lambda place: place.start, default=None)


def files():
    """Every file of src, as its path below src and its text."""
    return {path.relative_to(SRC).as_posix(): path.read_text() for path in sorted(SRC.rglob('*.rs'))}
