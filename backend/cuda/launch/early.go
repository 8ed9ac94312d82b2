package launch

import (
	"os"

	"github.com/sinter-go/sinter/backend/cuda/driver"
)

// earlyCapability is the least compute capability on which kernels begin before the one in
// front has ended, and the least that code is compiled for which waits for that one itself.
const earlyCapability = 90

// earlyFrom are the standard modules all of whose kernels call early (early.cuh) first.
var earlyFrom = map[string]bool{"cross_entropy": true, "optimizer": true, "thin": true}

// earlyVersion is the least version of CUDA whose captures take kernels that are launched early.
const earlyVersion = 12030

// wantsEarly reports whether kernels that can are launched early on a driver's device of a capability.
func wantsEarly(api driver.API, capability int) bool {
	return capability >= earlyCapability && api.Version() >= earlyVersion && os.Getenv("SINTER_CUDA_EARLY") != "0"
}

// callsEarly reports whether the kernels of a module that n's operator launches call early first.
func (n *named) callsEarly(module string) bool {
	if n.Source == nil {
		return earlyFrom[module]
	}
	return n.Early && module == n.Module
}

// waits reports whether a kernel that calls early does wait there: code for less than earlyCapability,
// as PTX is that other devices compile, has nothing in that place.
func (d *Device) waits(f driver.Function) (bool, error) {
	if !d.early {
		return false, nil
	}
	compiled, err := d.api.FunctionAttribute(d.dev, f, driver.FunctionPTXVersion)
	return compiled >= earlyCapability, err
}
