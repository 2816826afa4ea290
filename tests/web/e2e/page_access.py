"""What axe-core finds in a page of a browser, and whether it is wider than its screen."""

from pathlib import Path

VENDOR = Path(__file__).parents[1] / "vendor"
AXE = (VENDOR / "axe.min.js").read_text(encoding="utf-8")
RUN = """async () => (await axe.run(document, {resultTypes: ['violations']})).violations
  .filter(one => ['serious', 'critical'].includes(one.impact))
  .map(one => [one.id, one.nodes.slice(0, 3).map(node => node.html.slice(0, 160) + ' ' + node.failureSummary)])"""


def serious(page):
    """Serious and critical violations in the page as it stands: (rule, where and why) each."""
    if not page.evaluate("typeof axe === 'object'"):
        page.evaluate(AXE)
    return page.evaluate(RUN)


def too_wide(page):
    """Whether the page as a whole scrolls sideways."""
    return page.evaluate("document.scrollingElement.scrollWidth > innerWidth")
