"""Checks the golden frames of schema/wire against the JSON Schema; see tools/check-wire-schema."""

import copy
import json
import pathlib
import sys

from jsonschema import Draft202012Validator


def deletions(value, pointer=""):
    """Yields the JSON pointer of each member of each object in a value, innermost parents included."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield f"{pointer}/{key}"
            yield from deletions(member, f"{pointer}/{key}")
    elif isinstance(value, list):
        for index, element in enumerate(value):
            yield from deletions(element, f"{pointer}/{index}")


def without(value, pointer):
    changed = copy.deepcopy(value)
    *path, last = pointer[1:].split("/")
    parent = changed
    for step in path:
        parent = parent[int(step)] if isinstance(parent, list) else parent[step]
    del parent[last]
    return changed


def main(wire):
    schema = json.loads((wire / "v1.schema.json").read_text())
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    required = json.loads((wire / "v1.required.json").read_text())
    files = sorted((wire / "v1").glob("*.json"))
    problems = []
    refused = 0
    if {file.stem for file in files} != set(required):
        problems.append("v1.required.json does not list the files of v1/")
    for file in files:
        frame = json.loads(file.read_text())
        for error in validator.iter_errors(frame):
            problems.append(f"{file.name}: {error.message[:200]} at {error.json_path}")
        for pointer in deletions(frame):
            valid = validator.is_valid(without(frame, pointer))
            if valid == (pointer in required.get(file.stem, [])):
                problems.append(f"{file.name} without {pointer}: {'accepted' if valid else 'refused'}, unlike by the receiver")
            refused += not valid
        if validator.is_valid(frame | {"type": "unheard-of"}):
            problems.append(f"{file.name}: an unknown type is accepted")
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{len(files)} golden frames, {refused} mutations refused, {len(problems)} problems")
    return 1 if problems or not files else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
