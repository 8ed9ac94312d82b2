//go:build !cu || !cgo

package driver

// bound returns the API over an open library.
func bound(b *binding) API { return b }
