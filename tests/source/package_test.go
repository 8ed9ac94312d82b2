// Package source_test reads the repository's files: what imports what, how long files
// are, what headers they have, which environment variables and functions of the scalar
// language there are, and that each is where it has to be.
package source_test

import "testing"

// must fails the test when err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
