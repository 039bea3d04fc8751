"""The public declarations of modules from their symbol graphs: see tools/api-report."""

import difflib
import json
import os
import sys

# What the compiler makes for a conformance carries no words of ours, and says what the protocol says.
DERIVED = {"==(_:_:)", "hash(into:)", "encode(to:)", "init(from:)", "hashValue", "!=(_:_:)", "init(rawValue:)"}


def declarations(folder, module):
    """Lines of a module, and the names of what has no documentation."""
    lines, bare = set(), []
    for name in sorted(os.listdir(folder)):
        if name != module + ".symbols.json" and not name.startswith(module + "@"):
            continue
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            graph = json.load(file)
        for symbol in graph["symbols"]:
            path = ".".join(symbol["pathComponents"])
            text = " ".join("".join(part["spelling"] for part in symbol["declarationFragments"]).split())
            lines.add("%s  |  %s" % (path, text))
            if "docComment" not in symbol and symbol["pathComponents"][-1] not in DERIVED:
                bare.append(path)
    return sorted(lines), sorted(set(bare))


def main(mode, folder, *modules):
    failures = 0
    os.makedirs("docs/api", exist_ok=True)
    for module in modules:
        lines, bare = declarations(folder, module)
        if not lines:
            sys.exit("no symbol graph of %s in %s" % (module, folder))
        for path in bare:
            print("%s.%s has no documentation" % (module, path))
            failures += 1
        path, text = "docs/api/%s.txt" % module, "\n".join(lines) + "\n"
        if mode == "write":
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        else:
            old = open(path, encoding="utf-8").read() if os.path.exists(path) else ""
            for line in difflib.unified_diff(old.splitlines(), lines, path, "the code", lineterm="", n=0):
                print(line)
                failures += 1
        print("%s: %d declarations, %d without documentation" % (module, len(lines), len(bare)))
    if failures and mode == "check":
        print("run tools/api-report and commit what it writes, if the change is meant")
    sys.exit(1 if failures else 0)


main(*sys.argv[1:])
