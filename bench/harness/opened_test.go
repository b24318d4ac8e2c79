package harness

import "testing"

func TestReport_ShowsWhatWasOpenedUpstream(t *testing.T) {
	r := reported()
	if n := len(r.table(Pinned, shownConnections).Columns); n != 14 {
		t.Errorf("%d columns though nothing was counted", n)
	}
	for i := range r.Runs {
		if n := 10 + 20*r.Runs[i].Round; r.Runs[i].Result.Name == "b" {
			r.Runs[i].Opened = &n
		}
	}
	table := r.table(Pinned, shownConnections)
	if last := table.Columns[14]; last != "opened upstream" {
		t.Errorf("the last column is %q", last)
	}
	for _, row := range table.Rows {
		if want := map[string]string{"floor": "-", "b": "20"}[row[0]]; row[14] != want {
			t.Errorf("%s: %q, want %q", row[0], row[14], want)
		}
	}
}
