//go:build !race

package sim

// raced says that the race detector watches.
const raced = false
