package device

import "github.com/sinter-go/sinter/ir"

// Concurrent is a Driver whose Launch does a call before it returns, and some of whose calls
// leave processors idle.
type Concurrent interface {
	// Narrow reports whether a call is steps that follow one another, of which each is too little
	// for several processors: two of them take no longer side by side than one.
	Narrow(dev int, c *ir.Call) bool
	// LaunchAll is Launch of calls of which none depends on another one; they may run side by
	// side. What they compute is what they compute one after the other. The error is that of the
	// first call that failed, with the operator's name.
	LaunchAll(dev int, s StreamID, calls []*ir.Call) error
}
