package opaque

// The kernels that serve where a library does not.
var (
	OwnMatMul                = ownMatMul
	OwnConvolution           = ownConvolution
	OwnConvolutionGradInput  = ownConvolutionGradInput
	OwnConvolutionGradWeight = ownConvolutionGradWeight
	OwnFFTC2C                = ownFFTC2C
	OwnFFTR2C                = ownFFTR2C
	OwnFFTC2R                = ownFFTC2R

	Pointwise = pointwise
)
