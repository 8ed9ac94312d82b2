package rows

import "github.com/sinter-go/sinter/backend/cpu/simd"

func vectorAt[T Float](level simd.Level) (v vector[T]) {
	switch to := any(&v).(type) {
	case *vector[float32]:
		if level >= simd.AVX512 {
			*to = avx512F32
		} else if level == simd.AVX2 {
			*to = avx2F32
		}
	case *vector[float64]:
		if level >= simd.AVX512 {
			*to = avx512F64
		} else if level == simd.AVX2 {
			*to = avx2F64
		}
	}
	return v
}

var avx2F32 = vector[float32]{
	softmax:         softmaxF32AVX2,
	softmaxPart:     softmaxPartF32AVX2,
	logSum:          logSumF32AVX2,
	shift:           shiftF32AVX2,
	top:             topF32AVX2,
	sumExp:          sumExpF32AVX2,
	scale:           scaleF32AVX2,
	expScale:        expScaleF32AVX2,
	columnTops:      columnTopsF32AVX2,
	columnExp:       columnExpF32AVX2,
	columnSumExp:    columnSumExpF32AVX2,
	columnScale:     columnScaleF32AVX2,
	columnShift:     columnShiftF32AVX2,
	layerNorm:       layerNormF32AVX2,
	layerNormAffine: layerNormAffineF32AVX2,
	rmsNorm:         rmsNormF32AVX2,
	rmsNormAffine:   rmsNormAffineF32AVX2,
	deviations:      deviationsF32AVX2,
	squares:         squaresF32AVX2,
	normal:          normalF32AVX2,
	normalAffine:    normalAffineF32AVX2,
	outerAdd:        outerAddF32AVX2,
	outerSub:        outerSubF32AVX2,
	outerSubFrom:    outerSubFromF32AVX2,
	outerMul:        outerMulF32AVX2,
	outerDiv:        outerDivF32AVX2,
	outerDivInto:    outerDivIntoF32AVX2,
	argMax:          argMaxF32AVX2,
	argMin:          argMinF32AVX2,
	argMaxColumns:   argMaxColumnsF32AVX2,
	argMinColumns:   argMinColumnsF32AVX2,
}

var avx512F32 = vector[float32]{
	softmax:         softmaxF32AVX512,
	softmaxPart:     softmaxPartF32AVX512,
	logSum:          logSumF32AVX512,
	shift:           shiftF32AVX512,
	top:             topF32AVX512,
	sumExp:          sumExpF32AVX512,
	scale:           scaleF32AVX512,
	expScale:        expScaleF32AVX512,
	columnTops:      columnTopsF32AVX512,
	columnExp:       columnExpF32AVX512,
	columnSumExp:    columnSumExpF32AVX512,
	columnScale:     columnScaleF32AVX512,
	columnShift:     columnShiftF32AVX512,
	layerNorm:       layerNormF32AVX512,
	layerNormAffine: layerNormAffineF32AVX512,
	rmsNorm:         rmsNormF32AVX512,
	rmsNormAffine:   rmsNormAffineF32AVX512,
	deviations:      deviationsF32AVX512,
	squares:         squaresF32AVX512,
	normal:          normalF32AVX512,
	normalAffine:    normalAffineF32AVX512,
	outerAdd:        outerAddF32AVX512,
	outerSub:        outerSubF32AVX512,
	outerSubFrom:    outerSubFromF32AVX512,
	outerMul:        outerMulF32AVX512,
	outerDiv:        outerDivF32AVX512,
	outerDivInto:    outerDivIntoF32AVX512,
	argMax:          argMaxF32AVX512,
	argMin:          argMinF32AVX512,
	argMaxColumns:   argMaxColumnsF32AVX512,
	argMinColumns:   argMinColumnsF32AVX512,
}

var avx2F64 = vector[float64]{
	softmax:         softmaxF64AVX2,
	softmaxPart:     softmaxPartF64AVX2,
	logSum:          logSumF64AVX2,
	shift:           shiftF64AVX2,
	top:             topF64AVX2,
	sumExp:          sumExpF64AVX2,
	scale:           scaleF64AVX2,
	expScale:        expScaleF64AVX2,
	columnTops:      columnTopsF64AVX2,
	columnExp:       columnExpF64AVX2,
	columnSumExp:    columnSumExpF64AVX2,
	columnScale:     columnScaleF64AVX2,
	columnShift:     columnShiftF64AVX2,
	layerNorm:       layerNormF64AVX2,
	layerNormAffine: layerNormAffineF64AVX2,
	rmsNorm:         rmsNormF64AVX2,
	rmsNormAffine:   rmsNormAffineF64AVX2,
	deviations:      deviationsF64AVX2,
	squares:         squaresF64AVX2,
	normal:          normalF64AVX2,
	normalAffine:    normalAffineF64AVX2,
	outerAdd:        outerAddF64AVX2,
	outerSub:        outerSubF64AVX2,
	outerSubFrom:    outerSubFromF64AVX2,
	outerMul:        outerMulF64AVX2,
	outerDiv:        outerDivF64AVX2,
	outerDivInto:    outerDivIntoF64AVX2,
	argMax:          argMaxF64AVX2,
	argMin:          argMinF64AVX2,
	argMaxColumns:   argMaxColumnsF64AVX2,
	argMinColumns:   argMinColumnsF64AVX2,
}

var avx512F64 = vector[float64]{
	softmax:         softmaxF64AVX512,
	softmaxPart:     softmaxPartF64AVX512,
	logSum:          logSumF64AVX512,
	shift:           shiftF64AVX512,
	top:             topF64AVX512,
	sumExp:          sumExpF64AVX512,
	scale:           scaleF64AVX512,
	expScale:        expScaleF64AVX512,
	columnTops:      columnTopsF64AVX512,
	columnExp:       columnExpF64AVX512,
	columnSumExp:    columnSumExpF64AVX512,
	columnScale:     columnScaleF64AVX512,
	columnShift:     columnShiftF64AVX512,
	layerNorm:       layerNormF64AVX512,
	layerNormAffine: layerNormAffineF64AVX512,
	rmsNorm:         rmsNormF64AVX512,
	rmsNormAffine:   rmsNormAffineF64AVX512,
	deviations:      deviationsF64AVX512,
	squares:         squaresF64AVX512,
	normal:          normalF64AVX512,
	normalAffine:    normalAffineF64AVX512,
	outerAdd:        outerAddF64AVX512,
	outerSub:        outerSubF64AVX512,
	outerSubFrom:    outerSubFromF64AVX512,
	outerMul:        outerMulF64AVX512,
	outerDiv:        outerDivF64AVX512,
	outerDivInto:    outerDivIntoF64AVX512,
	argMax:          argMaxF64AVX512,
	argMin:          argMinF64AVX512,
	argMaxColumns:   argMaxColumnsF64AVX512,
	argMinColumns:   argMinColumnsF64AVX512,
}
