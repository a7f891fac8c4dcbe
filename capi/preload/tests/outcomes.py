"""Runs modules of CPython's test suite, and writes one line for each test: its outcome and its name, in the order of names.

    python3 outcomes.py FILE MODULE... [-- TEST...]    only these tests, if any are named
"""

import sys
import unittest


class Outcomes(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.outcome = {}

    def note(self, test, outcome):
        # Of a test with several parts that fail, the first counts.
        self.outcome.setdefault(test.id(), outcome)

    def addSuccess(self, test):
        self.note(test, "ok")

    def addFailure(self, test, error):
        self.note(test, "failed")
        print(self._exc_info_to_string(error, test), file=sys.stderr)

    addError = addFailure

    def addSubTest(self, test, subtest, error):
        if error is not None:
            self.addFailure(test, error)

    def addSkip(self, test, reason):
        self.note(test, "skipped")

    def addExpectedFailure(self, test, error):
        self.note(test, "expected")

    def addUnexpectedSuccess(self, test):
        self.note(test, "unexpected")


def tests_in(suite):
    for test in suite:
        yield from tests_in(test) if isinstance(test, unittest.TestSuite) else [test]


def main():
    arguments = sys.argv[2:]
    only = arguments[arguments.index("--") + 1:] if "--" in arguments else []
    modules = arguments[:arguments.index("--")] if "--" in arguments else arguments
    suite = unittest.defaultTestLoader.loadTestsFromNames(["test." + module for module in modules])
    if only:
        suite = unittest.TestSuite(test for test in tests_in(suite) if test.id() in only)
    result = Outcomes()
    suite.run(result)
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.writelines(f"{outcome} {name}\n" for name, outcome in sorted(result.outcome.items()))


if __name__ == "__main__":
    main()
