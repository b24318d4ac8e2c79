package row

// Input is the body of a write, decoded by a Shape: what each field is to be.
// The slices are indexed as Shape.Fields.
type Input struct {
	Present []bool    // the member was in the body (null counts)
	Values  Values    // of the fields that are not embedded documents
	Rows    [][]Input // of those that are; nil and Present: the member was null or []
}
