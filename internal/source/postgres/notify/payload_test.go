package notify

import (
	"testing"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/sourcetest"
)

func TestNotifyReader_PassesNothingOver(t *testing.T) {
	dept := &table{id: "public.dept", watched: []string{"deptno"}, key: []string{"deptno"},
		types: map[string]uint32{"deptno": 23}}
	r := &reader{
		tables:   map[string]*table{"public.dept": dept},
		channels: map[string]*table{"events_dept": dept},
	}
	for _, c := range []struct{ channel, payload, want string }{
		{"hotrow", `{"table":"public.dept","op":"I","new":{"deptno":"1"}}`, "dept I ->(deptno=1)"},
		{"hotrow", `{"table":"public.dept","op":"T"}`, "dept*"},
		{"hotrow", `{"table":"public.dept","op":"X"}`, "dept*"},
		{"hotrow", `{"table":"public.dept","op":"U","new":{"deptno":"1"}}`, "dept*"},
		{"hotrow", `{"table":"public.dept","op":"D","old":{"deptno":"x"}}`, "dept*"},
		{"hotrow", `{"table":"public.dept","op":"D","old":5}`, "dept*"},
		{"hotrow", `{"table":"public.other","op":"D","old":{"a":"1"}}`, ""},
		{"hotrow", `{"table":"public.de`, "dept*"},
		{"hotrow", ``, "dept*"},
		{"events_dept", "7", "dept U (deptno=7)->(deptno=7)"},
		{"events_dept", "", "dept*"},
		{"events_dept", "7x", "dept*"},
		{"events_dept", `{"action":"DELETE","data":{"deptno":7}}`, "dept D (deptno=7)->"},
		{"events_dept", `{"action":"DELETE","data":{"deptno":[7]}}`, "dept*"},
		{"events_dept", `{"action":"MERGE","data":{"deptno":7}}`, "dept*"},
		{"events_dept", `{"action":"DELETE"}`, "dept*"},
		{"events_dept", `{"action":`, "dept*"},
		{"elsewhere", "7", ""},
	} {
		var b source.Batch
		r.read(c.channel, c.payload, &b)
		tx := new(source.Tx)
		b.Take(tx)
		if got := sourcetest.Text(tx); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.channel, c.payload, got, c.want)
		}
	}
}
