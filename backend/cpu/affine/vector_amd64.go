package affine

import "github.com/sinter-go/sinter/backend/cpu/loop"

var (
	pulls  = loop.By{AVX2: loop.Pair{Single: pull32AVX2, Double: pull64AVX2}, AVX512: loop.Pair{Single: pull32AVX512, Double: pull64AVX512}}
	weighs = loop.By{AVX2: loop.Pair{Single: weigh32AVX2, Double: weigh64AVX2}, AVX512: loop.Pair{Single: weigh32AVX512, Double: weigh64AVX512}}
)
