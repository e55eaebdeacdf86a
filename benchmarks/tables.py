"""Private tables: what bounding, noise and the ledger cost beside the plain query, and beside other libraries.

The data is made up from a fixed seed and written once into the system's temporary folder. All times are CPU seconds of the
whole process tree, from the public call to the released table.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import dev
from benchmarks.peers import OURS, Reading, cpu, peer, version
from benchmarks.report import Report, number, ratio

FOLDER = Path(tempfile.gettempdir()) / "deniable-bench"

MAKE = """
import duckdb, pathlib
duckdb.sql("SET enable_progress_bar=false")
path = pathlib.Path({path!r})
if not path.exists():
    path.parent.mkdir(parents=True, exist_ok=True)
    who = "'u' || lpad(u::varchar, 9, '0')" if {text} else "u"
    duckdb.sql(f'''COPY (SELECT {{who}} AS "user", g AS grp, v FROM (SELECT
        {who} AS u, (hash(i * 7 + 1) % {groups})::bigint AS g, (hash(i * 11 + 5) % 12000) / 100.0 AS v
        FROM range({rows}) t(i))) TO '{{path}}' (FORMAT parquet)''')
"""

BOOK = """
format: 1
name: bench
unit: {{id: user, groups: 5, rows_per_group: 2{unique}}}
tables:
  bench:
    variables:
      user: {{type: {kind}}}
      grp: {{type: integer}}
      v: {{type: number, bounds: [0, 100], step: 0.0009765625, missing: {{impute: 0}}}}
"""

OURS_SETUP = """
import itertools, tempfile, os
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp()
import deniable as dp
data = dp.Dataset({path!r}, codebook=dp.Codebook.from_yaml({book!r}))
session = data.session(dp.budget(epsilon=10**6, delta=1e-3), ledger=tempfile.mkdtemp() + "/bench.ledger")
query = session.query().group_by("grp").agg({aggregates})
prices = itertools.count(1)
"""
OURS_CALL = "query.release(epsilon=1 + next(prices) / 1000, delta=1e-6)"
THREE = 's=dp.sum("v"), n=dp.count(), units=dp.count_distinct()'

PLAIN_SETUP = "import duckdb\ncon = duckdb.connect()\ncon.execute('SET enable_progress_bar=false')"
PLAIN_CALL = "con.execute(\"SELECT grp, {columns} FROM '{path}' GROUP BY grp\").fetchnumpy()"
PLAIN_THREE = 'SUM(least(greatest(v, 0), 100)), COUNT(*), COUNT(DISTINCT \\"user\\")'


def made(rows: int, users: int, groups: int, *, text: bool = False, unique: bool = False) -> str:
    """The path of a made-up table."""
    name = f"t_{rows}_{users}_{groups}_{'s' if text else 'i'}{'u' if unique else ''}.parquet"
    path = str(FOLDER / name)
    who = "i" if unique else f"(hash(i) % {users})::bigint"
    cpu(OURS, setup=MAKE.format(path=path, who=who, groups=groups, rows=rows, text=text), call="pass", rounds=1, most=1)
    return path


def ours(path: str, *, text: bool = False, unique: bool = False, aggregates: str = THREE) -> Reading | None:
    """From the public call to the released table."""
    book = BOOK.format(kind="string" if text else "integer", unique=", unique: true" if unique else "")
    setup = OURS_SETUP.format(path=path, book=book, aggregates=aggregates)
    return cpu(OURS, setup=setup, call=OURS_CALL, least=0.1, rounds=3, most=3)


def plain(path: str, columns: str) -> Reading | None:
    """The query without any privacy, on DuckDB."""
    return cpu(OURS, setup=PLAIN_SETUP, call=PLAIN_CALL.format(columns=columns, path=path), least=0.1, rounds=3, most=3)


PIPELINE_SETUP = """
import pandas, pipeline_dp
frame = pandas.read_parquet({path!r})
rows = list(frame.itertuples(index=False, name=None))
"""
PIPELINE_CALL = """
accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=1, total_delta=1e-6)
engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
M = pipeline_dp.Metrics
params = pipeline_dp.AggregateParams(noise_kind=pipeline_dp.NoiseKind.LAPLACE, metrics=[M.SUM, M.COUNT, M.PRIVACY_ID_COUNT], max_partitions_contributed=5, max_contributions_per_partition=2, min_value=0, max_value=100)
extract = pipeline_dp.DataExtractors(privacy_id_extractor=lambda r: r[0], partition_extractor=lambda r: r[1], value_extractor=lambda r: r[2])
result = engine.aggregate(rows, params, extract)
accountant.compute_budgets()
list(result)
"""
OPENDP_SETUP = """
import opendp.prelude as dp, polars as pl
dp.enable_features("contrib")
lazy = pl.scan_parquet({path!r})
"""
OPENDP_CALL = """
context = dp.Context.compositor(data=lazy, privacy_unit=dp.unit_of(contributions=10, identifier=pl.col("user")), privacy_loss=dp.loss_of(epsilon=1.0, delta=1e-6), split_evenly_over=1)
context.query().group_by("grp").agg(dp.len(), pl.col("v").fill_nan(0.0).fill_null(0.0).dp.sum((0.0, 100.0))).release().collect()
"""


def main() -> None:
    """Measure and write the page."""
    big = made(10**7, 10**6, 10**5)
    rows = []
    for label, path, options, columns, aggregates, most in (
        ("integer ids", big, {}, PLAIN_THREE, THREE, 2.5),
        ("string ids", made(10**7, 10**6, 10**5, text=True), {"text": True}, PLAIN_THREE, THREE, 4),
        (
            "one row per unit, declared",
            made(10**7, 10**7, 10**5, unique=True),
            {"unique": True},
            "SUM(least(greatest(v, 0), 100)), COUNT(*)",
            's=dp.sum("v"), n=dp.count()',
            1.8,
        ),
    ):
        dev.say(label)
        private, bare = ours(path, aggregates=aggregates, **options), plain(path, columns)
        if private and bare:
            rows.append(
                (
                    label,
                    number(bare.seconds, " s"),
                    number(private.seconds, " s"),
                    ratio(private.seconds, bare.seconds),
                    f"{most}×",
                    number(private.peak / 1e9, " GB"),
                )
            )
    pipeline, opendp = peer("pipeline-dp", "pipeline-dp", "pandas", "pyarrow"), peer("opendp", "opendp[polars]")
    small = made(10**6, 10**5, 100)
    versions = {"deniable": version(OURS, "deniable"), "duckdb": version(OURS, "duckdb")}
    versions |= {"pipeline-dp": version(pipeline, "pipeline-dp"), "opendp": version(opendp, "opendp")}
    report = Report("tables", title="Private tables", versions=versions)
    report.note(
        "10⁷ rows, 10⁶ units, 10⁵ groups, at most 5 groups a unit, Parquet: grouped sum, count and number of units."
    )
    report.table(["", "plain DuckDB", "deniable", "ratio", "at most", "peak memory"], rows)
    mine = ours(small)
    others = {
        "PipelineDP, local": cpu(
            pipeline, setup=PIPELINE_SETUP.format(path=small), call=PIPELINE_CALL, rounds=1, most=1
        ),
        "OpenDP frame (rows capped per unit only, no number of units)": cpu(
            opendp, setup=OPENDP_SETUP.format(path=small), call=OPENDP_CALL, rounds=2, most=2
        ),
    }
    report.note(
        "10⁶ rows, 10⁵ units, 100 groups; reading the file is included for deniable and OpenDP, not for PipelineDP."
    )
    report.table(
        ["", "CPU seconds", "times ours"],
        [
            ("deniable", number(mine.seconds if mine else None), "1×"),
            *(
                (
                    name,
                    number(found.seconds if found else None),
                    ratio(found.seconds if found else None, mine.seconds if mine else None),
                )
                for name, found in others.items()
            ),
        ],
    )
    book = BOOK.format(kind="integer", unique="")
    price = cpu(
        OURS,
        setup=OURS_SETUP.format(path=small, book=book, aggregates=THREE),
        call="query.price(epsilon=1, delta=1e-6)",
    )
    report.note(
        f"Price of that query, warm: {number(price.seconds * 1000 if price else None, ' ms')}. First answer in a new process, import and reading included: {number(_cold(small, book), ' s')}."
    )
    report.write()


def _cold(path: str, book: str) -> float | None:
    code = OURS_SETUP.format(path=path, book=book, aggregates=THREE) + OURS_CALL
    found = cpu(OURS, call=f"exec({code!r}, {{}})", rounds=1, most=1)
    return found.first if found else None


if __name__ == "__main__":
    main()
