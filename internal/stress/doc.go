// Package stress puts real databases under load and faults, and explains every
// single answer that hotrow gives meanwhile.
//
// Foreign programs write values that are never used twice and note when each
// commit was sent and when it was acknowledged; readers go through HTTP and the wire and
// note what they were told. A History then says whether an answer is a state
// that was committed and visible at a moment at which the freshness contract
// allows it. An answer that it cannot explain is a bug of hotrow's.
//
// It holds no code of the product and is imported by nothing.
package stress
