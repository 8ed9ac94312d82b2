// Package all is the one list of backends that a program contains: those that can work
// where it was built for.
package all

import "github.com/sinter-go/sinter/runtime/device"

// Install makes the backends' devices available to the process. Package tensor
// calls it once; it makes no call to any driver.
func Install() {
	device.Install(drivers...)
	for _, m := range missing {
		device.Missing(m.kind, m.why)
	}
}

// An absence says why programs like this one have no devices of a kind.
type absence struct {
	kind device.Kind
	why  error
}
