package config

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// removedFile returns a file that has the key, with every section around it.
func removedFile(path string) string {
	var b strings.Builder
	parts := strings.Split(path, ".")
	for i, part := range parts {
		indent := strings.Repeat("  ", i)
		if i > 0 && parts[i-1] == "depends" {
			indent = indent[2:] + "- "
		}
		fmt.Fprintf(&b, "%s%s:", indent, part)
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
		text := inList.ReplaceAllString(fmt.Sprint(err), "")
		if !strings.Contains(text, path+said) && !strings.Contains(text, section+said) {
			t.Errorf("%s:\n%v\nwant %q", path, err, said)
		}
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

func TestReadTimeout_GrowsWithTheBody(t *testing.T) {
	for body, want := range map[Size]time.Duration{
		1 << 10: time.Minute, 16 << 20: time.Minute, 17 << 20: 2 * time.Minute, 1 << 30: 64 * time.Minute,
	} {
		if got := (&HTTP{MaxBody: body}).ReadTimeout(); got != want {
			t.Errorf("max_body %s: %s, want %s", body, got, want)
		}
	}
}

func TestAccessLog_ReadsItsOwnText(t *testing.T) {
	for text, want := range map[string]AccessLog{"off": 0, "all": 1, "1/2": 2, "1/1000000": fewestLines} {
		var a AccessLog
		if err := a.setText(text); err != nil || a != want || a.String() != text {
			t.Errorf("%s: %d, %v, %s", text, a, err, a)
		}
	}
	for _, text := range []string{"", "1/", "1/-1", "1/+5", "1/0", "1/1000001", "2/3", "sampled",
		"1/99999999999999999999"} {
		if new(AccessLog).setText(text) == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

func TestSpecs_WarmIsAllOrAQuery(t *testing.T) {
	for warm, want := range map[string]struct {
		warm  bool
		query string
	}{
		"off": {}, "all": {true, ""}, "SELECT deptno FROM dept": {true, "SELECT deptno FROM dept"},
		`"\n with x as (select 1) select * from x"`: {true, "\n with x as (select 1) select * from x"},
	} {
		c := mustLoad(t, "sources: {main: {url: 'sqlite:a.db'}}\nresources: {depts: {table: dept, warm: "+warm+"}}\n")
		specs, err := c.Specs()
		if err != nil || specs[0].Warm != want.warm || specs[0].WarmQuery != want.query {
			t.Errorf("%s: %+v, %v", warm, specs, err)
		}
	}
}
