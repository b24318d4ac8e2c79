package source

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// CompileAll makes the plans of specs, each with its own error: by one look at the catalogue
// where src can.
func CompileAll(ctx context.Context, src Source, specs []*Spec) ([]Plan, []error) {
	if many, ok := src.(ManyCompiler); ok {
		return many.CompileAll(ctx, specs)
	}
	plans, errs := make([]Plan, len(specs)), make([]error, len(specs))
	for i, spec := range specs {
		plans[i], errs[i] = src.Compile(ctx, spec)
	}
	return plans, errs
}

// CheckAll checks plans, all of src, each with its own error: together where src can.
func CheckAll(ctx context.Context, src Source, plans []Plan) ([][]Finding, []error) {
	if many, ok := src.(ManyChecker); ok {
		return many.CheckAll(ctx, plans)
	}
	findings, errs := make([][]Finding, len(plans)), make([]error, len(plans))
	for i, plan := range plans {
		findings[i], errs[i] = plan.Check(ctx)
	}
	return findings, errs
}

// Together calls fn for each number below count, some at a time.
func Together(count, atOnce int, fn func(int)) {
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i := range count {
		group.Go(func() error {
			fn(i)
			return nil
		})
	}
	_ = group.Wait() // none has an error
}

// TablesOf returns the names of the tables of specs, and of those within them.
func TablesOf(specs ...*Spec) []string {
	var names []string
	seen := make(map[string]bool)
	var add func(*Spec)
	add = func(spec *Spec) {
		if spec.Table != "" && !seen[spec.Table] {
			seen[spec.Table] = true
			names = append(names, spec.Table)
		}
		for i := range spec.Embeds {
			add(spec.Embeds[i].Spec)
		}
	}
	for _, spec := range specs {
		add(spec)
	}
	return names
}
