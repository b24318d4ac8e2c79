package ops

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPage_IsAPartOfTheList(t *testing.T) {
	list := []string{"aa", "ab", "bb", "AC", "ba"}
	for query, want := range map[string]struct {
		part []string
		of   Paged
	}{
		"":                      {list, Paged{All: 5, Found: 5}},
		"limit=2":               {list[:2], Paged{All: 5, Found: 5}},
		"limit=2&from=4":        {list[4:], Paged{All: 5, Found: 5, From: 4}},
		"limit=2&from=99":       {list[4:], Paged{All: 5, Found: 5, From: 4}},
		"name=A":                {[]string{"aa", "ab", "AC", "ba"}, Paged{All: 5, Found: 4}},
		"name=a&limit=3&from=3": {[]string{"ba"}, Paged{All: 5, Found: 4, From: 3}},
		"name=x":                {[]string{}, Paged{All: 5}},
	} {
		p, err := parsePage(query, []string{"rate"})
		if err != nil {
			t.Errorf("%s: %v", query, err)
			continue
		}
		part, of := cutPage(list, p, func(s *string) string { return *s })
		if diff := cmp.Diff(want.part, part); diff != "" || of != want.of {
			t.Errorf("%s: %+v, want %+v; (-want +got):\n%s", query, of, want.of, diff)
		}
	}
}

func TestPage_RefusesWhatItDoesNotKnow(t *testing.T) {
	for query, says := range map[string]string{
		"from=-1": "from=-1", "from=x": "from=x", "limit=0": "limit=0", "limit=1001": "1 to 1000",
		"limit=": "limit=", "sort=size": "sort=size", "page=2": `"page"`,
		"name=a&name=b": "2 times", "name=%": "read the query",
	} {
		if _, err := parsePage(query, []string{"rate"}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %s", query, err, says)
		}
	}
}

// A page is never longer than its limit, and lies within the list.
func FuzzPage(f *testing.F) {
	for _, s := range []string{"", "limit=2&from=4", "name=a", "from=9999999999", "limit=-1", "a=%"} {
		f.Add(s, 7)
	}
	f.Fuzz(func(t *testing.T, query string, n int) {
		p, err := parsePage(query, []string{"rate"})
		if err != nil {
			return
		}
		list := make([]int, max(0, min(n, 3000)))
		part, of := cutPage(list, p, func(*int) string { return "a name" })
		if len(part) > p.Limit || of.From+len(part) > of.Found || of.Found > of.All {
			t.Errorf("%q: %d of %+v", query, len(part), of)
		}
		if len(part) == 0 && of.Found > 0 {
			t.Errorf("%q: nothing of %+v", query, of)
		}
	})
}
