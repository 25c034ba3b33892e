#!/bin/sh
# The same for any other CI: BASE is the revision to compare with. Prints a comment in Markdown; ends with 1 where something is refused.
set -u
failed=0
interlock check deploy >&2 || failed=1
for file in Pulumi.*.yaml; do
    stack=${file#Pulumi.} && stack=${stack%.yaml}
    interlock diff --stack "$stack" --against "${BASE:-HEAD~1}" --markdown || failed=1
done
exit $failed
