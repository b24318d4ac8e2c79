package feed

import "testing"

func TestConfig_MayFollowNoHistoryThatHasEnded(t *testing.T) {
	for _, c := range []struct {
		followed, origin string
		may              bool
	}{
		{"", "7t1", true},
		{"7t2", "7t2", true},
		{"7t2", "7t3", true},
		{"7t2", "7t1", false},
		{"7t10", "7t9", false},
		{"7t2", "8t1", true}, // another cluster
		{"7t2", "x", true},
	} {
		config := Config{Followed: func() *Server {
			if c.followed == "" {
				return nil
			}
			return &Server{Origin: c.followed}
		}}
		if err := config.MayFollow(c.origin, nil); (err == nil) != c.may {
			t.Errorf("%s after %s: %v", c.origin, c.followed, err)
		}
	}
	if err := (Config{}).MayFollow("", ErrStandby); err != ErrStandby {
		t.Errorf("a standby: %v", err)
	}
}
