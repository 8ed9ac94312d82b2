package device

import "github.com/sinter-go/sinter/ir"

// A HostCaller is a Driver whose streams can call functions of the host between other
// work, with the device's memory in reach of them.
type HostCaller interface {
	// CallHost has f called in the order of stream s with the given views as they are
	// in host memory; a view that is not given stays so. The views' memory stays valid
	// until then. op is what the work is called among the operators of the stream.
	// f may wait for other streams and other devices. Its error is that of late work:
	// it is returned where the driver does the work at once, and else told by Reporter.
	CallHost(dev int, s StreamID, op *ir.Op, views []ir.View, f func(host []ir.View) error) error
}
