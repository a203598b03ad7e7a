import base64
import hashlib
import re

import pytest

from lacunet.report import write_page


@pytest.fixture(scope="module")
def html(tmp_path_factory):
    context = {"title": "Any page", "sections": []}
    path = tmp_path_factory.mktemp("page") / "page.html"
    return write_page(path, "layout.html", lambda: context, force=False).read_text()


def test_the_browser_may_run_the_script_of_the_page_and_no_other(html):
    (script,) = re.findall("<script>(.*?)</script>", html, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    (policy,) = re.findall(r'Security-Policy" content="(.*?)"', html)
    assert policy.startswith("default-src 'none'; ")
    assert f"; script-src 'sha256-{digest}'; " in policy
    assert not re.search(r"fetch|XMLHttp|import|eval|innerHTML|https?:", script)
