// Package pages looks at the pages of the whole program in a browser: the explorer over real
// databases, and the operator's console while its database goes away and comes back. hotrow runs
// as a process of its own.
//
// It holds no code of the product and is imported by nothing.
package pages
