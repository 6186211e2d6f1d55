#!/usr/bin/env python3
"""Check JSON output against one of cmd/*.schema.json.

usage: check_schema.py [--mutate] SCHEMA FILE...

FILE holds one document a line (as --json and ndjson write) or one document over several
lines (--pretty); - is standard input. Every document must be valid and have its keys in
the order that the schema's `required` lists. With --mutate every key of each document is
also deleted, and misspelt, one at a time: the schema must refuse each such document.
Equal objects (of two frames, say) are tried once. Exit status 0: all as it must be.
"""
import copy
import json
import re
import sys

import jsonschema


def documents(path):
    """Every document of a file; ValueError where the text is not JSON."""
    text = sys.stdin.read() if path == '-' else open(path, encoding='utf-8').read()
    decoder, blanks = json.JSONDecoder(), re.compile(r'\s*')
    at = blanks.match(text).end()
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        at = blanks.match(text, at).end()
        yield value


def objects(value, path=()):
    """Every object of a document with its path."""
    if isinstance(value, dict):
        yield path, value
        for key, child in value.items():
            yield from objects(child, path + (key,))
    elif isinstance(value, list):
        for i, child in enumerate(value):
            yield from objects(child, path + (i,))


def at_path(value, path):
    for step in path:
        value = value[step]
    return value


def shape(path):
    return tuple('[]' if isinstance(step, int) else step for step in path)


class Checker:
    def __init__(self, schema):
        self.schema = schema
        self.validator = jsonschema.Draft202012Validator(schema)
        self.bad = 0
        self.mutants = 0
        self.tried = set()

    def complain(self, name, text):
        print('%s: %s' % (name, text))
        self.bad += 1

    def kind(self, document):
        if document.get('status') == 'ERROR':
            return 'error'
        if 'kind' in document:
            return document['kind']
        if 'sample' in self.schema['$defs']:
            return 'sample'
        if 'symbol_files' in self.schema['$defs']:
            return next((k for k in ('addresses', 'symbol_files') if k in document and
                         'status' in document), 'address')
        return 'report' if 'schema_version' in document else 'summary'

    def resolve(self, schema, value):
        """The object schema in force for a value."""
        while '$ref' in schema:
            schema = self.schema['$defs'][schema['$ref'].rsplit('/', 1)[1]]
        for branch in schema.get('anyOf', []):
            if jsonschema.Draft202012Validator(dict(branch, **{'$defs': self.schema['$defs']})).is_valid(value):
                return self.resolve(branch, value)
        return schema

    def check_order(self, name, value, schema):
        schema = self.resolve(schema, value)
        if isinstance(value, dict):
            if 'properties' in schema and list(value) != schema['required']:
                self.complain(name, 'key order %s, must be %s' % (list(value), schema['required']))
            for key, child in value.items():
                self.check_order(name, child, schema.get('properties', {}).get(key, {}))
        elif isinstance(value, list):
            for child in value:
                self.check_order(name, child, schema.get('items', {}))

    def check(self, name, document):
        errors = sorted(self.validator.iter_errors(document), key=lambda e: list(e.path))
        if errors:
            best = jsonschema.exceptions.best_match(errors)
            self.complain(name, '%s: %s' % ('/'.join(map(str, best.absolute_path)), best.message[:300]))
            return False
        self.check_order(name, document, self.schema['$defs'][self.kind(document)])
        return True

    def must_fail(self, name, document, what):
        self.mutants += 1
        if self.validator.is_valid(document):
            self.complain(name, 'the schema accepts a document with ' + what)

    def mutate(self, name, document):
        # Long lists of objects of one shape are cut to what differs: mutants stay small.
        small = prune(document)
        for path, found in list(objects(small)):
            if path and path[-1] == 'registers':
                continue        # its keys are the CPU's registers, any of them may be unknown
            for key in found:
                mark = (shape(path), key, self.kind(small))
                if mark in self.tried:
                    continue
                self.tried.add(mark)
                where = '/'.join(map(str, path + (key,)))
                mutant = copy.deepcopy(small)
                value = at_path(mutant, path).pop(key)
                self.must_fail(name, mutant, 'no ' + where)
                at_path(mutant, path)[key + 'x'] = value
                self.must_fail(name, mutant, 'a misspelt ' + where)


def prune(value):
    """A copy without list elements that have the structure of an earlier one."""
    if isinstance(value, dict):
        return {key: prune(child) for key, child in value.items()}
    if not isinstance(value, list):
        return value
    kept, seen = [], set()
    for child in map(prune, value):
        mark = structure(child)
        if mark not in seen:
            seen.add(mark)
            kept.append(child)
    return kept


def structure(value):
    if isinstance(value, dict):
        return tuple((key, structure(child)) for key, child in value.items())
    if isinstance(value, list):
        return ('list',) + tuple(sorted({repr(structure(child)) for child in value}))
    return type(value).__name__


def main():
    args = sys.argv[1:]
    mutate = args[:1] == ['--mutate']
    args = args[mutate:]
    if len(args) < 2:
        sys.exit(__doc__.strip())
    with open(args[0], encoding='utf-8') as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    checker, count = Checker(schema), 0
    for name in args[1:]:
        try:
            for document in documents(name):
                count += 1
                if checker.check(name, document) and mutate:
                    checker.mutate(name, document)
        except ValueError as error:     # bytes that are not UTF-8 as well
            checker.complain(name, str(error))
    print('%d documents, %d mutants, %d faults' % (count, checker.mutants, checker.bad))
    sys.exit(1 if checker.bad or not count else 0)


main()
