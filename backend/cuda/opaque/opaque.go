// Package opaque launches the CUDA kernels that are written by hand, one function
// for each operator whose body is opaque (ir.Opaque): a kernel entry of ops.yaml, of
// which no expression says what it computes. The device code is in package
// kernels. The package reaches the device by code.GPU alone and decides launch
// shapes; operands' shapes were checked by the operator's rule.
package opaque
