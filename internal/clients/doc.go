// Package clients runs client libraries that others wrote, by the programs below interop, against
// hotrow.
//
// It holds no code of the product and is imported by nothing.
package clients
