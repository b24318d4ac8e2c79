// Command sbom writes the bill of materials of a program of this repository, as CycloneDX 1.6
// in JSON: the modules that are compiled into it, what they are licensed under, and which of
// them imports which. GOOS and GOARCH say for which system. The same input gives the same bytes.
package main

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"slices"
	"strings"
)

// A bill is the document, as far as it is used here.
type bill struct {
	Schema       string       `json:"$schema"`
	Format       string       `json:"bomFormat"`
	SpecVersion  string       `json:"specVersion"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Ref      string    `json:"bom-ref"`
	Type     string    `json:"type"`
	Name     string    `json:"name"`
	Version  string    `json:"version"`
	Scope    string    `json:"scope,omitempty"`
	Hashes   []hash    `json:"hashes,omitempty"`
	PURL     string    `json:"purl"`
	Evidence *evidence `json:"evidence,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

// An evidence has the licences that a module's files show.
type evidence struct {
	Licenses []licence `json:"licenses"`
}

type licence struct {
	License struct {
		ID string `json:"id"`
	} `json:"license"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn,omitempty"`
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("sbom: ")
	program := flag.String("package", "./cmd/hotrow", "the program")
	version := flag.String("version", "", "the version of what is ours")
	out := flag.String("out", "", "the file")
	flag.Parse()
	err := write(*program, *version, *out)
	if err != nil {
		log.Fatalf("write the bill of materials %s: %v", *out, err)
	}
}

func write(program, version, out string) error {
	modules, err := linked(program, version)
	if err != nil {
		return err
	}
	b := &bill{Schema: "http://cyclonedx.org/schema/bom-1.6.schema.json", Format: "CycloneDX",
		SpecVersion: "1.6", Version: 1}
	for _, path := range slices.Sorted(maps.Keys(modules)) {
		m := modules[path]
		c, err := m.component()
		if err != nil {
			return fmt.Errorf("module %s: %w", path, err)
		}
		if m.Main {
			c.Type, c.Scope = "application", ""
			b.Metadata.Component = c
		} else {
			b.Components = append(b.Components, c)
		}
		d := dependency{Ref: c.Ref}
		for _, other := range slices.Sorted(maps.Keys(m.imports)) {
			d.DependsOn = append(d.DependsOn, modules[other].purl())
		}
		b.Dependencies = append(b.Dependencies, d)
	}
	text, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(out, append(text, '\n'), 0o644)
}

// purl returns the module's name among packages of all languages.
func (m *module) purl() string {
	return "pkg:golang/" + m.Path + "@" + m.Version + "?type=module"
}

// component returns the module as the document has it.
func (m *module) component() (component, error) {
	c := component{Ref: m.purl(), Type: "library", Name: m.Path, Version: m.Version,
		Scope: "required", PURL: m.purl()}
	if text, ok := strings.CutPrefix(m.Sum, "h1:"); ok {
		sum, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return c, fmt.Errorf("its checksum %s: %w", m.Sum, err)
		}
		c.Hashes = []hash{{"SHA-256", hex.EncodeToString(sum)}}
	}
	ids, err := licences(m.Dir)
	if err != nil {
		return c, err
	}
	c.Evidence = new(evidence)
	for _, id := range ids {
		var l licence
		l.License.ID = id
		c.Evidence.Licenses = append(c.Evidence.Licenses, l)
	}
	return c, nil
}
