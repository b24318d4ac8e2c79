package memcachefront

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/front/kv"
)

const (
	dept50  = `{"deptNumber":50,"dname":"FIFTY","loc":"X","pic":null}`
	dept50b = `{"deptNumber":50,"dname":"FIFTY","loc":"Y","pic":"AP8="}`
)

// storing returns a command with a value.
func storing(name, key, value, more string) string {
	if name == "ms" {
		return fmt.Sprintf("ms %s %d%s\r\n%s\r\n", key, len(value), more, value)
	}
	return fmt.Sprintf("%s %s 0 0 %d%s\r\n%s\r\n", name, key, len(value), more, value)
}

// writes are commands whose replies have to be equal to those of memcached, byte by byte, as
// far as rows are values: the documents are in the form in which hotrow returns them. U
// stands for the unique that came last.
var writes = []string{
	"delete depts:50\r\n", "md depts:50\r\n", "md depts:50 q\r\nmn\r\n", "md depts:50 k O1\r\n",
	storing("replace", "depts:50", dept50, ""), storing("cas", "depts:50", dept50, " 1"),
	storing("ms", "depts:50", dept50, " MR"), storing("ms", "depts:50", dept50, " C1 k O7"),
	storing("add", "depts:50", dept50, ""), storing("add", "depts:50", dept50, ""),
	storing("ms", "depts:50", dept50, " ME"), storing("ms", "depts:50", dept50, " ME q"),
	"gets depts:50\r\n", storing("cas", "depts:50", dept50b, " 99999"), "get depts:50\r\n",
	storing("cas", "depts:50", dept50b, " U"), "get depts:50\r\n",
	storing("set", "depts:50", dept50, ""), storing("set", "depts:50", dept50b, " noreply") + "get depts:50\r\n",
	storing("ms", "depts:50", dept50, " k O9"), storing("ms", "depts:50", dept50b, " MS q") + "mn\r\n",
	"gets depts:50\r\n", "md depts:50 C1\r\n", storing("ms", "depts:50", dept50, " C1"), "gets depts:50\r\n",
	storing("ms", "depts:50", dept50, " CU"), "get depts:50\r\n",
	storing("replace", "depts:50", dept50b, ""), "get depts:50\r\n", "touch depts:50 0\r\n", "gat 0 depts:50\r\n",
	"delete depts:50 noreply\r\nget depts:50\r\n", storing("set", "depts:50", dept50, ""), "md depts:50 q k\r\nmn\r\n",
	"get depts:50\r\n", storing("set", "depts:50", dept50, ""), "delete depts:50 0\r\n", "delete depts:50\r\n",
	storing("ms", "ZGVwdHM6NTA=", dept50, " b k"), "md ZGVwdHM6NTA= b k\r\n", "get depts:50\r\n",
	"set depts:50 0 0 3\r\nabcd\r\nget depts:50\r\n",
}

func TestGolden_WritesAreThoseOfMemcached(t *testing.T) {
	server := dbtest.NewMemcached(t)
	bothForms(t, func(t *testing.T, form func(*Options, *kv.Listen)) {
		s := newSite(t, form)
		a, b := dialAt(t, "tcp", server.Addr(), nil), s.dial()
		unique := regexp.MustCompile(`VALUE \S+ \d+ \d+ (\d+)`)
		var last [2]string
		for _, text := range writes {
			var said [2]string
			for i, c := range []*client{a, b} {
				got := c.do(strings.TrimSuffix(strings.ReplaceAll(text, "U\r\n", last[i]+"\r\n"), "\r\n"))
				if m := unique.FindStringSubmatch(got); m != nil {
					last[i] = m[1]
				}
				said[i] = uniques.ReplaceAllString(got, "$1 U")
			}
			if said[0] != said[1] {
				t.Errorf("%q = %q, memcached %q", text, said[1], said[0])
			}
		}
		a.do("delete depts:50")
	})
}

// refused are writes that are not done, with the reasons.
var refused = [][2]string{
	{storing("set", "depts:70", "nope", ""), "CLIENT_ERROR invalid value: "},
	{storing("set", "depts:70", `{"nope":1}`, ""), "CLIENT_ERROR invalid value: "},
	{storing("set", "depts:70", `{"deptNumber":71,"dname":"X"}`, ""), "CLIENT_ERROR invalid value: deptNumber"},
	{storing("set", "depts:x", `{"dname":"X"}`, ""), "CLIENT_ERROR invalid value: "},
	{storing("ms", "depts:70", `{}`, " q"), "CLIENT_ERROR invalid value: "}, // dname is NOT NULL
	{storing("set", "depts:70", `{"dname":"SALES"}`, ""), "NOT_STORED\r\n"},
	{storing("ms", "depts:70", `{"dname":"SALES"}`, ""), "NS\r\n"},
	{storing("set", "nothing:1", `{}`, ""), "CLIENT_ERROR the key names no resource\r\n"},
	{storing("append", "depts:10", `x`, ""), "CLIENT_ERROR not supported for this resource\r\n"},
	{storing("ms", "depts:10", `x`, " MA"), "CLIENT_ERROR not supported for this resource\r\n"},
	{"incr depts:10 1\r\n", "CLIENT_ERROR not supported for this resource\r\n"},
	{"ma depts:10\r\n", "CLIENT_ERROR not supported for this resource\r\n"},
	{"incr nothing:10 1\r\n", "CLIENT_ERROR the key names no resource\r\n"},
	{storing("set", "log:10", `{}`, ""), "SERVER_ERROR read only\r\n"},
	{"delete log:10\r\n", "SERVER_ERROR read only\r\n"},
	{"incr log:10 1\r\n", "SERVER_ERROR read only\r\n"},
	{storing("set", "closed:10", `{}`, ""), "CLIENT_ERROR forbidden\r\n"},
	{"delete pay:1\r\n", "CLIENT_ERROR forbidden\r\n"},
	{"md pay:1 I\r\n", "CLIENT_ERROR forbidden\r\n"},
	{"incr pay:1 1\r\n", "CLIENT_ERROR forbidden\r\n"},
	{"delete nothing:1\r\n", "NOT_FOUND\r\n"}, {"delete depts:x\r\n", "NOT_FOUND\r\n"},
	{"md nothing:1\r\n", "NF\r\n"}, {"md depts:99 I\r\n", "NF\r\n"}, {"md depts:x I\r\n", "NF\r\n"},
	{storing("set", "depts:70", `{"dname":"SALES"}`, " noreply"), ""},
}

func TestWrites_AreRefusedWithTheReason(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *kv.Listen)) {
		s := newSite(t, form)
		c := s.dial()
		before := c.do("get depts:10")
		for _, k := range refused {
			got := c.do(strings.TrimSuffix(k[0], "\r\n"))
			if !strings.HasPrefix(got, k[1]) || k[1] == "" && got != "" || strings.Count(got, "\n") > 1 {
				t.Errorf("%q = %q, want %q", k[0], got, k[1])
			}
		}
		c.want("get depts:70", "END\r\n")
		c.want("get depts:10", before)
		c.want("md depts:10 I", "HD\r\n")
		c.want("get depts:10", before)
	})
}

func TestWrites_GoByRoles(t *testing.T) {
	s := newSite(t)
	s.Allow(map[string]string{"ann": "reader", "eve": "editor"})
	ann, eve := s.dial(), s.dial()
	ann.want("set auth 0 0 14\r\nann secret-ann", "STORED\r\n")
	eve.want("set auth 0 0 14\r\neve secret-eve", "STORED\r\n")
	put := strings.TrimSuffix(storing("set", "pay:2", `{"id":2,"sal":6}`, ""), "\r\n")
	ann.want(put, "CLIENT_ERROR forbidden\r\n")
	eve.want(put, "STORED\r\n")
	ann.want("get pay:2", value("pay:2", `{"id":2,"sal":6}`)+"END\r\n")
	eve.want("delete pay:2", "DELETED\r\n")
	// A listener that is open takes no anonymous writes.
	o := s.opts
	o.Open = true
	s.f.Configure(o)
	s.dial().want("delete depts:40", "CLIENT_ERROR forbidden\r\n")
}

func TestWrites_WithATimeToLive(t *testing.T) {
	s := newSite(t)
	put := fmt.Sprintf("set depts:50 0 60 %d\r\n%s", len(dept50), dept50)
	s.dial().want(put, "STORED\r\n") // it is passed over
	o := s.opts
	o.RefuseExpiry = true
	s.f.Configure(o)
	c := s.dial()
	for _, text := range []string{put, "touch depts:50 60", "gat 60 depts:50"} {
		c.want(text, "CLIENT_ERROR rows do not expire\r\n")
	}
	c.want(fmt.Sprintf("ms depts:50 %d T60\r\n%s", len(dept50), dept50), "CLIENT_ERROR rows do not expire\r\n")
	c.want("touch depts:50 0", "TOUCHED\r\n")
}

// TestWrites_AreSeenBehindThem: what comes behind a write in one burst sees it, and what
// comes before it does not.
func TestWrites_AreSeenBehindThem(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *kv.Listen)) {
		s := newSite(t, form)
		c := s.dial()
		text, want := "", ""
		for i := range 20 {
			body := fmt.Sprintf(`{"id":1,"n":%d}`, i)
			text += storing("set", "codes:1", body, []string{"", " noreply"}[i%2]) + "get codes:1\r\n"
			if i%2 == 0 {
				want += "STORED\r\n"
			}
			want += value("codes:1", body) + "END\r\n"
		}
		c.raw(text)
		if got := c.read(len(want)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

// TestOutage_OfAWrite is an error, and the connection lives.
func TestOutage_OfAWrite(t *testing.T) {
	s := newSite(t)
	c := s.dial()
	if err := s.Src.Close(); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{storing("set", "depts:50", dept50, ""), "delete depts:10\r\n",
		storing("ms", "depts:50", dept50, " q")} {
		if got := c.do(strings.TrimSuffix(text, "\r\n")); !strings.HasPrefix(got, "SERVER_ERROR ") {
			t.Errorf("%q without the database = %q", text, got)
		}
	}
	c.want("mn", "MN\r\n")
}
