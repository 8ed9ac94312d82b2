//go:build !linux

package cpu

// addressLimit says that nothing limits the addresses of the process.
func addressLimit() (bytes int64, limited bool) { return 0, false }
