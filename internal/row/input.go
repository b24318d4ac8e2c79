package row

import "slices"

// Input is the body of a write, decoded by a Shape: what each field is to be.
// The slices are indexed as Shape.Fields.
type Input struct {
	Format  Format // in which the body was
	Present []bool // the member was in the body (null counts)
	Values  Values // of the fields that are not embedded documents
	Kept    []bool // what the row has, as Keep found: Values has it too; nil: none

	// Odd says of members that they are not what their field is declared for. They are good
	// only where the row has the same already, see Keep. nil: there are none.
	Odd []*DecodeError

	Rows [][]Input // of those that are; nil and Present: the member was null or []
}

// Clone returns a copy of in that shares no slice with it.
func (in *Input) Clone() *Input {
	c := Input{
		Format:  in.Format,
		Present: slices.Clone(in.Present),
		Values:  slices.Clone(in.Values),
		Kept:    slices.Clone(in.Kept),
		Odd:     slices.Clone(in.Odd),
		Rows:    slices.Clone(in.Rows),
	}
	for i, rows := range c.Rows {
		c.Rows[i] = slices.Clone(rows)
		for j := range rows {
			c.Rows[i][j] = *rows[j].Clone()
		}
	}
	return &c
}

// keeps notes whether the member i stays what it is.
func (in *Input) keeps(i int, kept bool) {
	if in.Kept == nil && kept {
		in.Kept = make([]bool, len(in.Present))
	}
	if in.Kept != nil {
		in.Kept[i] = kept
	}
}

// FirstOdd returns the error of the first member that is good only for a row which has it
// already; nil: there is none. It is the error of a body that makes a row.
func (in *Input) FirstOdd() error {
	for _, err := range in.Odd {
		if err != nil {
			return err
		}
	}
	for _, rows := range in.Rows {
		for i := range rows {
			if err := rows[i].FirstOdd(); err != nil {
				return err
			}
		}
	}
	return nil
}

// odd returns what Odd says of the member i.
func (in *Input) odd(i int) *DecodeError {
	if in.Odd == nil {
		return nil
	}
	return in.Odd[i]
}
