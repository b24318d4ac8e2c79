package mysql

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"github.com/hotrow/hotrow/internal/row"
)

// defaultPort is the port of a URL that names none.
const defaultPort = "3306"

// urlParameters are those that a URL may have. The spellings with an
// underscore instead of a hyphen are taken too.
var urlParameters = []string{
	"socket", "ssl-mode", "ssl-ca", "ssl-cert", "ssl-key", "connect-timeout", "tls",
}

// A target is what a URL says.
type target struct {
	user, password string
	host, port     string // "" for a socket
	socket         string
	database       string
	timeout        time.Duration
	tls            tlsWish
}

// A tlsWish is what a URL says about TLS.
type tlsWish struct {
	mode          string // as --ssl-mode of the mysql client; "" when nothing is said
	ca, cert, key string // files
}

// parseURL reads mysql://USER:PASSWORD@HOST:PORT/DATABASE?PARAMETERS, also with
// the scheme mariadb. The parameters have the names of the mysql client's
// options: ssl-mode, ssl-ca, ssl-cert, ssl-key, socket (the path of a unix
// socket) and connect-timeout (seconds); tls=true|false|skip-verify is taken as
// in other Go programs. user and password are for a URL that has none.
//
// Where nobody says anything about TLS and the server is on another machine,
// the server must prove who it is: otherwise whoever sits in between reads the
// password.
func parseURL(raw, user, password string) (*driver.Config, error) {
	t, err := parseTarget(raw, user, password)
	if err != nil {
		return nil, fmt.Errorf("mysql url: %w", err)
	}
	cfg := driver.NewConfig()
	cfg.User, cfg.Passwd, cfg.DBName = t.user, t.password, t.database
	cfg.Net, cfg.Addr = "tcp", net.JoinHostPort(t.host, t.port)
	if t.socket != "" {
		cfg.Net, cfg.Addr = "unix", t.socket
	}
	cfg.Timeout = t.timeout
	cfg.ClientFoundRows = true // an UPDATE that changes nothing has found its row
	cfg.Logger = &driver.NopLogger{}
	cfg.ConnectionAttributes = "program_name:hotrow"
	if cfg.TLS, err = t.tlsConfig(); err != nil {
		return nil, fmt.Errorf("mysql url: %w", err)
	}
	if err := cfg.Apply(driver.Charset("utf8mb4", "")); err != nil {
		return nil, fmt.Errorf("mysql url: %w", err)
	}
	return cfg, nil
}

// parseTarget reads a URL. No error has the password in it.
func parseTarget(raw, user, password string) (*target, error) {
	u, err := url.Parse(raw)
	if err != nil {
		// The text of the URL, which may hold a password, is left out.
		var inner *url.Error
		if errors.As(err, &inner) {
			err = inner.Err
		}
		return nil, fmt.Errorf("want mysql://USER@HOST:3306/DATABASE: %w", withoutQuoted(err))
	}
	if s := strings.ToLower(u.Scheme); s != "mysql" && s != "mariadb" {
		return nil, errors.New("want mysql://USER@HOST:3306/DATABASE")
	}
	t := &target{host: u.Hostname(), port: u.Port()}
	t.database = strings.Trim(u.Path, "/")
	if t.database == "" || strings.Contains(t.database, "/") {
		return nil, errors.New("it names no database: want mysql://USER@HOST:3306/DATABASE")
	}
	if t.user = u.User.Username(); t.user == "" {
		t.user = user
	}
	var has bool
	if t.password, has = u.User.Password(); !has {
		t.password = password
	}
	if err := t.parameters(u.RawQuery); err != nil {
		return nil, err
	}
	return t, t.fillAddress()
}

// withoutQuoted returns err, or less of it when it quotes a part of the URL.
func withoutQuoted(err error) error {
	text, _, quoted := strings.Cut(err.Error(), `"`)
	if !quoted {
		return err
	}
	return errors.New(strings.TrimSpace(text))
}

// fillAddress checks and completes where the server is.
func (t *target) fillAddress() error {
	if t.socket != "" {
		if t.host != "" && t.host != "localhost" || t.port != "" {
			return errors.New("give a socket or a host and port, not both")
		}
		t.host = ""
		return nil
	}
	if t.host == "" {
		t.host = "127.0.0.1"
	}
	if t.port == "" {
		t.port = defaultPort
	}
	if n, err := strconv.ParseUint(t.port, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("port %q: want 1 to 65535", t.port)
	}
	return nil
}

// parameters reads what stands behind the question mark.
func (t *target) parameters(query string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return errors.New("its parameters are not name=value pairs")
	}
	for name, list := range values {
		if len(list) != 1 {
			return fmt.Errorf("parameter %s is given %d times", name, len(list))
		}
		if err := t.parameter(strings.ReplaceAll(name, "_", "-"), list[0]); err != nil {
			return err
		}
	}
	return nil
}

// parameter reads one parameter.
func (t *target) parameter(name, value string) error {
	switch name {
	case "socket":
		t.socket = value
	case "ssl-ca":
		t.tls.ca = value
	case "ssl-cert":
		t.tls.cert = value
	case "ssl-key":
		t.tls.key = value
	case "connect-timeout":
		n, err := strconv.ParseUint(value, 10, 16)
		if err != nil || n == 0 {
			return fmt.Errorf("connect-timeout %q: want seconds", value)
		}
		t.timeout = time.Duration(n) * time.Second
	case "ssl-mode", "sslmode", "tls":
		return t.tlsMode(name, value)
	default:
		hint := ""
		if near := row.Nearest(name, urlParameters); near != "" {
			hint = fmt.Sprintf("; did you mean %s?", near)
		}
		return fmt.Errorf("unknown parameter %q: want one of %s%s", name,
			strings.Join(urlParameters, ", "), hint)
	}
	return nil
}

// The modes of TLS, as the mysql client calls them.
const (
	tlsDisabled = "disabled"
	tlsRequired = "required" // whoever the server is
	tlsCA       = "verify-ca"
	tlsIdentity = "verify-identity"
)

// tlsMode reads one of the ways to say which TLS is wanted.
func (t *target) tlsMode(name, value string) error {
	mode := strings.ReplaceAll(strings.ToLower(value), "_", "-")
	if name == "tls" {
		mode = map[string]string{
			"true": tlsIdentity, "false": tlsDisabled, "skip-verify": tlsRequired,
		}[mode]
	}
	modes := []string{tlsDisabled, tlsRequired, tlsCA, tlsIdentity}
	if mode == "disable" || mode == "require" || mode == "verify-full" { // PostgreSQL's words
		mode = map[string]string{
			"disable": tlsDisabled, "require": tlsRequired, "verify-full": tlsIdentity,
		}[mode]
	}
	if !slices.Contains(modes, mode) {
		return fmt.Errorf("%s %q: want ssl-mode=%s", name, value, strings.Join(modes, "|"))
	}
	if t.tls.mode != "" && t.tls.mode != mode {
		return errors.New("it says two things about TLS")
	}
	t.tls.mode = mode
	return nil
}

// local reports whether the server is on this machine.
func (t *target) local() bool {
	ip := net.ParseIP(t.host)
	return t.socket != "" || t.host == "localhost" || ip != nil && ip.IsLoopback()
}

// tlsConfig returns the configuration of TLS, nil for none.
func (t *target) tlsConfig() (*tls.Config, error) {
	w := t.tls
	if w.mode == "" {
		w.mode = tlsIdentity
		if t.local() && w.ca == "" && w.cert == "" {
			w.mode = tlsDisabled
		}
	}
	if w.mode == tlsDisabled {
		if w.ca != "" || w.cert != "" || w.key != "" {
			return nil, errors.New("it gives certificates and disables TLS")
		}
		return nil, nil
	}
	cfg := &tls.Config{ServerName: t.host, MinVersion: tls.VersionTLS12}
	if w.ca != "" {
		pem, err := os.ReadFile(w.ca)
		if err != nil {
			return nil, fmt.Errorf("ssl-ca: %w", err)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("ssl-ca: %s has no certificate in PEM", w.ca)
		}
	}
	if (w.cert == "") != (w.key == "") {
		return nil, errors.New("ssl-cert and ssl-key go together")
	}
	if w.cert != "" {
		pair, err := tls.LoadX509KeyPair(w.cert, w.key)
		if err != nil {
			return nil, fmt.Errorf("ssl-cert: %w", err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	switch w.mode {
	case tlsRequired:
		cfg.InsecureSkipVerify = true
	case tlsCA:
		cfg.InsecureSkipVerify = true // verifyChain checks all but the name
		cfg.VerifyConnection = func(state tls.ConnectionState) error {
			return verifyChain(state, cfg.RootCAs)
		}
	}
	return cfg, nil
}

// verifyChain checks that the server's certificate leads to one of roots,
// whatever name it is for.
func verifyChain(state tls.ConnectionState, roots *x509.CertPool) error {
	if len(state.PeerCertificates) == 0 {
		return errors.New("the server has no certificate")
	}
	between := x509.NewCertPool()
	for _, c := range state.PeerCertificates[1:] {
		between.AddCert(c)
	}
	_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: between,
	})
	return err
}
