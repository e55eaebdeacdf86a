"""The auditor: does a mechanism, a query, a model or somebody else's function keep the promise it makes?"""
