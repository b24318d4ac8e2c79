package policy

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestStale_EachRowIsHeldByATest: what the page promises of every protocol while the feed lags
// is tried by the test that its row names.
func TestStale_EachRowIsHeldByATest(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs/explanation/stale.md"))
	if err != nil {
		t.Fatal(err)
	}
	tests := make(map[string]bool)
	named := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	for _, file := range mustList() {
		if !strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range named.FindAllStringSubmatch(string(text), -1) {
			tests[m[1]] = true
		}
	}
	last := regexp.MustCompile("`(Test\\w+)` \\|$")
	rows := 0
	for line := range strings.SplitSeq(string(page), "\n") {
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---") ||
			strings.HasPrefix(line, "| protocol |") {
			continue
		}
		rows++
		if m := last.FindStringSubmatch(line); m == nil || !tests[m[1]] {
			t.Errorf("a row without a test that exists: %.60s", line)
		}
	}
	if rows < 10 {
		t.Errorf("%d rows", rows)
	}
}
