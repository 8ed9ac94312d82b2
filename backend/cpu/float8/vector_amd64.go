package float8

import "github.com/sinter-go/sinter/backend/cpu/loop"

var encoders = loop.By{AVX2: loop.Pair{Single: encode32AVX2, Double: encode64AVX2}, AVX512: loop.Pair{Single: encode32AVX512, Double: encode64AVX512}}
