package binlog

import "testing"

// A position is spelled as the server names the place that it was made of.
func TestSpell(t *testing.T) {
	for _, c := range []struct {
		at   place
		want string
	}{
		{place{"binlog.000012", 4711}, "binlog.000012:4711"},
		{place{"db1-bin.with.dots.000001", 4}, "db1-bin.with.dots.000001:4"},
		{place{"m.1234567", 5 << 30}, "m.1234567:5368709120"},
	} {
		pos, err := c.at.position()
		base, _, _ := cutLast(c.at.file, '.')
		if got := spell(base, pos); err != nil || got != c.want {
			t.Errorf("%+v is spelled %q (%v)", c.at, got, err)
		}
	}
}
