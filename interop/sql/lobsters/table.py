"""Makes a line of the table of scripts/sql-use from its pairs: table.py SIGNED PAGES.

Each cell is the median of the pairs, with its 95 % interval by the order of the pairs.
"""

import sys
from math import comb


def median(values, form):
    v = sorted(values)
    n, k, p = len(v), 0, 0.5 ** len(v)
    while p + comb(n, k + 1) * 0.5 ** n <= 0.025:
        k += 1
        p += comb(n, k) * 0.5 ** n
    middle = (v[(n - 1) // 2] + v[n // 2]) / 2
    return f"{form(middle)} ({form(v[k])} to {form(v[n - 1 - k])})"


def percent(x):
    return f"{100 * x:.0f} %"


signed, pages = sys.argv[1], int(sys.argv[2])
pairs = [[float(x) for x in line.split()] for line in sys.stdin]
selects, writes = (sum(p[i] for p in pairs) for i in (0, 2))
# hotrow's own time is of the pages that warm a connection up, too: half as many as those that count.
print(f"| {signed} % | {selects / len(pairs) / pages:.1f} | {100 * writes / (selects + writes):.1f} % |",
      median([p[1] / p[0] for p in pairs], percent), "|",
      median([p[4] / p[3] for p in pairs], "{:.2f}".format), "|",
      median([(p[7] - p[8]) / 1.5 / p[3] for p in pairs], "{:.2f}".format), "|",
      median([p[5] / p[6] for p in pairs], "{:.2f}".format), "|")
