package kernel

// The kernels that serve where a library does not.
var (
	OwnMatMul                = ownMatMul
	OwnConvolution           = ownConvolution
	OwnConvolutionGradInput  = ownConvolutionGradInput
	OwnConvolutionGradWeight = ownConvolutionGradWeight
)
