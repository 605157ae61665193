"""Reports, by month."""
import csv
import sys


class Report:
    """All rows of a month."""

    def __init__(self, month, rows=()):
        self.month = month
        self.rows  = list(rows)   # a copy
        self.total = 0

    def add(self, row):
        if not row:
            return
        for name, value in row.items():
            if name == "sum":
                self.total += value
            elif name == "tax":
                self.total -= value
            else:
                raise KeyError(name)
        self.rows.append(row)

    def write(self, out):
        writer = csv.writer(out, delimiter="\t")
        for row in self.rows:
            writer.writerow(row.values())
        out.write("total:  %d\n" % self.total)


def main(args):
    report = Report(args[1])
    with open(args[2]) as f:
        for row in csv.DictReader(f):
            report.add(row)
    report.write(sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
