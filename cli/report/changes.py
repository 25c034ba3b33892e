"""What a change does, as text for a terminal, Markdown for a pull request, and JSON for programs."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from interlock.cli.report.reviews import cell
from interlock.cli.show import span
from interlock.infra.manifests.differences import ObjectChange, What
from interlock.infra.preview.changes import Cards, Changes, Restart, ServerChange
from interlock.infra.values import plural, some

MOST_FIELDS = 12
"""Fields of one object that are shown; the JSON has all."""
MOST_NAMES = 8
MOST_CHARACTERS = 60_000
"""Of a comment in a pull request."""


def as_json(made: Changes, stack: str, against: str) -> str:
    """Everything, with stable names."""
    found = {
        "stack": stack,
        "against": against,
        "objects": [asdict(each) for each in made.objects],
        "servers": [asdict(each) | {"rows": each.rows} for each in made.servers],
        "cards": [asdict(each) for each in made.cards],
        "tenants": [{"name": name, "what": what} for name, what in made.tenants],
        "findings": {name: [asdict(each) for each in found] for name, found in (("new", made.new), ("gone", made.gone))},
    }
    return json.dumps(found, indent=2)


def headline(made: Changes, stack: str, against: str) -> str:
    """One sentence."""
    if made.nothing:
        return f"stack {stack} against {against}: nothing changes"
    counts = [f"{count} {what}" for what in What if (count := sum(each.what is what for each in made.objects))]
    restarted = [each.name for each in made.servers if each.restart]
    told = f"; {plural(len(restarted), 'server')} restarted ({some(restarted, MOST_NAMES)})" if restarted else "; no server restarted"
    return f"stack {stack} against {against}: objects: {', '.join(counts) or 'none'}{told}"


def text(made: Changes, stack: str, against: str) -> str:
    """For a terminal."""
    lines = [headline(made, stack, against)]
    for server in made.servers:
        lines += ["", f"{server.name}: {server.what}", *(f"  {name}: {_arrow(was, now)}" for name, was, now in _rows(server))]
        lines += [f"  restart: {_restart(server.restart)}"] if server.restart else []
    lines += ["", *(_cards(each) for each in made.cards)] if made.cards else []
    lines += ["", *(_tenant(name, what) for name, what in made.tenants)] if made.tenants else []
    lines += _findings(made)
    if made.objects:
        lines += ["", "objects:"]
        for each in made.objects:
            lines += [f"  {_SIGNS[each.what]} {_named(each)}", *(f"      {line}" for line in _fields(each))]
    return "\n".join(lines) + "\n"


_SIGNS = {What.ADDED: "+", What.REMOVED: "-", What.CHANGED: "~", What.REPLACED: "±"}


def _rows(server: ServerChange) -> list[tuple[str, str, str]]:
    """What differs; of a new or removed server what matters most."""
    return server.rows if server.what is What.CHANGED else [row for row in server.rows if row[0] in _SHORT]


_SHORT = ("model", "image", "pool", "replicas", "GPUs", "route", "keys")


def _arrow(was: str, now: str) -> str:
    return f"{was} -> {now}" if was and now else now or was


def _restart(restart: Restart) -> str:
    each, whole = span(restart.seconds), span(restart.steps * restart.seconds)
    times = f"each up to {each} at the likely start, {whole} in all" if restart.steps > 1 else f"up to {each} at the likely start"
    return f"{'OUTAGE: ' if restart.silent else ''}{restart.told}, {times}"


def _cards(each: Cards) -> str:
    cost = "" if each.monthly is None else f", {each.monthly:+,.0f} a month by the price table"
    return f"pool {each.pool} ({each.gpu}): {each.before} -> {each.after} GPUs asked{cost}"


def _tenant(name: str, what: What) -> str:
    return f"tenant {name}: {'its key is made' if what is What.ADDED else 'its key is removed, requests with it get 401'}"


def _findings(made: Changes) -> list[str]:
    lines = ["", "findings that it brings:", *(f"  {each.code} {each.severity} {each.path}: {each.summary}" for each in made.new)]
    gone = ["", "findings that it removes:", *(f"  {each.code} {each.path}" for each in made.gone)]
    return (lines if made.new else []) + (gone if made.gone else [])


def _named(each: ObjectChange) -> str:
    return f"{each.kind} {each.namespace}/{each.name}" if each.namespace else f"{each.kind} {each.name}"


def _fields(each: ObjectChange) -> Iterator[str]:
    for field in each.fields[:MOST_FIELDS]:
        yield f"{field.path}: {_value(field.before)} -> {_value(field.after)}"
    if len(each.fields) > MOST_FIELDS:
        yield f"... and {len(each.fields) - MOST_FIELDS} more"


def _value(value: Any) -> str:
    if value is None:
        return "(nothing)"
    said = value if isinstance(value, str) else json.dumps(value)
    return said if len(said) <= 160 else f"{said[:157]}..."


def markdown(made: Changes, stack: str, against: str) -> str:
    """A comment for a pull request, at most 60,000 characters."""
    parts = [f"### Interlock: {cell(headline(made, stack, against))}\n"]
    if made.servers:
        rows = "".join(f"| {cell(each.name)} | {each.what} | {_told(each)} |\n" for each in made.servers)
        parts.append(f"\n| server | | what |\n| --- | --- | --- |\n{rows}")
    listed = [_cards(each) for each in made.cards] + [_tenant(*each) for each in made.tenants]
    parts += ["\n" + "".join(f"- {cell(line)}\n" for line in listed)] if listed else []
    found = [f"- **{each.code}** {each.severity} `{cell(each.path)}`: {cell(each.summary)}\n" for each in made.new]
    parts += ["\n**Findings that it brings**\n\n", *found] if found else []
    if made.objects:
        rows = "".join(_object_row(each) for each in made.objects)
        parts.append(f"\n<details><summary>{plural(len(made.objects), 'object')}</summary>\n\n{rows}\n</details>\n")
    whole = ""
    for part in parts:
        if len(whole) + len(part) > MOST_CHARACTERS:
            return f"{whole}\n*More than a comment holds: see the job's log.*\n"
        whole += part
    return whole


def _told(each: ServerChange) -> str:
    rows = [f"{name}: {_arrow(was, now)}" for name, was, now in _rows(each)]
    rows += [f"**restart**: {_restart(each.restart)}"] if each.restart else []
    return "<br>".join(cell(row) for row in rows)


def _object_row(each: ObjectChange) -> str:
    return f"- {each.what} `{cell(_named(each))}`\n" + "".join(f"  - `{cell(line)}`\n" for line in _fields(each))
