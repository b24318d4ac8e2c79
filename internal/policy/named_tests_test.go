package policy

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// namesOfTests returns the names of all tests of the repository.
func namesOfTests(t *testing.T) map[string]bool {
	t.Helper()
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
	return tests
}

// pageOf returns a page of the docs.
func pageOf(t *testing.T, name string) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// TestCorrections_NameTestsThatExist: what was corrected is held by the tests that the page
// names.
func TestCorrections_NameTestsThatExist(t *testing.T) {
	tests := namesOfTests(t)
	named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(
		pageOf(t, "docs/explanation/corrections.md"), -1)
	for _, m := range named {
		if !tests[m[1]] {
			t.Errorf("there is no %s", m[1])
		}
	}
	if len(named) < 50 {
		t.Errorf("%d tests are named", len(named))
	}
}

// TestStale_EachRowIsHeldByATest: what these pages promise is tried by the test that its row names.
func TestStale_EachRowIsHeldByATest(t *testing.T) {
	tests := namesOfTests(t)
	last := regexp.MustCompile("`(Test\\w+)` \\|$")
	for page, least := range map[string]int{"docs/explanation/stale.md": 10, "docs/explanation/sql.md": 20} {
		rows := 0
		lines := strings.Split(pageOf(t, page), "\n")
		for i, line := range lines {
			if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---") ||
				i+1 < len(lines) && strings.HasPrefix(lines[i+1], "|---") {
				continue
			}
			rows++
			if m := last.FindStringSubmatch(line); m == nil || !tests[m[1]] {
				t.Errorf("%s: a row without a test that exists: %.60s", page, line)
			}
		}
		if rows < least {
			t.Errorf("%s: %d rows", page, rows)
		}
	}
}
