"""`interlock plan --html`: one page that needs nothing else, and that a person can read in light and in dark."""

import json
import re
import shutil
import subprocess
import time
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from interlock.cli.main import main
from interlock.cli.page import page
from interlock.infra.config import load
from interlock.infra.plan.servers import server_fits
from interlock.infra.plan.types import ClusterPlan
from interlock.infra.preview import preview
from interlock.infra.preview.offers import with_offers
from tests.support import TODAY
from tools.common import ROOT

BROWSER = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chrome-headless-shell"))), None)
HOSTILE = "<script>alert(1)</script>&amp;"
H100 = {"gpu": "h100-80gb-sxm", "gpus_per_node": 8, "cpu": "96", "memory": "1Ti"}
HARD: dict[str, Any] = {
    "target": {"local": "dev"},
    "namespace": "hard",
    "pools": [
        {"name": "whole", "nodes": 2, **H100},
        {"name": "slices", "gpu": "l4", "nodes": 2, "gpus_per_node": 2, "share": {"kind": "time-slicing", "replicas": 4}},
        {"name": "mig", "gpu": "a100-80gb-sxm", "nodes": 1, "gpus_per_node": 8, "share": {"kind": "mig", "profile": "1g.10gb"}},
        {"name": "huge", "gpu": "h200", "nodes": 1000, "gpus_per_node": 16, "cpu": "192", "memory": "2Ti"},
    ],
    "servers": [
        {"name": "large", "model": {"id": "Qwen/Qwen2.5-72B-Instruct"}, "pool": "whole", "engine": {"tensor_parallel_size": 1}},
        {"name": "too-many-of-a-long-name", "model": {"id": "Qwen/Qwen2.5-7B-Instruct"}, "pool": "whole", "replicas": 40},
        {"name": "slice", "model": {"id": "Qwen/Qwen2.5-0.5B-Instruct"}, "pool": "slices", "replicas": 3},
        {"name": "instance", "model": {"id": "Qwen/Qwen2.5-0.5B-Instruct"}, "pool": "mig", "replicas": 20},
        {
            "name": "several",
            "model": {"id": "deepseek-ai/DeepSeek-R1"},
            "pool": "huge",
            "replicas": 3,
            "engine": {"tensor_parallel_size": 8, "pipeline_parallel_size": 4},
        },
        {"name": "own", "model": {"id": f"acme/{HOSTILE}", "unsized": "a test"}, "pool": "huge"},
    ],
}
MODELS = ("Qwen/Qwen2.5-7B-Instruct", "Qwen/Qwen3-8B", "Qwen/Qwen2.5-72B-Instruct", "mistralai/Mistral-7B-Instruct-v0.3")


def drawn(data: dict[str, Any]) -> tuple[ClusterPlan, str]:
    config = load(data)
    made = preview(config, "hard", "hard.yaml", today=TODAY)
    return made, page(made, server_fits(config))


@pytest.fixture(scope="module")
def hard() -> tuple[ClusterPlan, str]:
    """A page with refusals, shares, nodes without end, a replica on several nodes and a model that nobody knows."""
    return drawn(HARD)


@pytest.fixture(scope="module")
def hundred() -> str:
    pools = [{"name": f"p{index}", "nodes": 20, **H100} for index in range(4)]
    servers = [
        {"name": f"server-{index}", "model": {"id": MODELS[index % 4]}, "pool": f"p{index // 25}", "replicas": 1 + index % 4}
        for index in range(100)
    ]
    return drawn({"target": {"local": "dev"}, "namespace": "hundred", "pools": pools, "servers": servers})[1]


class Reader(HTMLParser):
    """Reads a page strictly: each element is closed where it was opened."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.names: set[str] = set()
        self.words: list[str] = []
        self.attributes: set[str] = set()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.ids += [str(value) for name, value in attrs if name == "id"]
        self.links += [str(value) for name, value in attrs if name in ("href", "src", "srcset", "action", "data")]
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, (tag, self.getpos())

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words.append(data)


def test_every_element_is_closed_and_every_link_leads_into_the_page(hard: tuple[ClusterPlan, str]) -> None:
    read = Reader(hard[1])
    assert read.open == []
    assert len(read.ids) == len(set(read.ids))
    assert read.links
    assert {link.removeprefix("#") for link in read.links} <= set(read.ids)
    assert all(link.startswith("#") for link in read.links)


def test_nothing_is_fetched_or_run(hard: tuple[ClusterPlan, str]) -> None:
    read = Reader(hard[1])
    assert not read.names & {"script", "link", "img", "iframe", "object", "base", "form"}
    assert not any(name.startswith("on") for name in read.attributes)
    style = hard[1][hard[1].index("<style>") : hard[1].index("</style>")]
    assert not re.search(r"url\(|@import|//", style)
    assert "default-src 'none'" in unescape(hard[1])


def test_every_server_node_pod_and_finding_is_on_the_page(hard: tuple[ClusterPlan, str]) -> None:
    plan, text = hard
    read = Reader(text)
    told = "".join(read.words)
    assert {f"server-{server.name}" for server in plan.servers} | {f"pool-{pool.name}" for pool in plan.pools} <= set(read.ids)
    assert plan.refused
    for finding in plan.findings:
        assert finding.summary in told
        assert finding.remedy in told
    assert "993 nodes" in told
    assert "25 units of what is asked fit on no node" in told
    # Pods as they lie: 16 whole cards, 3 shares, 20 instances, 6 nodes alike drawn once in two rows, one alone.
    assert text.count('class="pod"') == 16 + 3 + 20 + 2 + 1


def test_a_finding_stands_beside_what_it_is_about(hard: tuple[ClusterPlan, str]) -> None:
    plan, text = hard
    for finding in plan.refused:
        assert finding.subject.kind == "Server"
        own = text[text.index(f'id="server-{finding.subject.name}"') :]
        assert finding.code in own[: own.index("</article>")]


def test_what_a_person_wrote_is_text_and_never_markup(hard: tuple[ClusterPlan, str]) -> None:
    assert HOSTILE in "".join(Reader(hard[1]).words)
    assert "<script" not in hard[1]


def test_the_page_of_a_hundred_servers_is_small(hundred: str) -> None:
    assert len(hundred.encode()) < 1_000_000
    assert hundred.count("<article ") == 100


def test_what_would_do_instead_stands_at_the_refusal() -> None:
    data = {**HARD, "pools": HARD["pools"][:1], "servers": HARD["servers"][:1]}
    config = load(data)
    made = with_offers(config, preview(config, "hard", "hard.yaml", today=TODAY), TODAY)
    text = page(made, server_fits(config))
    assert made.offers
    for offer in made.offers:
        assert offer.loss in "".join(Reader(text).words)


def test_the_command_writes_the_page_and_tells_a_file_that_it_cannot_write(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "plan.html"
    with pytest.raises(SystemExit) as done:
        main(["plan", "--file", str(ROOT / "examples" / "two-models.yaml"), "--html", str(file)])
    assert done.value.code == 0
    assert file.read_text("utf-8").startswith("<!doctype html>")
    with pytest.raises(SystemExit) as done:
        main(["plan", "--file", str(ROOT / "examples" / "two-models.yaml"), "--html", str(tmp_path)])
    assert done.value.code == 2
    assert "cannot be written" in capsys.readouterr().err


AUDIT = """
const drawn = (document.body.getBoundingClientRect(), performance.now()), found = [];
const rgb = text => text.match(/[\\d.]+/g).map(Number);
const light = ([r, g, b]) => [r, g, b].map(c => c / 255).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
  .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
const behind = e => { const c = e ? rgb(getComputedStyle(e).backgroundColor) : [255, 255, 255];
  return c.length < 4 || c[3] > 0 ? c : behind(e.parentElement); };
document.querySelectorAll("details").forEach(each => each.open = true);
document.querySelectorAll("body *").forEach(each => {
  const own = [...each.childNodes].some(node => node.nodeType === 3 && node.data.trim());
  if (!own || each.tagName === "SCRIPT") return;
  const style = getComputedStyle(each), [a, b] = [light(rgb(style.color)), light(behind(each))].sort((x, y) => y - x);
  if ((a + 0.05) / (b + 0.05) < 4.5) found.push(["contrast", each.className, each.textContent, (a + 0.05) / (b + 0.05)]);
  if (each.scrollWidth > each.clientWidth + 1 && style.overflow !== "visible" && !(style.textOverflow === "ellipsis" && each.title))
    found.push(["cut off", each.className, each.textContent]);
});
document.querySelectorAll(".track, .bar, .cards, .legend, .nodes, dl").forEach(each => {
  const boxes = [...each.children].filter(c => c.className !== "limit").map(c => [c, c.getBoundingClientRect()]);
  boxes.forEach(([c, a], i) => boxes.slice(i + 1).forEach(([d, b]) => {
    if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1)
      found.push(["overlap", each.className, c.textContent, d.textContent]); }));
});
const wide = document.documentElement.scrollWidth;
if (wide > innerWidth) found.push(["wider than the window", wide, innerWidth]);
const out = document.createElement("pre"); out.id = "audit";
out.textContent = JSON.stringify({drawn, found: found.slice(0, 20), dark: matchMedia("(prefers-color-scheme: dark)").matches});
document.body.append(out);
"""


def audited(text: str, folder: Path, *, dark: bool = False, width: int = 1200) -> dict[str, Any]:
    """What a real browser makes of the page: milliseconds until it is laid out, and what a person could not read."""
    assert BROWSER
    loose = re.sub(r"<meta http-equiv[^>]*>", "", text)  # the page itself lets no script run
    file = folder / "page.html"
    file.write_text(loose.replace("</main>", f"</main><script>{AUDIT}</script>"), "utf-8")
    words = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--window-size={width},900",
        f"--blink-settings=preferredColorScheme={int(not dark)}",
    ]
    done = subprocess.run([BROWSER, *words, "--dump-dom", file.as_uri()], capture_output=True, text=True, check=True, timeout=60)
    found = re.search(r'<pre id="audit">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stdout[-2000:]
    made: dict[str, Any] = json.loads(found[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    return made


@pytest.mark.skipif(BROWSER is None, reason="no browser here: needs chromium-headless-shell or chrome-headless-shell")
@pytest.mark.parametrize(("dark", "width"), [(False, 1200), (True, 1200), (True, 480)])
def test_a_browser_shows_all_text_readable_in_light_in_dark_and_on_a_narrow_window(
    hard: tuple[ClusterPlan, str], tmp_path: Path, dark: bool, width: int
) -> None:
    made = audited(hard[1], tmp_path, dark=dark, width=width)
    assert made["dark"] is dark
    assert made["found"] == []


@pytest.mark.skipif(BROWSER is None, reason="no browser here: needs chromium-headless-shell or chrome-headless-shell")
def test_a_browser_lays_out_a_hundred_servers_within_a_second(hundred: str, tmp_path: Path) -> None:
    started = time.monotonic()
    made = audited(hundred, tmp_path)
    assert made["found"] == []
    assert made["drawn"] < 1000, f"{made['drawn']:.0f} ms; the whole run took {time.monotonic() - started:.1f} s"
