package samples

import (
	"math"

	. "github.com/sinter-go/sinter/generated/tensor"
)

func one(x Tensor) []Tensor { return []Tensor{x} }

func two(x, y Tensor) []Tensor { return []Tensor{x, y} }

// operators applies each vector's operator, by the vector's name. The names of
// equations, losses and norms say what to do: see named.
var operators = map[string]func(x []Tensor) []Tensor{
	"sum dims":            func(x []Tensor) []Tensor { return one(x[0].Sum(Dim(0, 2))) },
	"mean keepdim":        func(x []Tensor) []Tensor { return one(x[0].Mean(Dim(1), KeepDim(true))) },
	"prod dim with zeros": func(x []Tensor) []Tensor { return one(x[0].Prod(Dim(1))) },
	"prod all":            func(x []Tensor) []Tensor { return one(x[0].Prod()) },
	"cumprod with zeros":  func(x []Tensor) []Tensor { return one(x[0].Cumprod(1)) },
	"cumsum":              func(x []Tensor) []Tensor { return one(x[0].Cumsum(0)) },
	"logcumsumexp":        func(x []Tensor) []Tensor { return one(x[0].Logcumsumexp(1)) },
	"amax ties":           func(x []Tensor) []Tensor { return one(x[0].Max(Dim(1))) },
	"max dim":             func(x []Tensor) []Tensor { return two(x[0].MaxDim(1)) },
	"min dim":             func(x []Tensor) []Tensor { return two(x[0].MinDim(0)) },
	"var":                 func(x []Tensor) []Tensor { return one(x[0].Var(Dim(0, 2), KeepDim(true))) },
	"std":                 func(x []Tensor) []Tensor { return one(x[0].Std(Dim(1), Correction(0))) },
	"std of a constant":   func(x []Tensor) []Tensor { return one(x[0].Std(Dim(1))) },
	"norm 2":              func(x []Tensor) []Tensor { return one(x[0].Norm(Dim(1))) },
	"norm 3":              func(x []Tensor) []Tensor { return one(x[0].Norm(P(3), Dim(0), KeepDim(true))) },
	"norm 1":              func(x []Tensor) []Tensor { return one(x[0].Norm(P(1))) },
	"norm inf":            func(x []Tensor) []Tensor { return one(x[0].Norm(P(math.Inf(1)), Dim(1))) },
	"norm of zero":        func(x []Tensor) []Tensor { return one(x[0].Norm(Dim(1))) },
	"logsumexp":           func(x []Tensor) []Tensor { return one(x[0].Logsumexp([]int{0, 1})) },
	"logsumexp infinities": func(x []Tensor) []Tensor {
		return one(x[0].Logsumexp([]int{1}))
	},
	"count_nonzero": func(x []Tensor) []Tensor { return one(x[0].CountNonzero(Dim(1))) },

	"slice step":        func(x []Tensor) []Tensor { return one(x[0].Slice(1, 1, 6, 2)) },
	"diagonal":          func(x []Tensor) []Tensor { return one(x[0].Diagonal(Offset(-1), Dim0(0), Dim1(2))) },
	"diag_embed":        func(x []Tensor) []Tensor { return one(x[0].DiagEmbed(Offset(1))) },
	"unfold":            func(x []Tensor) []Tensor { return one(x[0].Unfold(0, 3, 2)) },
	"as_strided":        func(x []Tensor) []Tensor { return one(x[0].AsStrided([]int{3, 2}, []int{1, 1}, Offset(1))) },
	"movedim":           func(x []Tensor) []Tensor { return one(x[0].Movedim([]int{0, 1}, 2, 0)) },
	"flip":              func(x []Tensor) []Tensor { return one(x[0].Flip(0, 2)) },
	"roll":              func(x []Tensor) []Tensor { return one(x[0].Roll([]int{1, -2}, Dim(0, 1))) },
	"roll flat":         func(x []Tensor) []Tensor { return one(x[0].Roll([]int{2})) },
	"repeat":            func(x []Tensor) []Tensor { return one(x[0].Repeat(2, 2, 3)) },
	"tile":              func(x []Tensor) []Tensor { return one(x[0].Tile(2)) },
	"repeat_interleave": func(x []Tensor) []Tensor { return one(x[0].RepeatInterleave(2, 1)) },
	"pad constant":      func(x []Tensor) []Tensor { return one(x[0].Pad([]int{1, -1, 2, 0}, Value(1.5))) },
	"pad reflect":       func(x []Tensor) []Tensor { return one(x[0].Pad([]int{2, 1, 1, 2}, ModeReflect)) },
	"pad replicate":     func(x []Tensor) []Tensor { return one(x[0].Pad([]int{2, 1, 1, 2}, ModeReplicate)) },
	"pad circular":      func(x []Tensor) []Tensor { return one(x[0].Pad([]int{2, 1, 1, 2}, ModeCircular)) },
	"tril":              func(x []Tensor) []Tensor { return one(x[0].Tril(-1)) },
	"triu":              func(x []Tensor) []Tensor { return one(x[0].Triu(1)) },
	"split":             func(x []Tensor) []Tensor { return x[0].Split(2, 1) },
	"chunk":             func(x []Tensor) []Tensor { return x[0].Chunk(3, 0) },
	"stack":             func(x []Tensor) []Tensor { return one(Stack(x, 1)) },
	"cat":               func(x []Tensor) []Tensor { return one(Cat(x, -1)) },

	"gather":        func(x []Tensor) []Tensor { return one(x[0].Gather(1, x[1])) },
	"scatter":       func(x []Tensor) []Tensor { return one(x[0].Scatter(1, x[1], x[2])) },
	"scatter_add":   func(x []Tensor) []Tensor { return one(x[0].ScatterAdd(0, x[1], x[2])) },
	"index_select":  func(x []Tensor) []Tensor { return one(x[0].IndexSelect(1, x[1])) },
	"index_add":     func(x []Tensor) []Tensor { return one(x[0].IndexAdd(0, x[1], x[2])) },
	"take":          func(x []Tensor) []Tensor { return one(x[0].Take(x[1])) },
	"masked_select": func(x []Tensor) []Tensor { return one(x[0].MaskedSelect(x[0].GtScalar(0))) },
	"nonzero":       func(x []Tensor) []Tensor { return one(x[0].Nonzero()) },
	"one_hot":       func(x []Tensor) []Tensor { return one(x[0].OneHot(5)) },
	"embedding":     func(x []Tensor) []Tensor { return one(Embedding(x[0], x[1], PaddingIdx(1))) },
	"sort":          func(x []Tensor) []Tensor { return two(x[0].Sort(1, Descending(true))) },
	"sort stable":   func(x []Tensor) []Tensor { return two(x[0].Sort(1)) },
	"topk":          func(x []Tensor) []Tensor { return two(x[0].Topk(2, 1)) },
	"topk smallest": func(x []Tensor) []Tensor { return two(x[0].Topk(2, 0, Largest(false))) },
	"kthvalue":      func(x []Tensor) []Tensor { return two(x[0].Kthvalue(2, 1)) },
	"unique": func(x []Tensor) []Tensor {
		values, inverse, counts := x[0].Unique()
		return []Tensor{values, inverse, counts}
	},
	"searchsorted":       func(x []Tensor) []Tensor { return one(Searchsorted(x[0], x[1])) },
	"searchsorted right": func(x []Tensor) []Tensor { return one(Searchsorted(x[0], x[1], Right(true))) },

	"matmul batches": func(x []Tensor) []Tensor { return one(x[0].MatMul(x[1])) },
	"matmul folded":  func(x []Tensor) []Tensor { return one(x[0].MatMul(x[1])) },
	"matmul row":     func(x []Tensor) []Tensor { return one(x[0].MatMul(x[1])) },
	"matmul column":  func(x []Tensor) []Tensor { return one(x[0].MatMul(x[1])) },
	"dot":            func(x []Tensor) []Tensor { return one(x[0].Dot(x[1])) },
	"addmm":          func(x []Tensor) []Tensor { return one(x[0].AddMM(x[1], x[2], Beta(2), Alpha(3))) },
	"linear":         func(x []Tensor) []Tensor { return one(x[0].Linear(x[1], Bias(x[2]))) },
	"outer":          func(x []Tensor) []Tensor { return one(x[0].Outer(x[1])) },
	"tensordot":      func(x []Tensor) []Tensor { return one(x[0].Tensordot(x[1], []int{1, 2}, 1, 0)) },
	"kron":           func(x []Tensor) []Tensor { return one(x[0].Kron(x[1])) },

	"softmax":     func(x []Tensor) []Tensor { return one(x[0].Softmax(1)) },
	"log_softmax": func(x []Tensor) []Tensor { return one(x[0].LogSoftmax(-1)) },
	"layer_norm":  func(x []Tensor) []Tensor { return one(x[0].LayerNorm([]int{3, 4}, Weight(x[1]), Bias(x[2]))) },
	"rms_norm":    func(x []Tensor) []Tensor { return one(x[0].RMSNorm([]int{4}, Weight(x[1]), Eps(1e-6))) },
	"batch_norm train": func(x []Tensor) []Tensor {
		y, _, _ := x[0].BatchNormTrain(Weight(x[1]), Bias(x[2]))
		return one(y)
	},
	"batch_norm":    func(x []Tensor) []Tensor { return one(x[0].BatchNorm(x[1], x[2], Weight(x[3]), Bias(x[4]))) },
	"group_norm":    func(x []Tensor) []Tensor { return one(x[0].GroupNorm(2, Weight(x[1]), Bias(x[2]))) },
	"instance_norm": func(x []Tensor) []Tensor { return one(x[0].InstanceNorm()) },
	"normalize":     func(x []Tensor) []Tensor { return one(x[0].Normalize([]int{1})) },

	"mse sum":       func(x []Tensor) []Tensor { return one(x[0].MSELoss(x[1], ReductionSum)) },
	"l1":            func(x []Tensor) []Tensor { return one(x[0].L1Loss(x[1])) },
	"smooth_l1":     func(x []Tensor) []Tensor { return one(x[0].SmoothL1Loss(x[1], Beta(0.7))) },
	"huber":         func(x []Tensor) []Tensor { return one(x[0].HuberLoss(x[1], Delta(0.7), ReductionNone)) },
	"cross_entropy": func(x []Tensor) []Tensor { return one(x[0].CrossEntropy(x[1])) },
	"cross_entropy all": func(x []Tensor) []Tensor {
		return one(x[0].CrossEntropy(x[1], Weight(x[2]), IgnoreIndex(2), LabelSmoothing(0.1)))
	},
	"cross_entropy none": func(x []Tensor) []Tensor {
		return one(x[0].CrossEntropy(x[1], IgnoreIndex(2), LabelSmoothing(0.1), ReductionNone))
	},
	"cross_entropy sum": func(x []Tensor) []Tensor {
		return one(x[0].CrossEntropy(x[1], Weight(x[2]), LabelSmoothing(0.2), ReductionSum))
	},
	"cross_entropy one":   func(x []Tensor) []Tensor { return one(x[0].CrossEntropy(x[1])) },
	"cross_entropy probs": func(x []Tensor) []Tensor { return one(x[0].CrossEntropyProbs(x[1], LabelSmoothing(0.1))) },
	"nll weights": func(x []Tensor) []Tensor {
		weights := FromSlice([]float64{0.5, 1, 2}, []int{3}, OfType(x[0].DType()), On(x[0].Device()))
		return one(x[0].NLLLoss(x[1], Weight(weights), IgnoreIndex(1)))
	},
	"bce": func(x []Tensor) []Tensor { return one(x[0].BinaryCrossEntropy(x[1])) },
	"bce_with_logits": func(x []Tensor) []Tensor {
		return one(x[0].BinaryCrossEntropyWithLogits(x[1], Weight(x[2]), PosWeight(x[3])))
	},
	"bce_with_logits at zero": func(x []Tensor) []Tensor { return one(x[0].BinaryCrossEntropyWithLogits(x[1])) },
	"kl_div":                  func(x []Tensor) []Tensor { return one(x[0].KLDiv(x[1], ReductionSum)) },
	"kl_div log":              func(x []Tensor) []Tensor { return one(x[0].KLDiv(x[1], LogTarget(true))) },
	"cosine_similarity":       func(x []Tensor) []Tensor { return one(x[0].CosineSimilarity(x[1], 1)) },

	"conv1d": func(x []Tensor) []Tensor { return one(x[0].Conv1d(x[1], Bias(x[2]), Padding(1))) },
	"conv2d": func(x []Tensor) []Tensor {
		return one(x[0].Conv2d(x[1], Bias(x[2]), Stride(2, 1), Padding(1, 0), Dilation(1, 2), Groups(2)))
	},
	"conv2d one": func(x []Tensor) []Tensor { return one(x[0].Conv2d(x[1])) },
	"conv3d":     func(x []Tensor) []Tensor { return one(x[0].Conv3d(x[1], Stride(2))) },
	"conv_transpose1d": func(x []Tensor) []Tensor {
		return one(x[0].ConvTranspose1d(x[1], Stride(2), OutputPadding(1)))
	},
	"conv_transpose2d": func(x []Tensor) []Tensor {
		return one(x[0].ConvTranspose2d(x[1], Bias(x[2]), Stride(2, 1), Padding(1, 0), Groups(2), Dilation(1, 2)))
	},
	"max_pool2d": func(x []Tensor) []Tensor {
		return two(x[0].MaxPool2dWithIndices([]int{3, 2}, Stride(2, 1), Padding(1, 1)))
	},
	"max_pool2d ceil":    func(x []Tensor) []Tensor { return one(x[0].MaxPool2d([]int{2}, CeilMode(true))) },
	"max_pool1d dilated": func(x []Tensor) []Tensor { return one(x[0].MaxPool1d([]int{3}, Stride(2), Dilation(2))) },
	"avg_pool2d": func(x []Tensor) []Tensor {
		return one(x[0].AvgPool2d([]int{3, 2}, Padding(1, 0), CountIncludePad(false)))
	},
	"avg_pool2d ceil":     func(x []Tensor) []Tensor { return one(x[0].AvgPool2d([]int{2}, Padding(1), CeilMode(true))) },
	"avg_pool1d":          func(x []Tensor) []Tensor { return one(x[0].AvgPool1d([]int{3}, Stride(2))) },
	"adaptive_avg_pool1d": func(x []Tensor) []Tensor { return one(x[0].AdaptiveAvgPool1d(3)) },
	"adaptive_avg_pool2d": func(x []Tensor) []Tensor { return one(x[0].AdaptiveAvgPool2d(3, 4)) },

	"arange":       func([]Tensor) []Tensor { return one(Arange(1, 10, 3)) },
	"arange float": func([]Tensor) []Tensor { return one(Arange(1, 2, 0.3, OfType(Float64))) },
	"linspace":     func([]Tensor) []Tensor { return one(Linspace(-1, 2, 7, OfType(Float64))) },
	"eye":          func([]Tensor) []Tensor { return one(Eye(2, 3, OfType(Float64))) },
}
