"""Writes docs/findings.md; ``--check`` only says whether it is up to date."""

from tools.common import ROOT, run_main
from tools.findings.page import page

PAGE = ROOT / "docs" / "findings.md"


def main(arguments: list[str]) -> int:
    text = page()
    if "--check" in arguments:
        same = PAGE.is_file() and PAGE.read_text(encoding="utf-8") == text
        print("docs/findings.md is up to date" if same else "docs/findings.md is out of date: python -m tools.findings")
        return 0 if same else 1
    PAGE.write_text(text, encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    run_main(main)
