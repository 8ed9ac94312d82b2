package samples

import (
	"math"
	"strings"

	. "github.com/sinter-go/sinter/generated/tensor"
)

var tables = []map[string]func(x []Tensor) []Tensor{operators, more, passes}

// named returns the operator of a vector whose name describes it.
func named(name string) func(x []Tensor) []Tensor {
	for _, table := range tables {
		if f := table[name]; f != nil {
			return f
		}
	}
	if equation, ok := strings.CutPrefix(name, "einsum "); ok {
		return func(x []Tensor) []Tensor { return one(Einsum(equation, x)) }
	}
	if order, ok := strings.CutPrefix(name, "norm p="); ok {
		return func(x []Tensor) []Tensor { return one(x[0].Norm(P(orders[order]), Dim(1))) }
	}
	if what, ok := strings.CutPrefix(name, "loss "); ok {
		loss, reduction, _ := strings.Cut(what, " ")
		if f := losses[loss]; f != nil {
			return func(x []Tensor) []Tensor { return one(f(x, reductions[reduction])) }
		}
	}
	return nil
}

var orders = map[string]float64{"0": 0, "0.5": 0.5, "1.5": 1.5, "4": 4, "inf": math.Inf(1), "-inf": math.Inf(-1)}

var reductions = map[string]Reduction{"none": ReductionNone, "mean": ReductionMean, "sum": ReductionSum}

var losses = map[string]func(x []Tensor, r Reduction) Tensor{
	"mse":             func(x []Tensor, r Reduction) Tensor { return x[0].MSELoss(x[1], r) },
	"l1":              func(x []Tensor, r Reduction) Tensor { return x[0].L1Loss(x[1], r) },
	"smooth_l1":       func(x []Tensor, r Reduction) Tensor { return x[0].SmoothL1Loss(x[1], r) },
	"huber":           func(x []Tensor, r Reduction) Tensor { return x[0].HuberLoss(x[1], r) },
	"bce":             func(x []Tensor, r Reduction) Tensor { return x[0].BinaryCrossEntropy(x[1], r) },
	"bce_with_logits": func(x []Tensor, r Reduction) Tensor { return x[0].BinaryCrossEntropyWithLogits(x[1], r) },
	"kl_div":          func(x []Tensor, r Reduction) Tensor { return x[0].KLDiv(x[1], r) },
	"cross_entropy":   func(x []Tensor, r Reduction) Tensor { return x[0].CrossEntropy(x[1], Weight(x[2]), IgnoreIndex(1), r) },
	"nll":             func(x []Tensor, r Reduction) Tensor { return x[0].NLLLoss(x[1], Weight(x[2]), IgnoreIndex(1), r) },
}

// more are further forms of the operators above.
var more = map[string]func(x []Tensor) []Tensor{
	"matmul both batched":        func(x []Tensor) []Tensor { return one(x[0].MatMul(x[1])) },
	"matmul vector matrix":       func(x []Tensor) []Tensor { return one(x[0].MatMul(x[1])) },
	"matmul inner of none":       func(x []Tensor) []Tensor { return one(x[0].MatMul(x[1])) },
	"matmul of a transpose":      func(x []Tensor) []Tensor { return one(x[0].MT().MatMul(x[1].MT())) },
	"mv":                         func(x []Tensor) []Tensor { return one(x[0].MV(x[1])) },
	"bmm":                        func(x []Tensor) []Tensor { return one(x[0].BMM(x[1])) },
	"addmv":                      func(x []Tensor) []Tensor { return one(x[0].AddMV(x[1], x[2], Beta(0.5), Alpha(2))) },
	"baddbmm":                    func(x []Tensor) []Tensor { return one(x[0].BAddBMM(x[1], x[2], Beta(-1), Alpha(0.5))) },
	"trace":                      func(x []Tensor) []Tensor { return one(x[0].Trace()) },
	"tensordot one":              func(x []Tensor) []Tensor { return one(x[0].Tensordot(x[1], []int{2}, 0)) },
	"linear without bias":        func(x []Tensor) []Tensor { return one(x[0].Linear(x[1])) },
	"norm over two dims":         func(x []Tensor) []Tensor { return one(x[0].Norm(Dim(0, 2), KeepDim(true))) },
	"var correction":             func(x []Tensor) []Tensor { return one(x[0].Var(Dim(1), Correction(2))) },
	"var all":                    func(x []Tensor) []Tensor { return one(x[0].Var()) },
	"std keepdim":                func(x []Tensor) []Tensor { return one(x[0].Std(Dim(0, 1), KeepDim(true))) },
	"var_mean":                   func(x []Tensor) []Tensor { return two(x[0].VarMean(Dim(1), Correction(0))) },
	"amin ties":                  func(x []Tensor) []Tensor { return one(x[0].Min(Dim(0, 1))) },
	"max all":                    func(x []Tensor) []Tensor { return one(x[0].Max()) },
	"argmax":                     func(x []Tensor) []Tensor { return one(x[0].Argmax(Dim(1))) },
	"argmin keepdim":             func(x []Tensor) []Tensor { return one(x[0].Argmin(Dim(0), KeepDim(true))) },
	"argmax all":                 func(x []Tensor) []Tensor { return one(x[0].Argmax()) },
	"prod keepdim":               func(x []Tensor) []Tensor { return one(x[0].Prod(Dim(0), KeepDim(true))) },
	"prod of two zeros":          func(x []Tensor) []Tensor { return one(x[0].Prod()) },
	"prod of one zero":           func(x []Tensor) []Tensor { return one(x[0].Prod()) },
	"cumprod dim 0":              func(x []Tensor) []Tensor { return one(x[0].Cumprod(0)) },
	"cumprod without zeros":      func(x []Tensor) []Tensor { return one(x[0].Cumprod(-1)) },
	"cumsum middle":              func(x []Tensor) []Tensor { return one(x[0].Cumsum(-2)) },
	"logcumsumexp infinities":    func(x []Tensor) []Tensor { return one(x[0].Logcumsumexp(1)) },
	"logsumexp keepdim":          func(x []Tensor) []Tensor { return one(x[0].Logsumexp([]int{1}, KeepDim(true))) },
	"mean all":                   func(x []Tensor) []Tensor { return one(x[0].Mean()) },
	"sum of integers":            func(x []Tensor) []Tensor { return one(x[0].Sum(Dim(0))) },
	"cumsum of integers":         func(x []Tensor) []Tensor { return one(x[0].Cumsum(0)) },
	"diagonal above":             func(x []Tensor) []Tensor { return one(x[0].Diagonal(Offset(1))) },
	"diagonal of the last axes":  func(x []Tensor) []Tensor { return one(x[0].Diagonal(Dim0(-2), Dim1(-1))) },
	"diag_embed below":           func(x []Tensor) []Tensor { return one(x[0].DiagEmbed(Offset(-1))) },
	"unfold middle":              func(x []Tensor) []Tensor { return one(x[0].Unfold(1, 2, 1)) },
	"unfold with gaps":           func(x []Tensor) []Tensor { return one(x[0].Unfold(0, 2, 3)) },
	"as_strided rows":            func(x []Tensor) []Tensor { return one(x[0].AsStrided([]int{2, 3}, []int{2, 1})) },
	"as_strided one element":     func(x []Tensor) []Tensor { return one(x[0].AsStrided([]int{4}, []int{0}, Offset(2))) },
	"expand":                     func(x []Tensor) []Tensor { return one(x[0].Expand(3, 2, 4)) },
	"permute":                    func(x []Tensor) []Tensor { return one(x[0].Permute(2, 0, 1)) },
	"select":                     func(x []Tensor) []Tensor { return one(x[0].Select(1, -1)) },
	"narrow":                     func(x []Tensor) []Tensor { return one(x[0].Narrow(-1, 1, 2)) },
	"squeeze":                    func(x []Tensor) []Tensor { return one(x[0].Squeeze(1)) },
	"unbind":                     func(x []Tensor) []Tensor { return x[0].Unbind(1) },
	"split sizes":                func(x []Tensor) []Tensor { return x[0].SplitSizes([]int{1, 0, 3}, 0) },
	"cat of an empty one":        func(x []Tensor) []Tensor { return one(Cat(x, 0)) },
	"roll back":                  func(x []Tensor) []Tensor { return one(x[0].Roll([]int{-4}, Dim(1))) },
	"repeat none":                func(x []Tensor) []Tensor { return one(x[0].Repeat(0, 2)) },
	"repeat_interleave rows":     func(x []Tensor) []Tensor { return one(x[0].RepeatInterleave(3, 0)) },
	"pad three axes":             func(x []Tensor) []Tensor { return one(x[0].Pad([]int{1, 0, 0, 1, 1, 1})) },
	"pad reflect one axis":       func(x []Tensor) []Tensor { return one(x[0].Pad([]int{2, 3}, ModeReflect)) },
	"pad replicate three axes":   func(x []Tensor) []Tensor { return one(x[0].Pad([]int{1, 0, 0, 1, 2, 0}, ModeReplicate)) },
	"pad circular one axis":      func(x []Tensor) []Tensor { return one(x[0].Pad([]int{3, 2}, ModeCircular)) },
	"flip all":                   func(x []Tensor) []Tensor { return one(x[0].Flip(0, 1)) },
	"where":                      func(x []Tensor) []Tensor { return one(Where(x[0].GtScalar(0), x[0], x[1])) },
	"masked_fill":                func(x []Tensor) []Tensor { return one(x[0].MaskedFillScalar(x[0].GtScalar(0.5), 7)) },
	"gather repeated":            func(x []Tensor) []Tensor { return one(x[0].Gather(1, x[1])) },
	"gather dim 0":               func(x []Tensor) []Tensor { return one(x[0].Gather(0, x[1])) },
	"scatter_add repeated":       func(x []Tensor) []Tensor { return one(x[0].ScatterAdd(1, x[1], x[2])) },
	"scatter of a number":        func(x []Tensor) []Tensor { return one(x[0].ScatterScalar(1, x[1], 2.5)) },
	"index_fill":                 func(x []Tensor) []Tensor { return one(x[0].IndexFill(1, x[1], -1)) },
	"index_copy":                 func(x []Tensor) []Tensor { return one(x[0].IndexCopy(0, x[1], x[2])) },
	"index_select repeated":      func(x []Tensor) []Tensor { return one(x[0].IndexSelect(0, x[1])) },
	"index_add middle":           func(x []Tensor) []Tensor { return one(x[0].IndexAdd(1, x[1], x[2])) },
	"embedding all":              func(x []Tensor) []Tensor { return one(Embedding(x[0], x[1])) },
	"kthvalue keepdim":           func(x []Tensor) []Tensor { return two(x[0].Kthvalue(1, 0, KeepDim(true))) },
	"topk all":                   func(x []Tensor) []Tensor { return two(x[0].Topk(3, 1)) },
	"sort special":               func(x []Tensor) []Tensor { return two(x[0].Sort(1)) },
	"sort special descending":    func(x []Tensor) []Tensor { return two(x[0].Sort(1, Descending(true))) },
	"argsort":                    func(x []Tensor) []Tensor { return one(x[0].Argsort(0)) },
	"unique integers":            func(x []Tensor) []Tensor { return unique(x[0].Unique()) },
	"bucketize":                  func(x []Tensor) []Tensor { return one(Bucketize(x[0], x[1], Right(true))) },
	"searchsorted rows":          func(x []Tensor) []Tensor { return one(Searchsorted(x[0], x[1])) },
	"softmax dim 0":              func(x []Tensor) []Tensor { return one(x[0].Softmax(0)) },
	"softmin":                    func(x []Tensor) []Tensor { return one(x[0].Softmin(1)) },
	"log_softmax far":            func(x []Tensor) []Tensor { return one(x[0].LogSoftmax(0)) },
	"layer_norm bare":            func(x []Tensor) []Tensor { return one(x[0].LayerNorm([]int{3}, Eps(0.1))) },
	"group_norm one":             func(x []Tensor) []Tensor { return one(x[0].GroupNorm(1)) },
	"batch_norm train matrix":    func(x []Tensor) []Tensor { return firstOf(x[0].BatchNormTrain(Eps(0.01))) },
	"batch_norm bare":            func(x []Tensor) []Tensor { return one(x[0].BatchNorm(x[1], x[2], Eps(0.1))) },
	"instance_norm weights":      func(x []Tensor) []Tensor { return one(x[0].InstanceNorm(Weight(x[1]), Bias(x[2]))) },
	"normalize p=1":              func(x []Tensor) []Tensor { return one(x[0].Normalize([]int{0}, P(1))) },
	"glu":                        func(x []Tensor) []Tensor { return one(x[0].GLU(1)) },
	"prelu":                      func(x []Tensor) []Tensor { return one(x[0].PReLU(x[1])) },
	"cross_entropy images":       func(x []Tensor) []Tensor { return one(x[0].CrossEntropy(x[1])) },
	"cross_entropy nothing left": func(x []Tensor) []Tensor { return one(x[0].CrossEntropy(x[1], IgnoreIndex(0), ReductionSum)) },
	"cross_entropy far":          func(x []Tensor) []Tensor { return one(x[0].CrossEntropy(x[1])) },
	"cross_entropy probs sum":    func(x []Tensor) []Tensor { return one(x[0].CrossEntropyProbs(x[1], Weight(x[2]), ReductionSum)) },
	"cosine_similarity of rows":  func(x []Tensor) []Tensor { return one(x[0].CosineSimilarity(x[1], 0)) },
	"conv1d grouped": func(x []Tensor) []Tensor {
		return one(x[0].Conv1d(x[1], Stride(2), Padding(2), Dilation(2), Groups(2)))
	},
	"conv1d without batch":   func(x []Tensor) []Tensor { return one(x[0].Conv1d(x[1], Bias(x[2]))) },
	"conv2d of each channel": func(x []Tensor) []Tensor { return one(x[0].Conv2d(x[1], Padding(1), Groups(3))) },
	"conv2d of points":       func(x []Tensor) []Tensor { return one(x[0].Conv2d(x[1], Bias(x[2]), Stride(2))) },
	"conv2d wide":            func(x []Tensor) []Tensor { return one(x[0].Conv2d(x[1], Padding(0, 3), Dilation(1, 3))) },
	"conv3d grouped": func(x []Tensor) []Tensor {
		return one(x[0].Conv3d(x[1], Bias(x[2]), Padding(1), Dilation(2), Groups(2)))
	},
	"conv_transpose1d dilated": func(x []Tensor) []Tensor { return one(x[0].ConvTranspose1d(x[1], Bias(x[2]), Padding(1), Dilation(2))) },
	"conv_transpose2d output padding": func(x []Tensor) []Tensor {
		return one(x[0].ConvTranspose2d(x[1], Stride(3), Padding(1), OutputPadding(2)))
	},
	"conv_transpose2d grouped": func(x []Tensor) []Tensor {
		return one(x[0].ConvTranspose2d(x[1], Stride(2), OutputPadding(1, 0), Groups(3)))
	},
	"max_pool2d overlapping": func(x []Tensor) []Tensor { return one(x[0].MaxPool2d([]int{3}, Stride(1), Padding(1))) },
	"max_pool2d ceil padded": func(x []Tensor) []Tensor {
		return two(x[0].MaxPool2dWithIndices([]int{2, 3}, Stride(2), Padding(1, 1), CeilMode(true)))
	},
	"max_pool2d without batch": func(x []Tensor) []Tensor { return one(x[0].MaxPool2d([]int{2})) },
	"max_pool2d ties":          func(x []Tensor) []Tensor { return two(x[0].MaxPool2dWithIndices([]int{2}, Stride(1))) },
	"max_pool1d padded":        func(x []Tensor) []Tensor { return one(x[0].MaxPool1d([]int{4}, Stride(3), Padding(2), CeilMode(true))) },
	"avg_pool2d ceil, counted": func(x []Tensor) []Tensor { return one(x[0].AvgPool2d([]int{3}, Stride(2), Padding(1), CeilMode(true))) },
	"avg_pool2d ceil, not counted": func(x []Tensor) []Tensor {
		return one(x[0].AvgPool2d([]int{3}, Stride(2), Padding(1), CeilMode(true), CountIncludePad(false)))
	},
	"avg_pool2d ceil, not padded": func(x []Tensor) []Tensor { return one(x[0].AvgPool2d([]int{2}, Stride(3), CeilMode(true))) },
	"avg_pool1d padded": func(x []Tensor) []Tensor {
		return one(x[0].AvgPool1d([]int{3}, Stride(2), Padding(1), CeilMode(true), CountIncludePad(false)))
	},
	"adaptive_avg_pool1d more": func(x []Tensor) []Tensor { return one(x[0].AdaptiveAvgPool1d(5)) },
	"adaptive_avg_pool2d one":  func(x []Tensor) []Tensor { return one(x[0].AdaptiveAvgPool2d(1)) },
	"arange of a float end":    func(x []Tensor) []Tensor { return one(Arange(0, 3.5, 1).ToType(Float64)) },
	"arange down":              func(x []Tensor) []Tensor { return one(Arange(5, -4, -3)) },
	"logspace":                 func(x []Tensor) []Tensor { return one(Logspace(-1, 2, 4, 2, OfType(Float64))) },
}

var passes = map[string]func(x []Tensor) []Tensor{
	"frexp":           func(x []Tensor) []Tensor { return two(x[0].Frexp()) },
	"frexp, gradient": func(x []Tensor) []Tensor { m, _ := x[0].Frexp(); return one(m) },
	"aminmax":         func(x []Tensor) []Tensor { return two(x[0].Aminmax()) },
	"aminmax dim":     func(x []Tensor) []Tensor { return two(x[0].Aminmax(Dim(1))) },
	"aminmax keepdim": func(x []Tensor) []Tensor { return two(x[0].Aminmax(Dim(-1), KeepDim(true))) },
	"aminmax ties":    func(x []Tensor) []Tensor { return two(x[0].Aminmax(Dim(1))) },
	"aminmax nan":     func(x []Tensor) []Tensor { return two(x[0].Aminmax(Dim(0))) },
	"vecdot":          func(x []Tensor) []Tensor { return one(x[0].Vecdot(x[1], -1)) },
	"vecdot dim":      func(x []Tensor) []Tensor { return one(x[0].Vecdot(x[1], 1)) },
	"vecdot complex": func(x []Tensor) []Tensor {
		z := Complex(x[0], x[1]).Vecdot(Complex(x[2], x[3]), -1)
		return two(z.Real(), z.Imag())
	},

	"cummax":          func(x []Tensor) []Tensor { return two(x[0].Cummax(1)) },
	"cummax ties":     func(x []Tensor) []Tensor { return two(x[0].Cummax(-1)) },
	"cummax nan":      func(x []Tensor) []Tensor { return two(x[0].Cummax(0)) },
	"cummax integers": func(x []Tensor) []Tensor { return two(x[0].Cummax(0)) },
	"cummin":          func(x []Tensor) []Tensor { return two(x[0].Cummin(0)) },
	"cummin ties":     func(x []Tensor) []Tensor { return two(x[0].Cummin(1)) },
	"cummin nan":      func(x []Tensor) []Tensor { return two(x[0].Cummin(0)) },

	"logcumsumexp complex":          complexLogcumsumexp,
	"logcumsumexp complex of zeros": complexLogcumsumexp,

	"max_pool3d": func(x []Tensor) []Tensor {
		return two(x[0].MaxPool3dWithIndices([]int{2, 3, 2}, Stride(1, 2, 1), Padding(1, 1, 0)))
	},
	"max_pool3d ceil":    func(x []Tensor) []Tensor { return one(x[0].MaxPool3d([]int{2}, CeilMode(true))) },
	"max_pool3d dilated": func(x []Tensor) []Tensor { return one(x[0].MaxPool3d([]int{2}, Stride(1), Dilation(1, 2, 3))) },
	"avg_pool3d":         func(x []Tensor) []Tensor { return one(x[0].AvgPool3d([]int{2, 1, 3}, Stride(2), Padding(1, 0, 1))) },
	"avg_pool3d ceil, not counted": func(x []Tensor) []Tensor {
		return one(x[0].AvgPool3d([]int{3}, Stride(2), Padding(1), CeilMode(true), CountIncludePad(false)))
	},
}

func complexLogcumsumexp(x []Tensor) []Tensor {
	z := Complex(x[0], x[1]).Logcumsumexp(0)
	return two(z.Real(), z.Imag())
}

func unique(values, inverse, counts Tensor) []Tensor { return []Tensor{values, inverse, counts} }

func firstOf(x, _, _ Tensor) []Tensor { return one(x) }
