//go:build race

package conformance_test

func init() { raced = true }
