package sqlread

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/README.md anew")

// A tapped statement is a line of testdata/taps.txt.
type tapped struct {
	client string
	runs   int
	params []uint32 // the types of parameters that the client gave; 0: none
	text   string
}

func readTaps(t testing.TB) (all []tapped) {
	t.Helper()
	text, err := os.ReadFile("testdata/taps.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		s := tapped{client: f[0]}
		if s.runs, err = strconv.Atoi(f[1]); err != nil {
			t.Fatal(err)
		}
		if s.text, err = strconv.Unquote(f[3]); err != nil {
			t.Fatalf("%s: %v", f[3], err)
		}
		for oid := range strings.SplitSeq(strings.Trim(f[2], "-"), ",") {
			if n, err := strconv.ParseUint(oid, 10, 32); err == nil {
				s.params = append(s.params, uint32(n))
			}
		}
		all = append(all, s)
	}
	return all
}

// coverage returns the table of how much of what clients send could be answered.
func coverage(all []tapped) string {
	type row struct {
		runs, selects, eligible int
		why                     map[Reason]int
	}
	rows := map[string]*row{}
	var clients []string
	total := &row{why: map[Reason]int{}}
	for _, tap := range all {
		r := rows[tap.client]
		if r == nil {
			r = &row{why: map[Reason]int{}}
			rows[tap.client], clients = r, append(clients, tap.client)
		}
		var s Statement
		why := s.Read(tap.text)
		for _, r := range []*row{r, total} {
			r.runs += tap.runs
			if why == Eligible || why > NotASelect {
				r.selects += tap.runs
			}
			if why == Eligible {
				r.eligible += tap.runs
			} else {
				r.why[why] += tap.runs
			}
		}
	}
	var b strings.Builder
	b.WriteString("| client | statements | SELECTs | eligible | of the SELECTs | why not, most often first |\n" +
		"|---|---|---|---|---|---|\n")
	for _, client := range append(clients, "all") {
		r := total
		if client != "all" {
			r = rows[client]
		}
		why := slices.SortedFunc(maps.Keys(r.why), func(a, b Reason) int {
			return cmp.Or(r.why[b]-r.why[a], int(a)-int(b))
		})
		var reasons []string
		for _, w := range why[:min(len(why), 6)] {
			reasons = append(reasons, fmt.Sprint(w, " ", r.why[w]))
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d%% | %s |\n", client, r.runs, r.selects, r.eligible,
			100*r.eligible/max(r.selects, 1), strings.Join(reasons, ", "))
	}
	return b.String()
}

// readme is testdata/README.md but for what TestReadme makes.
const readme = `# What is read of the statements of ORMs and drivers

This page is made by go test ./internal/sqlread -run Readme -update.

taps.txt has what clients sent to PostgreSQL 15, recorded on the wire, for ten actions each: connect,
get by key, by unique column, list, count, exists, preload, writes, transactions. SELECTs are the
statements that begin with SELECT, those over the catalogue at connect too. Eligible ones have the
grammar of this package. Whether memory answers depends on more: on the table's feed, the session and
the transaction.

%s
## Reasons

Each reason is the first thing that is met in the text from the left.

| reason | meaning |
|---|---|
%s`

// TestReadme: the page says what is true of the package.
func TestReadme(t *testing.T) {
	var reasons strings.Builder
	for why := range numReasons {
		fmt.Fprintf(&reasons, "| `%s` | %s |\n", why, why.Text())
	}
	want := fmt.Sprintf(readme, coverage(readTaps(t)), reasons.String())
	const page = "testdata/README.md"
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s says something else; go test ./internal/sqlread -run Readme -update writes it", page)
	}
}
