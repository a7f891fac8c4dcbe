#!/usr/bin/env python3
"""That something good happens: the two protocols as models for SPIN, with weak fairness and properties in temporal logic.

loom, shuttle, the explorer and the litmus tests say that nothing bad happens within a bound. The models of ci/liveness/ run
forever, and their properties say "some day": whoever waits for a permit goes on, a marker is taken out, who withdraws returns.

  ci/liveness.py                    all properties of all scenarios, and every mutant, which must violate the property it names
  ci/liveness.py run SCENARIO PROPERTY [MUTANT]     one of them; shows the trail if the property is violated
  ci/liveness.py check              does every step of the models stand in the source? Takes a second, without SPIN

Beside the models are
  steps.txt     the steps: each tag "@ name" of a model, and the text of the source that it stands for
  mutants.txt   the models with one step broken

Blind to: weak memory; more threads than a scenario has; schedules in which one thread overtakes another by more than LIMIT
tickets; a compare-and-swap that always loses, for the crate is lock-free and not wait-free. Each model says what it assumes.

Needs: python3 (3.9 or newer), SPIN and a C compiler; ci/liveness.sh installs them. Takes: four minutes on two cores, 2 GB of memory for each.
"""
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mutants import Misfit, blocks, mutated, parse_row, place_of, sources
from rust_source import ROOT, code_only, end_of_bracket

MODELS = ROOT / 'ci' / 'liveness'

# Scenario -> its model, and the properties that hold.
SCENARIOS = {
    'LOCK': ('ticket_queue.pml', ['patient', 'leaves', 'unmarked', 'no_trace', 'conserved']),
    'POSTS': ('ticket_queue.pml', ['patient', 'leaves', 'no_trace']),
    'NAMED': ('ticket_queue.pml', ['patient', 'leaves', 'no_trace']),
    'FAR': ('ticket_queue.pml', ['patient']),
    'FLAGS': ('wait_table.pml', ['turns', 'returns', 'nothing_left']),
    'TOKENS': ('wait_table.pml', ['served', 'returns', 'nothing_left']),
}
TAG = re.compile(r'/\* @ (\w+) \*/')


# ---- the tables

def model_text(model):
    return (MODELS / model).read_text()


def rows(table):
    return [parse_row(block, table) for block in blocks(MODELS / table)]


def mutants():
    """Mutant -> its model's text; and (mutant, scenario, property) of all."""
    texts, runs = {}, []
    for row in rows('mutants.txt'):
        text = model_text(row.file)
        code = code_only(text)
        found = re.search(rf'\b(?:inline|proctype) {row.function}\(\w*(?:, \w+)*\) {{', code)
        if not found:
            raise Misfit(f'mutant {row.name}: {row.file} has no {row.function}')
        start, end = found.end() - 1, end_of_bracket(code, found.end() - 1)
        at = place_of(row, text[start:end])
        if at is None:
            raise Misfit(f'mutant {row.name}: {row.function} of {row.file} does not have this text once:\n' + '\n'.join(row.old))
        if row.name in texts:
            raise Misfit(f'mutant {row.name}: there are two of that name')
        texts[row.name] = text[:start] + mutated(row, text[start:end], at) + text[end:]
        for test in row.tests:
            scenario, _, name = test.partition('::')
            model, properties = SCENARIOS.get(scenario, (None, []))
            if model != row.file or name not in properties:
                raise Misfit(f'mutant {row.name}: {row.file} has no property {test}')
            runs.append((row.name, scenario, name))
    return texts, runs


def plain(text):
    return ' '.join(text.split())


def check():
    """Whether the steps of the models are those of the source."""
    wrong, steps = [], {}
    for row in rows('steps.txt'):
        if row.name in steps:
            wrong.append(f'steps.txt: there are two steps {row.name}')
        steps[row.name] = row
    tags = {name for model in MODELS.glob('*.pml') for name in TAG.findall(model.read_text())}
    wrong += [f'steps.txt: no line says what the source says at "@ {name}"' for name in sorted(tags - steps.keys())]
    wrong += [f'steps.txt: no model has "@ {name}"' for name in sorted(steps.keys() - tags)]
    behind = {}  # function -> the text behind the last step that was found in it
    for name, row in steps.items():
        source = sources().get(row.file)
        bodies = [source.text[f.start:f.end] for f in source.functions if f.name == row.function] if source else []
        text = plain(' '.join(row.old))
        place = row.file, row.function
        found = [rest for body in bodies for before, step, rest in [plain(body).partition(text)] if step]
        if not text or not found:
            wrong.append(f'steps.txt: step {name}: no function {row.function} of src/{row.file} says: {text}')
        elif len(bodies) == 1:
            if place in behind and len(found[0]) > behind[place]:
                wrong.append(f'steps.txt: step {name}: in {row.function} of src/{row.file} it comes before the steps above it')
            behind[place] = len(found[0])
    wrong += check_properties()
    texts, _ = mutants()
    if not wrong:
        print(f'{len(steps)} steps of the models are in the source; {len(texts)} mutants fit the models')
    return wrong


def check_properties():
    """Whether every property has a mutant that violates it; and that none is of a form for which SPIN is no good."""
    shown = {(scenario, name) for _, scenario, name in mutants()[1]}
    for scenario, (_, properties) in SCENARIOS.items():
        yield from (f'mutants.txt: no mutant violates {scenario}::{name}' for name in properties if (scenario, name) not in shown)
    for model in sorted({model for model, _ in SCENARIOS.values()}):
        # With weak fairness pan does not see that such a one is violated where nothing moves any more (SPIN 6.5.2).
        if re.search(r'^ltl .*<> *\[\]', model_text(model), re.M):
            yield f'{model}: "<> []" cannot be checked with weak fairness: say [] (p -> <> !p)'


# ---- SPIN

class Broken(Exception):
    """A run that says nothing: SPIN or the compiler failed, or a bound was too small."""


def build(directory, text, scenario, optimize):
    (directory / 'model.pml').write_text(text)
    for command in [['spin', f'-D{scenario}', '-a', 'model.pml'], ['cc', optimize, '-w', '-DNFAIR=2', '-o', 'pan', 'pan.c']]:
        made = subprocess.run(command, cwd=directory, capture_output=True, text=True)
        if made.returncode or 'Error' in made.stdout:
            raise Broken(f'{scenario}: {" ".join(command)}:\n{made.stdout}{made.stderr}')


def verify(directory, name):
    """How the property is violated, or '' if it holds; and how many states there were."""
    said = subprocess.run(['./pan', '-a', '-f', '-m2000000', '-N', name], cwd=directory, capture_output=True, text=True).stdout
    errors = re.search(r'errors: (\d+)', said)
    states = re.search(r'(\d+) states, stored', said)
    if not errors or not states or re.search(r'max search depth too small|out of memory|cannot find claim', said):
        raise Broken(f'property {name}:\n{said}')
    violated = re.search(r'^pan:1: (.*)', said, re.M)
    if (errors[1] != '0') != bool(violated):
        raise Broken(f'property {name}:\n{said}')
    # A property that needs no "some day" is violated by a state, which pan tells as a failed assertion of its own.
    how = re.sub(r'assertion violated  !\(.*', 'in a state', violated[1].split(' (at depth')[0]) if violated else ''
    return how, int(states[1])


def run_one(scenario, name, mutant=None):
    model, _ = SCENARIOS[scenario]
    with tempfile.TemporaryDirectory() as directory:
        directory = Path(directory)
        build(directory, mutants()[0][mutant] if mutant else model_text(model), scenario, '-O1')
        violated, states = verify(directory, name)
        if violated:
            trail = ['spin', f'-D{scenario}', '-t', '-p', '-g', '-k', 'model.pml.trail', 'model.pml']
            print(subprocess.run(trail, cwd=directory, capture_output=True, text=True).stdout)
    print(f'{scenario}::{name}: ' + (f'violated: {violated}' if violated else f'holds, {states} states'))
    return bool(violated)


def judge(text, scenario, name, mutant):
    """Whether a run is as it should be, and what to say of it: a property holds, and a mutant violates it."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as directory:
        directory = Path(directory)
        build(directory, text, scenario, '-O0' if mutant else '-O1')
        violated, states = verify(directory, name)
    if mutant:
        return bool(violated), f'mutant {mutant}: ' + (f'{scenario}::{name} is violated: {violated}' if violated else
                                                       f'NOT CAUGHT by {scenario}::{name}')
    verdict = f'VIOLATED: {violated}' if violated else 'holds'
    return not violated, f'{scenario}::{name}: {verdict} ({states} states, {time.monotonic() - start:.1f} s)'


def run_all():
    """All of them, one on each CPU at a time."""
    texts, mutated_runs = mutants()
    runs = [(model_text(model), scenario, name, None)
            for scenario, (model, properties) in SCENARIOS.items() for name in properties]
    runs += [(texts[mutant], scenario, name, mutant) for mutant, scenario, name in mutated_runs]
    bad = 0
    with ThreadPoolExecutor(os.cpu_count()) as workers:
        for good, said in workers.map(lambda run: judge(*run), runs):
            bad += not good
            print(said, flush=True)
    return bool(bad)


def main(command='', *arguments):
    if command == 'check' and not arguments:
        return '\n'.join(check()) or 0
    if command not in ('', 'run') or (command == 'run') != (len(arguments) in (2, 3)):
        sys.exit(__doc__)
    if wrong := check():
        return '\n'.join(wrong)
    return run_one(*arguments) if command else run_all()


if __name__ == '__main__':
    try:
        sys.exit(main(*sys.argv[1:]))
    except (Misfit, Broken) as problem:
        sys.exit(str(problem))
