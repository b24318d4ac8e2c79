package ops

import "testing"

// TestStatements_SortedAndSummed: a page is sorted, and the sum is of all, whatever the page has.
func TestStatements_SortedAndSummed(t *testing.T) {
	all := func() ([]Statement, string) {
		return []Statement{{Shape: "join", Reason: "join", Count: 9, Seconds: 5},
			{Shape: "a", Reason: "eligible", Count: 2, Seconds: 1, Hits: 1, Looks: 2, Saved: .5},
			{Shape: "b", Reason: "eligible", Count: 3, Seconds: 2, Hits: 2, Looks: 3, Saved: 1, Wrong: 1},
			{Shape: "write", Reason: "write", Count: 1, Seconds: 6}}, "serve"
	}
	for sort, want := range map[string]string{"": "join", "-saved": "b", "saved": "join",
		"-seconds": "write", "-count": "join", "count": "write", "-wrong": "b"} {
		page := statementPage(all, Page{Sort: sort, Limit: 1})
		if got := page.Statements[0].Shape; got != want || page.All != 4 {
			t.Errorf("sort=%s: %s of %d is first, want %s", sort, got, page.All, want)
		}
		sum := StatementTotal{Mode: "serve", Count: 15, Eligible: 5, Seconds: 14, Looks: 5, Hits: 3, Wrong: 1,
			Saved: 1.5}
		if *page.Total != sum {
			t.Errorf("sort=%s: %+v, want %+v", sort, *page.Total, sum)
		}
	}
	if page := statementPage(nil, Page{Limit: 1}); page.Total != nil || page.Statements == nil {
		t.Errorf("while SQL is off: %+v", page)
	}
}
