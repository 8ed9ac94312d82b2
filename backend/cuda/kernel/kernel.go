// Package kernel holds the launches of the CUDA kernels written by hand, one
// function for each kernel entry of ops.yaml. The device code is in package
// kernels. The package reaches the device by ir.GPU alone and decides launch
// shapes; operands' shapes were checked by the operator's rule.
package kernel
