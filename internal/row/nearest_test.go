package row

import "testing"

func TestNearest(t *testing.T) {
	names := []string{"emp", "dept", "Users", "t", "other.t"}
	for wrong, want := range map[string]string{
		"dpet": "dept", "emps": "emp", "users": "Users", "zzzz": "", "Dept": "dept",
		"t": "", "dept": "", // the name itself is no other name
	} {
		if got := Nearest(wrong, names); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", wrong, got, want)
		}
	}
}
