"""Reads the artefacts again and writes docs/mechanisms.md.

usage: python -m tools.mechanisms [--read NAME ...] [--check] [--spans FOLDER] [--fields]

Without arguments only the page is written, from the stored tables (tools/mechanisms/tables/NAME.json). ``--read`` downloads the artefacts
named (``all`` for every one), keeps what was judged of their conditions and adds the new ones as open. ``--check`` writes nothing and fails
when an artefact has a condition that no table has, or the page is old. ``--spans`` sets since and until of the relations from unpacked
wheels, one folder per version. ``--fields`` writes the field tables of custom resources and of Ray.
"""

import argparse
from pathlib import Path

from tools.common import ROOT, ToolError, run_main, say
from tools.mechanisms import fields, page, rows, spans
from tools.mechanisms.artefacts import ARTEFACTS, Artefact

FOLDER = Path(__file__).parent / "tables"
PAGE = ROOT / "docs" / "mechanisms.md"


def stored(artefact: Artefact) -> rows.Table:
    """The table of an artefact, empty if there is none yet."""
    path = FOLDER / f"{artefact.name}.json"
    return rows.read(path) if path.is_file() else rows.Table(artefact.name, "", ())


def fresh(artefact: Artefact) -> rows.Table:
    """The table as the artefact says it now, with the verdicts of the stored one."""
    found = rows.merged({version: artefact.conditions(version) for version in artefact.versions})
    files = ", ".join(f"{artefact.base}/{each}".lstrip("/") for part in artefact.parts for each in part.files)
    return rows.Table(artefact.name, f"{artefact.package}: {files}", artefact.versions, rows.judged(found, stored(artefact).rows))


def check(artefacts: list[Artefact]) -> int:
    """Says what is not in the tables; 1 when anything is."""
    said = [f"{each.name}: {text}" for each in artefacts for text in rows.differences(fresh(each).rows, stored(each).rows)]
    said += [] if PAGE.is_file() and PAGE.read_text(encoding="utf-8") == page.page(tables()) else ["docs/mechanisms.md is out of date"]
    for text in said:
        say(text)
    say(f"{len(said)} differences")
    return 1 if said else 0


def tables() -> list[rows.Table]:
    """All stored tables, in the order of the artefacts."""
    return [stored(each) for each in ARTEFACTS if (FOLDER / f"{each.name}.json").is_file()]


def _chosen(names: list[str]) -> list[Artefact]:
    known = {each.name: each for each in ARTEFACTS}
    unknown = sorted(set(names) - set(known) - {"all"})
    if unknown:
        raise ToolError(f"--read: {', '.join(unknown)}: known are {', '.join(known)} and all")
    return [*known.values()] if "all" in names else [known[name] for name in names]


def main(arguments: list[str]) -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m tools.mechanisms", description=__doc__)
    parser.add_argument("--read", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--spans", type=Path, metavar="FOLDER")
    parser.add_argument("--fields", action="store_true")
    options = parser.parse_args(arguments)
    chosen = _chosen(options.read)
    if options.check:
        return check(chosen or [*ARTEFACTS])
    for each in chosen:
        table = fresh(each)
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / f"{each.name}.json").write_text(table.text(), encoding="utf-8")
        say(f"{each.name}: {len(table.rows)} conditions, {sum(row.state == 'open' for row in table.rows)} open")
    if options.spans:
        say(f"vllm_relations.json: {spans.write(options.spans, stored(ARTEFACTS[0]))} spans changed")
    if options.fields:
        fields.write()
    PAGE.write_text(page.page(tables()), encoding="utf-8")
    say(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    run_main(main)
