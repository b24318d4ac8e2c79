package policy

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write deploy/NOTICES.txt anew")

// The licences of what is compiled into the program travel with it: those of the
// modules that it has on any system that it is released for.
func TestNotices_AreThoseOfTheModulesInTheBinary(t *testing.T) {
	want, err := notices()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, "deploy", "NOTICES.txt")
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("deploy/NOTICES.txt is not what the modules say; write it anew: " +
			"go test ./internal/policy -run Notices -update")
	}
}

// notices returns the licences, each once, under the modules that are licensed so.
func notices() ([]byte, error) {
	dirs, err := linked()
	if err != nil {
		return nil, err
	}
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOROOT: %w", err)
	}
	dirs["the Go standard library"] = strings.TrimSpace(string(out))
	of := make(map[string][]string) // text to modules
	for _, name := range slices.Sorted(maps.Keys(dirs)) {
		texts, err := licences(dirs[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, text := range texts {
			of[text] = append(of[text], name)
		}
	}
	if err := copied(of); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString("hotrow is licensed under the Apache License 2.0. These are the licences of " +
		"the modules\nand files of others that its program holds, each under their names.\n")
	texts := slices.SortedFunc(maps.Keys(of), func(x, y string) int {
		return cmp.Or(cmp.Compare(of[x][0], of[y][0]), cmp.Compare(x, y))
	})
	for _, text := range texts {
		b.WriteString("\n" + strings.Repeat("=", 80) + "\n")
		for _, name := range of[text] {
			b.WriteString(name + "\n")
		}
		b.WriteString(strings.Repeat("-", 80) + "\n" + text)
	}
	return b.Bytes(), nil
}

// copied adds the licences of files of others that are in the repository and in the
// program: NAME.LICENSE lies beside what it is of.
func copied(of map[string][]string) error {
	return filepath.WalkDir(filepath.Join(root, "internal"), func(
		path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == "testdata" {
			return filepath.SkipDir
		}
		name, found := strings.CutSuffix(d.Name(), ".LICENSE")
		if !found {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		clean := strings.TrimRight(string(text), "\n") + "\n"
		of[clean] = append(of[clean], filepath.ToSlash(dir)+"/"+name)
		return nil
	})
}

// linked returns the modules in the program and where their files are, but for ours.
func linked() (map[string]string, error) {
	dirs := make(map[string]string)
	for _, system := range []string{"linux", "darwin", "windows"} {
		cmd := exec.Command("go", "list", "-deps", "-f",
			"{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}",
			"./cmd/hotrow")
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", cmd, err)
		}
		for line := range strings.Lines(string(out)) {
			name, dir, found := strings.Cut(strings.TrimSpace(line), "\t")
			if found {
				dirs[name] = dir
			}
		}
	}
	return dirs, nil
}

// licences returns the texts of licences in a directory.
func licences(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var texts []string
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		if e.IsDir() || !strings.HasPrefix(name, "LICEN") && !strings.HasPrefix(name, "COPYING") &&
			!strings.HasPrefix(name, "NOTICE") && !strings.HasPrefix(name, "PATENTS") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		clean := strings.ReplaceAll(string(text), "\r\n", "\n")
		texts = append(texts, strings.TrimRight(clean, "\n")+"\n")
	}
	if len(texts) == 0 {
		return nil, errors.New("no licence in " + dir)
	}
	return texts, nil
}
