//go:build unix

package main

import (
	"maps"
	"path/filepath"
	"testing"

	"github.com/hotrow/hotrow/internal/tlstest"
)

// A roleWalk is a listener whose commands are sent as everybody, in every form in which it
// listens and by every rule, from this machine, which lets nobody in by itself.
type roleWalk struct {
	section  string // of the listener in the configuration
	settings string // more of it
	heading  string // of its lines in the table of who may what
	lines    []string

	// roles sends all commands as each role with its token, where read and write are the
	// roles that may.
	roles func(t *testing.T, r *running, roles map[string]string, read, write []string)
}

// run makes the walk.
func (w *roleWalk) run(t *testing.T, page accessPage) {
	all := []string{"", "wrong", "reader", "editor", "operator"}
	for _, tt := range []struct {
		form, access string
		flags        []string
		read, write  []string // who may
	}{
		{formTCP, byRoles, nil, []string{"reader"}, []string{"editor"}},
		{formUnix, byRoles, nil, []string{"reader"}, []string{"editor"}},
		{formTLS, byRoles, nil, []string{"reader"}, []string{"editor"}},
		{formTCP, "{read: public, write: public}", []string{"--open"}, all, all[2:]},
		{formTCP, "{read: none, write: none}", nil, nil, nil},
	} {
		more := w.section + ": {" + w.settings + "}\n"
		if tt.form == formTLS {
			more = w.section + ": {tls: true, " + w.settings + "}\n" +
				"http: {tls: {cert: cert.pem, key: key.pem}}\n"
		}
		b := newAccessBed(t, tt.access, "", "  base_url: https://s.example\n  open: true\n"+more)
		tlstest.New(t, "access").Write(t, filepath.Dir(b.file))
		t.Run(tt.form+" "+tt.access, func(t *testing.T) {
			r := b.serve(t, tt.form, tt.flags...)
			roles := map[string]string{"": "", "wrong": "hr_wrong"}
			maps.Copy(roles, b.tokens)
			w.roles(t, r, roles, tt.read, tt.write)
			page.ask(t, accessTop, "`"+w.section+".listen`", tt.form)
			for _, text := range w.lines {
				page.ask(t, w.heading, text, tt.form)
			}
		})
	}
}
