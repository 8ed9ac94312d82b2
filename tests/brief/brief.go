// Package brief is how much of a long list of cases a short run of the tests takes, go test
// -short: enough of each kind, so that what broke as a whole is found. Everything is left to
// the run of all, which CI does at the processor's own level of vector instructions.
package brief

import "testing"

// part is one case in so many.
const part = 4

// Times returns n, how often random cases are drawn or how many of them have to have come by.
// In a short run it is a quarter.
func Times(n int) int {
	if testing.Short() {
		return (n + part - 1) / part
	}
	return n
}

// Skip reports whether a short run leaves a case out. It takes one in four, by the sum of the
// places that the case has in the lists that it is made of: where there are several lists,
// each element of one of them comes by with some of the others, if these have four or more.
func Skip(places ...int) bool {
	sum := 0
	for _, p := range places {
		sum += p
	}
	return testing.Short() && sum%part != 0
}
