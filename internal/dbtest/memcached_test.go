package dbtest

import "testing"

func TestMemcached_KeepsPortAndLosesValuesOverARestart(t *testing.T) {
	s := NewMemcached(t, "-m", "16")
	s.SetFor("k", "a\r\nb", 7, 0)
	if value, flags, ok := s.Get("k"); value != "a\r\nb" || flags != 7 || !ok {
		t.Errorf("the value reads %q, flags %d, %v", value, flags, ok)
	}
	s.Delete("k")
	if _, _, ok := s.Get("k"); ok {
		t.Error("a deleted value is there")
	}
	s.Set("k", "")
	before := s.URL()
	s.Pause()
	s.Resume()
	s.Restart()
	if _, _, ok := s.Get("k"); ok || s.URL() != before {
		t.Errorf("after the restart: value %v, URL %s, was %s", ok, s.URL(), before)
	}
}
