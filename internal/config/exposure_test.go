package config

import "testing"

func TestCheckExposure_AllowsTokensAndOpen(t *testing.T) {
	c := Default()
	c.HTTP.Listen = Listener{Network: "tcp", Address: ":80"}
	if c.CheckExposure(false) == nil {
		t.Error("a listener that everybody reaches is allowed without tokens")
	}
	if err := c.CheckExposure(true); err != nil {
		t.Errorf("--open: %v", err)
	}
	c.Auth.Tokens = []Token{{Name: "ci", Role: "editor"}}
	if err := c.CheckExposure(false); err != nil {
		t.Errorf("with a token: %v", err)
	}
	c.Ops.Listen = c.HTTP.Listen
	for _, open := range []bool{false, true} {
		if c.CheckExposure(open) == nil {
			t.Errorf("ops.listen is allowed without a token of the operator's, open %t", open)
		}
	}
	c.Ops.PublicMetrics = true
	if err := c.CheckExposure(false); err != nil {
		t.Errorf("with public metrics: %v", err)
	}
	c.Ops.PublicMetrics, c.Auth.Tokens[0].Role = false, RoleOperator
	if err := c.CheckExposure(false); err != nil {
		t.Errorf("with a token of the operator's: %v", err)
	}
}
