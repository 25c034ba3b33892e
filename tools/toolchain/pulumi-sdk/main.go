// pulumi-sdk writes the SDK of a package by the generators of Pulumi's own CLI, which needs a language's host for it.
//
//	pulumi-sdk nodejs|go FOLDER < schema.json   prints what is doubtful in the schema, and writes the SDK's files below FOLDER
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	gogen "github.com/pulumi/pulumi/pkg/v3/codegen/go"
	"github.com/pulumi/pulumi/pkg/v3/codegen/nodejs"
	"github.com/pulumi/pulumi/pkg/v3/codegen/schema"
)

const tool = "pulumi-sdk"

func main() {
	if len(os.Args) != 3 {
		stop(fmt.Errorf("usage: %s nodejs|go FOLDER < schema.json", tool))
	}
	files, err := generate(os.Args[1])
	if err != nil {
		stop(err)
	}
	for name, content := range files {
		at := filepath.Join(os.Args[2], name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			stop(err)
		}
		if err := os.WriteFile(at, content, 0o644); err != nil {
			stop(err)
		}
	}
}

func generate(language string) (map[string][]byte, error) {
	var spec schema.PackageSpec
	if err := json.NewDecoder(os.Stdin).Decode(&spec); err != nil {
		return nil, err
	}
	// Without a plugin to ask: the schema refers to no other package.
	loader := schema.NewPluginLoader(nil)
	bound, doubts, err := schema.BindSpec(spec, loader, schema.ValidationOptions{})
	for _, doubt := range doubts {
		fmt.Println(doubt)
	}
	if err != nil {
		return nil, err
	}
	switch language {
	case "nodejs":
		return nodejs.GeneratePackage(tool, bound, nil, nil, true, loader)
	case "go":
		return gogen.GeneratePackage(tool, bound, nil)
	default:
		return nil, fmt.Errorf("no generator for %q", language)
	}
}

func stop(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
