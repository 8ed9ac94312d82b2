package device

// AcceleratorKind returns the kind of the accelerators that this process has: GPUs,
// or where there are none simulated ones that a program installed. It is KindCUDA
// where there are neither, whose driver says why.
func AcceleratorKind() Kind {
	if Count(KindCUDA) == 0 && Count(KindSim) > 0 {
		return KindSim
	}
	return KindCUDA
}
