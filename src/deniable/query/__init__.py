"""Questions about private tables: aggregates, the builder, prices, and the way from exact integers to an answer."""

from deniable.kernels import Law, Noise
from deniable.query.aggregates import Error
from deniable.query.allocation import Allocation, Request
from deniable.query.answering import answer_columns
from deniable.query.builder import Query, QueryRunner
from deniable.query.columns import AnswerColumn
from deniable.query.compile import CompiledQuery, compile_query
from deniable.query.drawing import DrawnSlice, draw_slices
from deniable.query.keys import Key
from deniable.query.payment import LawName, Payment
from deniable.query.price import ErrorBasis, Price, price_for_accuracy, price_query, public_size, shares_as_errors

__all__ = [
    "Allocation",
    "AnswerColumn",
    "CompiledQuery",
    "DrawnSlice",
    "Error",
    "ErrorBasis",
    "Key",
    "Law",
    "LawName",
    "Noise",
    "Payment",
    "Price",
    "Query",
    "QueryRunner",
    "Request",
    "answer_columns",
    "compile_query",
    "draw_slices",
    "price_for_accuracy",
    "price_query",
    "public_size",
    "shares_as_errors",
]
