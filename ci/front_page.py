#!/usr/bin/env python3
"""That the documents render where people read them, which is not rustdoc: GitHub and crates.io. Prints what is wrong.

- A link leads to a file that is there, to a heading of the document, or to a site; never to an item of the crate.
- No example has hidden lines, which are hidden in rustdoc only.
- The README names every example, and every document that a user may want.

Needs: python3 (3.9 or newer). Takes less than a second.
"""
import pathlib
import re
import sys

DOCUMENTS = [pathlib.Path(name) for name in ('README.md', 'BENCHMARKS.md', 'DESIGN.md', 'SECURITY.md', 'CHANGELOG.md', 'CONTRIBUTING.md')]
DOCUMENTS += sorted(pathlib.Path('docs').glob('*.md'))
NAMED = ['BENCHMARKS.md', 'DESIGN.md', 'SECURITY.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'docs/measurements.md', 'docs/verification.md',
         'docs/api-guidelines.md', 'docs/c.md', 'docs/guide-pipeline.md', 'docs/preload.md']


def anchors(text):
    """The names that GitHub gives to the headings."""
    headings = re.findall(r'^#+ (.+)$', text, re.M)
    return {re.sub(r'[^\w\- ]', '', heading.lower()).replace(' ', '-') for heading in headings}



def wrong_links(document, text):
    for target in re.findall(r'\]\(([^)\s]+)\)', re.sub(r'^```.*?^```', '', text, flags=re.M | re.S)):
        file, _, heading = target.partition('#')
        if re.match(r'https?://', target):
            continue
        if file and not (document.parent / file).exists():
            yield f'there is no {target}'
        elif heading and heading not in anchors((document.parent / file).read_text() if file else text):
            yield f'{target} is no heading'
    for reference in re.findall(r'\[(`[^`\]]+`)\](?![(\[:])', text):
        yield f'the link {reference} means something to rustdoc only'


def wrong_examples(text):
    for block in re.findall(r'^```rust\n(.*?)^```', text, re.M | re.S):
        for line in re.findall(r'^# .*$', block, re.M):
            yield f'a line of an example is hidden in rustdoc only: {line}'


def missing(text):
    examples = [path.as_posix() for path in sorted(pathlib.Path('examples').glob('*.rs'))]
    recipes = [path.as_posix() for path in sorted(pathlib.Path('examples/cookbook').glob('*.rs'))]
    for name in [*examples, *recipes, *NAMED]:
        if f']({name})' not in text:
            yield f'{name} is not linked'


def main():
    wrong = []
    for document in DOCUMENTS:
        text = document.read_text()
        wrong += [f'{document}: {what}' for what in [*wrong_links(document, text), *(wrong_examples(text) if document.name == 'README.md' else [])]]
    wrong += [f'README.md: {what}' for what in missing(DOCUMENTS[0].read_text())]
    return '\n'.join(wrong)


if __name__ == '__main__':
    sys.exit(main() or 0)
