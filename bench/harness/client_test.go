package harness

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotrow/hotrow/bench/load"
)

func TestParseClient(t *testing.T) {
	const said = `{"Answers":3000,"Failed":2,"Seconds":1.5,"P50":40,"P90":50,"P99":60.5,"P999":70}`
	got, err := parseClient([]byte(said))
	if err != nil {
		t.Fatal(err)
	}
	want := &load.Result{
		Answers: 3000, Seconds: 1.5, Rate: 2000, Errors: map[string]uint64{"check": 2},
		Reads: load.Summary{Count: 3000, P50: 40, P90: 50, P99: 60.5, P999: 70},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{"", "{}", `{"Answers":1}`} {
		if _, err := parseClient([]byte(text)); err == nil {
			t.Errorf("%q is not an error", text)
		}
	}
}

func TestReport_DrawsGroups(t *testing.T) {
	r := reported()
	r.scenario.Rows = []row{
		{Name: "floor", Groups: []string{"JSON", "other"}}, {Name: "b, JSON", Groups: []string{"JSON"}}, {Name: "c"},
	}
	for _, one := range r.Runs {
		if one.Result.Name == "b" {
			one.Result.Name = "b, JSON"
		}
	}
	type bar struct {
		Name string
		Rate float64
	}
	got := map[string][]bar{}
	for _, p := range r.groupPanels(Pinned) {
		if len(p.X) != 1 {
			t.Errorf("%q has no bars", p.Title)
		}
		for _, l := range p.Lines {
			got[p.Title] = append(got[p.Title], bar{l.Name, l.Y[0]})
		}
	}
	want := map[string][]bar{
		"JSON, 256 at once: answers/s":  {{"floor", 750}, {"b", 300}},
		"other, 256 at once: answers/s": {{"floor", 750}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestOrder_ChecksAnswers(t *testing.T) {
	body := load.Answer{Key: 4, Body: []byte(`{"id":4,"mail":"user4@example.org"}`)}
	tests := []struct {
		order order
		fails bool
	}{
		{order{Expect: `{"id":{n},`}, false}, {order{Expect: `{"id":{n}4`}, true},
		{order{Within: "user{n}@"}, false}, {order{Within: "user{n}4@"}, true},
		{order{Expect: `{"id":{n},`, Within: "nobody"}, true},
	}
	for _, tt := range tests {
		if err := tt.order.check()(body); (err != nil) != tt.fails {
			t.Errorf("%+v: %v", tt.order, err)
		}
	}
	if (&order{}).check() != nil {
		t.Error("answers are checked of which nothing is said")
	}
}
