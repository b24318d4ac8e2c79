package memcached

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/source"
)

// TestMemcached_DoctorSaysWhatMends: what keeps hotrow from a server, with real ones.
func TestMemcached_DoctorSaysWhatMends(t *testing.T) {
	file := filepath.Join(t.TempDir(), "auth")
	if err := os.WriteFile(file, []byte("app:secret\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(filepath.Dir(file)), 0o755); err != nil { // another user reads it
		t.Fatal(err)
	}
	as := func(url, who string) string { return strings.Replace(url, "://", "://"+who+"@", 1) }
	for _, tt := range []struct {
		name, who, want string
		args            []string
		gone            bool
	}{
		{name: "as it should be", want: "ok memcached 1."},
		{name: "away", gone: true, want: "is memcached running there"},
		{name: "wants a password", args: []string{"-Y", file}, want: "USER:PASSWORD"},
		{name: "wants another", who: "app:wrong", args: []string{"-Y", file}, want: "USER:PASSWORD"},
		{name: "gets the right one", who: "app:secret", args: []string{"-Y", file}, want: "ok memcached"},
		{name: "binary only", args: []string{"-B", "binary"}, want: "-B binary"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := dbtest.NewMemcached(t, tt.args...)
			url := server.URL()
			if tt.who != "" {
				url = as(url, tt.who)
			}
			if tt.gone {
				server.Stop()
			}
			var o Options
			if !strings.HasPrefix(tt.want, "ok") {
				o.StatementTimeout = 500 * time.Millisecond // what hangs need not hang long
			}
			s, err := Open(t.Context(), url, o)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			found, err := s.Doctor(t.Context(), source.FeedAuto, nil)
			if err != nil {
				t.Fatal(err)
			}
			f := found[0]
			text := []string{"ok", "info", "warning", "error"}[f.Level] + " " + f.Text + ": " + f.Why
			good := f.Level == source.LevelOK
			if !strings.Contains(text, tt.want) || good != strings.HasPrefix(tt.want, "ok") {
				t.Errorf("Doctor says %q, want %q", text, tt.want)
			}
		})
	}
}
