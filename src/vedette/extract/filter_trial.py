"""What each filter of a source leaves of one document, for whoever tries them.  Nothing is decided here."""

from __future__ import annotations

from vedette.contracts.change import Block
from vedette.contracts.filters import RULES, PageFilters, StepLeft
from vedette.core.change.state import lines
from vedette.core.filters.filter_steps import read_filters
from vedette.core.filters.line_steps import FilteredLines, filter_lines
from vedette.core.filters.report_rules import rule_now
from vedette.extract.element_filters import misplaced
from vedette.extract.page import Page

Blocks = tuple[Block, ...]


def steps_left(
    page: Page, document: Blocks | None, texts: tuple[str, ...], scope: str
) -> tuple[StepLeft, ...]:
    """After each step, up to the first that leaves nothing.  `document`: the lines of a PDF or office file."""
    whole = read_filters(texts)
    found: list[StepLeft] = []
    for count, step in enumerate(whole.steps, 1):
        filters = PageFilters(whole.steps[:count])
        left = _left(page, document, filters, scope)
        is_rule = step.kind in RULES
        now = rule_now(step, left.blocks, whole) if is_rule and not left.unmatched else ""
        shown = () if is_rule else lines(left.blocks)
        found.append(StepLeft(step=str(step), lines=shown, problem=left.unmatched, now=now))
        if left.unmatched:
            break
    return tuple(found)


def _left(page: Page, document: Blocks | None, filters: PageFilters, scope: str) -> FilteredLines:
    if document is None:
        return page.filtering(filters).filtered(scope)
    wrong = misplaced(filters, page.content_class)
    return FilteredLines(unmatched=wrong) if wrong else filter_lines(document, filters)
