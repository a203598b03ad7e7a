"""Check that every relative link in README.md and docs/*.md leads somewhere.

A link to a heading (``page.md#heading``) needs that heading on the page. Links to other
sites are not followed. Run by ``make docs``.
"""

import re
import sys
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parents[1]
FENCE = re.compile(r"^[ ]*(```|~~~).*?^[ ]*\1[ ]*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]+`")
LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?[^)]*\)|\b(?:src|href)=\"([^\"]+)\"")
HEADING = re.compile(r"^#{1,6}[ ]+(.+?)[ ]*#*$", re.MULTILINE)
OTHER_SITE = re.compile(r"^[a-z][a-z0-9+.-]*:|^//", re.IGNORECASE)


def prose(page: Path) -> str:
    """Return the text of a page without its fenced blocks."""
    return FENCE.sub("", page.read_text("utf-8"))


def anchors(page: Path) -> set[str]:
    """Return the anchors that the headings of a page get when it is rendered."""
    titles = (title.lower() for title in HEADING.findall(prose(page)))
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in titles}


def relative_links(page: Path) -> list[str]:
    """Return the targets of the links on a page that stay within the project."""
    found = LINK.findall(CODE.sub("", prose(page)))
    targets = (unquote(link or attribute) for link, attribute in found)
    return [target for target in targets if not OTHER_SITE.match(target)]


def is_broken(page: Path, target: str) -> bool:
    """Check whether a relative link on a page leads nowhere."""
    path, _, anchor = target.partition("#")
    file = page.parent / path if path else page
    if not file.exists():
        return True
    return bool(anchor) and file.suffix == ".md" and anchor not in anchors(file)


def main() -> None:
    """Print each broken link and exit with an error if there is one."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    links = [(page, target) for page in pages for target in relative_links(page)]
    broken = [(page, target) for page, target in links if is_broken(page, target)]
    for page, target in broken:
        print(f"{page.relative_to(ROOT)}: nothing at {target}")
    if broken:
        sys.exit(1)
    print(f"{len(links)} relative links on {len(pages)} pages, all resolve.")


if __name__ == "__main__":
    main()
