"""SQL text with the meaning of the builder: read, compiled to one `Query`, post-processed on released values only."""

from deniable.query.sql.compiler import PrivateStatement, compile_statement
from deniable.query.sql.explain import Explanation, explain_statement
from deniable.query.sql.public import PublicRows, public_answer, public_tables
from deniable.query.sql.reading import Statement, read
from deniable.query.sql.stage import Released, Stage, applied

__all__ = [
    "Explanation",
    "PrivateStatement",
    "PublicRows",
    "Released",
    "Stage",
    "Statement",
    "applied",
    "compile_statement",
    "explain_statement",
    "public_answer",
    "public_tables",
    "read",
]
