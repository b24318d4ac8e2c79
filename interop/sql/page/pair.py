"""Makes lines of the table of scripts/sql-page: client, callers, and of each pair the rate and the
processor time of the database, direct and through hotrow, from the standard input.

Cells are the median of the pairs with its 95 % interval, by the order of the pairs.
"""

import sys
from math import comb


def median(values):
    v = sorted(values)
    n, k, p = len(v), 0, 0.5 ** len(v)
    while p + comb(n, k + 1) * 0.5 ** n <= 0.025:
        k += 1
        p += comb(n, k) * 0.5 ** n
    return (v[(n - 1) // 2] + v[n // 2]) / 2, v[k], v[n - 1 - k]


def cell(values):
    return "{:.2f} ({:.2f} to {:.2f})".format(*median(values))


rows = {}
for line in sys.stdin:
    name, *numbers = line.rstrip("\n").split("\t")
    rows.setdefault(name, []).append([float(x) for x in numbers])
for name, pairs in rows.items():
    direct, low, high = median([p[0] for p in pairs])
    print(f"| {name} | {direct:.0f} ({low:.0f} to {high:.0f}) | {cell([p[1] / p[0] for p in pairs])} |",
          f"{cell([(p[3] / p[1]) / (p[2] / p[0]) for p in pairs])} |")
