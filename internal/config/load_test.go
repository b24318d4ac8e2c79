package config

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write what was found to testdata")

// TestLoad_TellsWhatIsWrong holds each bad configuration to the message that an
// operator reads.
func TestLoad_TellsWhatIsWrong(t *testing.T) {
	const file = "testdata/bad.txtar"
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	parts := make(map[string]string)
	var names []string
	for _, f := range archive.Files {
		parts[f.Name] = string(f.Data)
		if name, ok := strings.CutSuffix(f.Name, ".yaml"); ok {
			names = append(names, name)
		}
	}
	if len(names) < 60 {
		t.Errorf("%d bad configurations, want 60 at least", len(names))
	}
	out := &txtar.Archive{Comment: archive.Comment}
	for _, name := range names {
		env, hasEnv := parts[name+".env"]
		got := tell(parts[name+".yaml"], strings.Split(strings.TrimSpace(env), "\n"))
		data := []byte(parts[name+".yaml"])
		out.Files = append(out.Files, txtar.File{Name: name + ".yaml", Data: data})
		if hasEnv {
			out.Files = append(out.Files, txtar.File{Name: name + ".env", Data: []byte(env)})
		}
		out.Files = append(out.Files, txtar.File{Name: name + ".want", Data: []byte(got)})
		if *update {
			continue
		}
		if got == "" {
			t.Errorf("%s: loads without an error", name)
		}
		if diff := cmp.Diff(parts[name+".want"], got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(out), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// tell returns what loading says, without the control characters of bad input.
func tell(text string, env []string) string {
	c, _, err := load("hotrow.yaml", text, env)
	if err == nil {
		err = c.CheckExposure(false)
	}
	if err == nil {
		return ""
	}
	return err.Error() + "\n"
}

// TestLoad_Encodings: what editors put at the start of a file is no part of it, and a file of
// another encoding is named.
func TestLoad_Encodings(t *testing.T) {
	const good, bad = "version: 1\n", "version: 1\nhtpp: {}\n"
	if _, _, err := Parse("hotrow.yaml", "\ufeff"+good, nil); err != nil {
		t.Errorf("with a byte order mark: %v", err)
	}
	if got, want := tell("\ufeff"+bad, nil), tell(bad, nil); got != want {
		t.Errorf("with a byte order mark: %s, without: %s", got, want)
	}
	for _, text := range []string{"\xff\xfev\x00e\x00", "\xfe\xff\x00v\x00e"} {
		const want = "hotrow.yaml: it is UTF-16: save it as UTF-8\n"
		if got := tell(text, nil); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
