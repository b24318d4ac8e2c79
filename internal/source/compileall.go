package source

import "context"

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
