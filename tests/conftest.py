from html.parser import HTMLParser

import pytest


class Page(HTMLParser):
    """Tags, headings, links and texts of a page."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.headings, self.links, self.ids = [], [], [], []
        self.bold, self.code, self.text = [], [], ""
        self._open = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self._open.append(tag)
        found = dict(attrs)
        self.links += [found[key] for key in ("href", "src") if found.get(key)]
        self.ids += [found["id"]] if "id" in found else []
        if tag in ("h1", "h2", "h3"):
            self.headings.append((tag, ""))

    def handle_endtag(self, tag):
        if tag in self._open:
            while self._open.pop() != tag:
                pass

    def handle_data(self, data):
        if not self._open or self._open[-1] in ("style", "script"):
            return
        self.text += data
        for tag in ("h1", "h2", "h3"):
            if tag in self._open:
                self.headings[-1] = (tag, self.headings[-1][1] + data)
        if self._open[-1] == "b":
            self.bold.append(data)
        if self._open[-1] == "code":
            self.code.append(data)

    def titles(self, tag):
        return [" ".join(text.split()) for each, text in self.headings if each == tag]


@pytest.fixture(scope="session")
def parse():
    """Return how to take a page apart."""
    return Page
