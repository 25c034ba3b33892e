"""Writes gen/ in the work copy: the provider's schema with its version in it, because the module's zip carries it without.

usage: prepare.py VERSION
"""

import json
import subprocess
import sys
from pathlib import Path

MODULE = "github.com/pulumi/pulumi-kubernetes/provider/v4"

subprocess.run(["go", "mod", "download", MODULE], check=True)
listed = subprocess.run(["go", "list", "-m", "-f", "{{.Dir}}", MODULE], check=True, capture_output=True, text=True)
source = Path(listed.stdout.strip(), "cmd", "pulumi-resource-kubernetes")
schema = json.loads((source / "schema.json").read_text()) | {"version": sys.argv[1]}
target = Path("gen")
target.mkdir(exist_ok=True)
(target / "schema.json").write_text(json.dumps(schema, separators=(",", ":")))
(target / "terraform.json").write_text(json.dumps(json.loads((source / "terraform-mapping.json").read_text()), separators=(",", ":")))
