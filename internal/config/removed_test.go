package config

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// removedFile returns a file that has the key, with every section around it.
func removedFile(path string) string {
	var b strings.Builder
	parts := strings.Split(strings.Replace(path, "resources.NAME.key.", "resources.NAME.key:.", 1), ".")
	for i, part := range parts {
		fmt.Fprintf(&b, "%s%s:", strings.Repeat("  ", i), strings.TrimSuffix(part, ":"))
		if i == len(parts)-1 {
			b.WriteString(" 1")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// A key that is gone is refused by its name, with what to do instead.
func TestLoad_RefusesRemovedKeysByName(t *testing.T) {
	for path, hint := range removed {
		_, _, err := load("hotrow.yaml", removedFile(path), nil)
		section := path[:strings.LastIndexByte(path, '.')]
		said := ": this key was removed: " + hint
		if err == nil || !strings.Contains(err.Error(), path+said) &&
			!strings.Contains(err.Error(), section+said) {
			t.Errorf("%s:\n%v\nwant %q", path, err, said)
		}
	}
	_, _, err := load("hotrow.yaml", "resources: {a: {table: a, key: [{column: x, type: int}]}}\n", nil)
	if err == nil || !strings.Contains(err.Error(), "write the column itself") {
		t.Errorf("in a list: %v", err)
	}
	for _, k := range Keys() {
		if _, was := removal(k.Path); was {
			t.Errorf("%s is removed and is there", k.Path)
		}
	}
}

func TestLoad_RefusesVariablesOfRemovedKeys(t *testing.T) {
	for path, hint := range removed {
		name := variableOf(path)
		if name == "" {
			continue
		}
		_, warnings, err := load("hotrow.yaml", "", []string{name + "=1"})
		if err == nil || !strings.Contains(err.Error(), name+": "+path+": this key was removed: "+hint) {
			t.Errorf("%s: %v", name, err)
		}
		if len(warnings) > 0 {
			t.Errorf("%s is told twice: %v", name, warnings)
		}
	}
}

// The page of the settings names those that are gone.
func TestReference_HasTheRemovedKeys(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Removed keys\n")
	for path, hint := range removed {
		if row := fmt.Sprintf("| `%s` | %s |", path, hint); !strings.Contains(section, row) {
			t.Errorf("%s does not have the row\n%s", page, row)
		}
	}
}

func TestRetention_HourlyCountsStayAsLongAsClicks(t *testing.T) {
	for clicks, want := range map[Duration]Duration{0: 0, 1: minHours, 2 * minHours: 2 * minHours} {
		if got := (Retention{Clicks: clicks}).Hours(); got != want {
			t.Errorf("clicks %s: %s, want %s", clicks, got, want)
		}
	}
}

func TestMaxMessage_IsTheBoundOfABody(t *testing.T) {
	for body, want := range map[Size]int{1 << 10: 64 << 10, 1 << 20: 1 << 20, 1 << 30: 64 << 20} {
		c := Default()
		c.HTTP.MaxBody = body
		if got := c.MaxMessage(); got != want {
			t.Errorf("max_body %s: %d, want %d", body, got, want)
		}
	}
}
