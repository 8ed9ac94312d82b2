package softmaxgrad

import "github.com/sinter-go/sinter/backend/cpu/loop"

var (
	adds    = loop.By{AVX2: loop.Pair{Single: add32AVX2, Double: add64AVX2}, AVX512: loop.Pair{Single: add32AVX512, Double: add64AVX512}}
	pulls   = loop.By{AVX2: loop.Pair{Single: pull32AVX2, Double: pull64AVX2}, AVX512: loop.Pair{Single: pull32AVX512, Double: pull64AVX512}}
	pullsOf = loop.By{AVX2: loop.Pair{Single: pullOf32AVX2, Double: pullOf64AVX2}, AVX512: loop.Pair{Single: pullOf32AVX512, Double: pullOf64AVX512}}
)
