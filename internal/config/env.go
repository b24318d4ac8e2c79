package config

import (
	"fmt"
	"reflect"
	"sort"
	"strings"

	"github.com/hotrow/hotrow/internal/row"
)

// Variables that are read though they have not the form HOTROW_SECTION_KEY, and
// the prefixes of those that only tests read.
const (
	envPrefix   = "HOTROW_"
	envTest     = "HOTROW_TEST_"
	envRobust   = "HOTROW_ROBUST"
	envPort     = "PORT"
	envDatabase = "DATABASE_URL"
)

// overlay applies the variables that override the file, and then those that
// stand in for what neither says.
func (c *Config) overlay(env environment) ([]Warning, Problems) {
	var problems Problems
	root := reflect.ValueOf(c).Elem()
	for _, k := range Keys() {
		if k.Env == "" {
			continue
		}
		if text := env[k.Env]; text != "" {
			problems = append(problems,
				c.override(k.Env, text, root.FieldByIndex(k.index), k)...)
		}
	}
	if port := env[envPort]; port != "" && !c.isSet("http.listen") {
		for _, k := range Keys() {
			if k.Path == "http.listen" {
				problems = append(problems,
					c.override(envPort, ":"+port, root.FieldByIndex(k.index), k)...)
			}
		}
	}
	if url := env[envDatabase]; url != "" && len(c.Sources) == 0 {
		s := DefaultSource()
		s.URL = Secret(url)
		c.Sources = map[string]*Source{"main": s}
		c.doc.set["sources.main.url"] = place{variable: envDatabase}
	}
	return append(c.unknownVariables(env), c.idleLinksVariables(env)...), problems
}

// override sets one key from a variable. The elements of a list are separated
// by commas.
func (c *Config) override(name, text string, v reflect.Value, k KeyInfo) Problems {
	c.doc.set[k.Path] = place{variable: name}
	var err error
	if v.Kind() == reflect.Slice {
		list := reflect.MakeSlice(v.Type(), 0, 4)
		for part := range strings.SplitSeq(text, ",") {
			e := reflect.New(v.Type().Elem()).Elem()
			if err = setScalar(e, strings.TrimSpace(part), k.tag); err != nil {
				break
			}
			c.doc.set[fmt.Sprintf("%s[%d]", k.Path, list.Len())] = place{variable: name}
			list = reflect.Append(list, e)
		}
		if err == nil {
			v.Set(list)
		}
	} else {
		err = setScalar(v, text, k.tag)
	}
	if err != nil {
		return Problems{c.doc.problem(place{variable: name}, k.Path, err.Error())}
	}
	return nil
}

// unknownVariables warns of HOTROW_* that no command reads.
func (c *Config) unknownVariables(env environment) []Warning {
	isKnown := make(map[string]bool)
	var known []string
	for _, v := range Variables() {
		isKnown[v.Name] = true
		known = append(known, v.Name)
	}
	var warnings []Warning
	for name := range env {
		if !strings.HasPrefix(name, envPrefix) || strings.HasPrefix(name, envTest) ||
			strings.HasPrefix(name, envRobust) ||
			isKnown[name] || c.doc.used[name] {
			continue
		}
		text := "unknown variable, ignored" + row.DidYouMean(name, known)
		warnings = append(warnings, Warning{Where: name, Text: text})
	}
	sort.Slice(warnings, func(i, j int) bool { return warnings[i].Where < warnings[j].Where })
	return warnings
}
