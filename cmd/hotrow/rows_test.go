package main

import (
	"testing"

	"github.com/hotrow/hotrow/internal/config"
)

// A resource with a rule about rows is shut to everybody but clients of PostgREST, whatever its access says.
func TestResourceSpecs_RowsShutOthersOut(t *testing.T) {
	cfg, _, err := config.Parse("hotrow.yaml", `version: 1
sources: {main: {url: 'sqlite:n.db'}}
auth: {jwt: {secret: thirty-two bytes and some more of them}}
http: {postgrest: {path: /rest/v1}}
resources:
  notes: {table: note, access: {read: public, write: role:x}, rows: {read: {owner: sub}, except: admin}}
`, nil)
	if err != nil {
		t.Fatal(err)
	}
	specs, err := resourceSpecs(cfg, false)
	if err != nil {
		t.Fatal(err)
	}
	s := specs[0]
	if s.Access.Read != "none" || s.Access.Write != "none" || s.Rows == nil {
		t.Fatalf("others may: %+v %+v", s.Access, s.Rows)
	}
	if r := s.Rows; r.Access.Read != "public" || r.Access.Write != "role:x" || len(r.Write) != 1 ||
		r.Write[0].Column != "owner" || len(r.Except) != 1 {
		t.Errorf("the rule: %+v", r)
	}
}
