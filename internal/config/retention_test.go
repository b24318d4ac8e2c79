package config

import (
	"testing"
	"time"
)

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
