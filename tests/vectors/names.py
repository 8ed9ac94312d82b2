"""What operators of ops.yaml are called in PyTorch, for the scripts that ask it.

An entry names its counterpart in one place, the expression `torch` of its bench; where
that says nothing it is the function of the same name.
"""
import re

from torch.testing._internal.common_methods_invocations import op_db

# Which of several forms that PyTorch's suite has under one name.
VARIANTS = {
    'split_sizes': 'list_args', 'div': 'no_rounding_mode', 'trunc_divide': 'trunc_rounding', 'max_dim': 'reduction_with_dim', 'min_dim': 'reduction_with_dim',
}
# Arguments by keyword that the schema calls otherwise; None is left out there.
KEYWORDS = {
    'other': 'y', 'min': 'lo', 'max': 'hi', 'tensor1': 'y', 'tensor2': 'z', 'min_val': 'lo', 'max_val': 'hi', 'norm': 'scaling',
    's': 'sizes', 'n': 'sizes', 'ord': 'p', 'num_classes': 'classes', 'unbiased': None, 'threshold': 'limit',
    'kernel_size': 'kernel', 'start_dim': 'start', 'end_dim': 'end', 'storage_offset': 'offset', 'ceil_mode': 'ceil',
    'return_indices': None, 'inplace': None, '_stacklevel': None, 'size_average': None, 'upper': None,
}
PARAM = re.compile(r'(\w+) ((?:\[\])?\w+(?:\([^)]*\))?(?:\|\w+)?\??)(?: = (\S+))?')


class Entry:
    """An operator that the schema shows: its parameters (name, type, whether it is only named), and PyTorch's names."""

    def __init__(self, name, params, body, group):
        self.name, self.group, self.params, named = name, group, [], False
        for part in re.split(r', (?![^(]*\))', params):
            if part == '*':
                named = True
            elif p := PARAM.match(part):
                self.params.append((p[1], p[2], named))
        self.drawn = group == 'random' or bool(re.search(r'tags: \[.*seeded', body)) or name == 'empty'
        self.given = None  # also where the operands change places
        if m := re.search(r'torch: (?:"([^"]*)"|([^,}\n]*))', body.partition('\n    bench:')[2]):
            call = m[1] or m[2]
            first = re.search(r'\(\[?\*?(\w+)', call)
            if not first or first[1] not in [p[0] for p in self.params[1:]] or call.startswith('x.'):
                self.given = counterpart(call)


def counterpart(expression):
    """The suite's name of the function, method or attribute that an expression applies, or None."""
    m = re.match(r'(?:(F)\.|torch\.|x\.)?([A-Za-z_][\w.]*)(\(.*\))?$', expression)
    if m is None or not m[3] and not expression.startswith('x.'):
        return None
    return ('nn.functional.' if m[1] else '') + m[2]


def entries(path):
    """The entries that are not hidden, by name."""
    table, group = {}, ''
    for block in re.split(r'^(?=- group: |  - op: )', open(path).read(), flags=re.M):
        if m := re.match(r'- group: (.+)', block):
            group = m[1].strip()
        m = re.match(r'  - op: (\w+)\((.*)\) ->', block)
        if m and not re.search(r'^    tags: \[.*hidden', block, re.M):
            table[m[1]] = Entry(m[1], m[2], block, group)
    return table


def forms(table):
    """The suite's forms of each entry, by its name; the first is the one that bench names."""
    known = {}
    for o in op_db:
        known.setdefault(o.name, []).append(o)
    claimed = {e.given for e in table.values()}
    out = {}
    for name, e in table.items():
        own = next((n for n in (name, 'nn.functional.' + name, 'fft.' + name, 'special.' + name, 'linalg.' + name) if n in known), None)
        if e.given in known and own != e.given and own in claimed:  # another entry's, as max is max_dim's
            own = None
        found = [o for n in dict.fromkeys((e.given, own)) if n in known for o in known[n]]
        if variant := VARIANTS.get(name):
            found = [o for o in found if o.variant_test_name == variant]
        if found:
            out[name] = found
    return out
