"""The half that never can touch data: stored measurements in, tables that agree, models, rows, errors and reports out."""
