"""The providers that answer questions: twelve rows of a table, five wire formats, one caller."""
