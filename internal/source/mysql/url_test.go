package mysql

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseURL(t *testing.T) {
	tests := []struct {
		url                    string
		user, password         string
		network, address, name string
		timeout                time.Duration
		tls                    string // "" none, "any", "verified"
	}{
		{"mysql://u:p@localhost/db", "u", "p", "tcp", "localhost:3306", "db", 0, ""},
		{"mariadb://u:p%40%2F@127.0.0.1:3307/my%20db", "u", "p@/", "tcp", "127.0.0.1:3307", "my db",
			0, ""},
		{"mysql://u@[::1]:33/db", "u", "another", "tcp", "[::1]:33", "db", 0, ""},
		{"mysql:///db", "someone", "another", "tcp", "127.0.0.1:3306", "db", 0, ""},
		{"mysql://u:@localhost/db?socket=/run/s.sock", "u", "", "unix", "/run/s.sock", "db", 0, ""},
		{"mysql:///db?socket=/run/s.sock&connect_timeout=3", "someone", "another",
			"unix", "/run/s.sock", "db", 3 * time.Second, ""},
		{"mysql://u:p@db.example/db", "u", "p", "tcp", "db.example:3306", "db", 0, "verified"},
		{"mysql://u:p@db.example/db?ssl-mode=DISABLED", "u", "p", "tcp", "db.example:3306", "db", 0,
			""},
		{"mysql://u:p@db.example/db?tls=skip-verify", "u", "p", "tcp", "db.example:3306", "db", 0,
			"any"},
		{"mysql://u:p@localhost/db?ssl_mode=VERIFY_IDENTITY", "u", "p", "tcp", "localhost:3306",
			"db", 0, "verified"},
		{"mysql://u:p@localhost/db?sslmode=require", "u", "p", "tcp", "localhost:3306", "db", 0, "any"},
	}
	for _, tt := range tests {
		cfg, err := parseURL(tt.url, "someone", "another")
		if err != nil {
			t.Errorf("%s: %v", tt.url, err)
			continue
		}
		got := []string{cfg.User, cfg.Passwd, cfg.Net, cfg.Addr, cfg.DBName, cfg.Timeout.String(), ""}
		if cfg.TLS != nil {
			got[6] = "verified"
			if cfg.TLS.InsecureSkipVerify {
				got[6] = "any"
			}
		}
		want := []string{tt.user, tt.password, tt.network, tt.address, tt.name, tt.timeout.String(),
			tt.tls}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.url, diff)
		}
	}
}

func TestParseURL_Refuses(t *testing.T) {
	tests := []struct{ url, want string }{
		{"postgres://u:secret@h/db", "want mysql://"},
		{"u:secret@tcp(h:3306)/db", "want mysql://"},
		{"mysql://u:secret@h", "names no database"},
		{"mysql://u:secret@h/a/b", "names no database"},
		{"mysql://u:secret@h:0/db", "want 1 to 65535"},
		{"mysql://u:secret@h:99999/db", "want 1 to 65535"},
		{"mysql://u:secret@h:secret/db", "want mysql://"},
		{"mysql://u:sec%zzret@h/db", "want mysql://"},
		{"mysql://u:secret@h/db?sslmod=disable", "did you mean ssl-mode"},
		{"mysql://u:secret@h/db?charset=latin1", "unknown parameter"},
		{"mysql://u:secret@h/db?ssl-mode=maybe", "verify-identity"},
		{"mysql://u:secret@h/db?tls=preferred", "want ssl-mode"},
		{"mysql://u:secret@h/db?tls=true&ssl-mode=disabled", "two things"},
		{"mysql://u:secret@h/db?tls=true&tls=true", "2 times"},
		{"mysql://u:secret@h/db?ssl-mode=disabled&ssl-ca=/x", "disables TLS"},
		{"mysql://u:secret@h/db?ssl-ca=/nowhere/x", "ssl-ca"},
		{"mysql://u:secret@h/db?ssl-cert=/x", "go together"},
		{"mysql://u:secret@h/db?socket=/x", "not both"},
		{"mysql://u:secret@h/db?connect-timeout=soon", "want seconds"},
		{"mysql://u:secret@h/db?a;b", "name=value"},
	}
	for _, tt := range tests {
		_, err := parseURL(tt.url, "", "")
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q in it", tt.url, err, tt.want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error shows the password: %v", tt.url, err)
		}
	}
}

// FuzzParseURL feeds the parser of URLs. What it takes must have a database and
// an address, and what it refuses must not show a password.
func FuzzParseURL(f *testing.F) {
	for _, s := range []string{"mysql://u:p@h:1/db?tls=true", "mariadb:///db?socket=/s",
		"mysql://[::1]/db", "mysql://u:%2F@h/%20?ssl-mode=required&connect-timeout=1", "mysql:"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		target, err := parseTarget(s, "", "")
		if err != nil {
			return
		}
		if target.database == "" || target.socket == "" && (target.host == "" || target.port == "") {
			t.Errorf("%q: %+v", s, target)
		}
		const password = "0123456789abcdef"
		bad := strings.Replace(s, "://", "://u:"+password+"@\x7f", 1)
		if _, err := parseTarget(bad, "", ""); err != nil && strings.Contains(err.Error(), password) {
			t.Errorf("%q: the error shows the password: %v", bad, err)
		}
	})
}
