package config

import (
	"fmt"

	"github.com/goccy/go-yaml"
)

// Dump returns the effective configuration as a file would have it: defaults
// and overrides applied, passwords masked.
func (c *Config) Dump() ([]byte, error) {
	b, err := yaml.MarshalWithOptions(c, yaml.Indent(2), yaml.IndentSequence(true))
	if err != nil {
		return nil, fmt.Errorf("write configuration: %w", err)
	}
	return b, nil
}
