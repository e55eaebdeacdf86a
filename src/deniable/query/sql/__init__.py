"""SQL text with the meaning of the builder: read, compiled to one `Query`, post-processed on released values only."""

from deniable.query.sql.compiler import PrivateStatement, StagedStatement, compile_stages, compile_statement
from deniable.query.sql.explain import Explanation, explain_statement
from deniable.query.sql.predictions import bind_predictions
from deniable.query.sql.public import PublicRows, check_public, public_answer, public_tables
from deniable.query.sql.released_facts import filled
from deniable.query.sql.sql_parser import Statement, read
from deniable.query.sql.stage import AnswerTable, Stage, applied
from deniable.query.sql.staging import StagePart

__all__ = [
    "AnswerTable",
    "Explanation",
    "PrivateStatement",
    "PublicRows",
    "Stage",
    "StagePart",
    "StagedStatement",
    "Statement",
    "applied",
    "bind_predictions",
    "check_public",
    "compile_stages",
    "compile_statement",
    "explain_statement",
    "filled",
    "public_answer",
    "public_tables",
    "read",
]
