package tests

import (
	"context"
	"math"

	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/device"
)

var wrongShapes = []wrongCall{
	{"add", func(o *operands) error { return o.mat.Add(o.tall).Err() }, ""},
	{"add through a chain", func(o *operands) error { return o.mat.Add(o.tall).Exp().Sum().MulScalar(2).Err() }, ""},
	{"where", func(o *operands) error { return tensor.Where(o.mask, o.tall, o.mat).Err() }, ""},
	{"addcmul", func(o *operands) error { return o.mat.Addcmul(o.vec, o.tall).Err() }, ""},
	{"matmul", func(o *operands) error { return o.mat.MatMul(o.mat).Err() }, ""},
	{"matmul of a scalar", func(o *operands) error { return o.mat.MatMul(o.scalar).Err() }, ""},
	{"matmul batches", func(o *operands) error { return o.cube.MatMul(tensor.Zeros([]int{3, 4, 2})).Err() }, ""},
	{"mm of a vector", func(o *operands) error { return o.mat.Mm(o.vec).Err() }, ""},
	{"bmm of matrices", func(o *operands) error { return o.mat.Bmm(o.tall).Err() }, ""},
	{"dot of matrices", func(o *operands) error { return o.mat.Dot(o.mat).Err() }, ""},
	{"dot of lengths", func(o *operands) error { return o.vec.Dot(tensor.Zeros([]int{4})).Err() }, ""},
	{"linear", func(o *operands) error { return o.mat.Linear(o.tall).Err() }, ""},
	{"linear bias", func(o *operands) error { return o.mat.Linear(o.square, tensor.Bias(tensor.Zeros([]int{2}))).Err() }, ""},
	{"addmm", func(o *operands) error { return tensor.Zeros([]int{5, 5}).Addmm(o.mat, o.tall).Err() }, ""},
	{"view count", func(o *operands) error { return o.mat.View(4, 2).Err() }, ""},
	{"view without a copy", func(o *operands) error { return o.mat.T().View(6).Err() }, ""},
	{"reshape count", func(o *operands) error { return o.mat.Reshape(5).Err() }, ""},
	{"reshape two unknown", func(o *operands) error { return o.mat.Reshape(-1, -1).Err() }, ""},
	{"reshape negative", func(o *operands) error { return o.mat.Reshape(-2, 3).Err() }, ""},
	{"reshape unknown of none", func(o *operands) error { return o.empty.Reshape(-1, 0).Err() }, ""},
	{"expand", func(o *operands) error { return o.mat.Expand(4, 3).Err() }, ""},
	{"expand fewer axes", func(o *operands) error { return o.mat.Expand(3).Err() }, ""},
	{"expand negative", func(o *operands) error { return o.row.Expand(-2, 3).Err() }, ""},
	{"sum to", func(o *operands) error { return o.mat.SumTo(4).Err() }, ""},
	{"cat ranks", func(o *operands) error { return tensor.Cat([]T{o.mat, o.vec}, 0).Err() }, ""},
	{"cat extents", func(o *operands) error { return tensor.Cat([]T{o.mat, o.tall}, 0).Err() }, ""},
	{"cat of nothing", func(o *operands) error { return tensor.Cat(nil, 0).Err() }, ""},
	{"cat of scalars", func(o *operands) error { return tensor.Cat([]T{o.scalar, o.scalar}, 0).Err() }, ""},
	{"stack", func(o *operands) error { return tensor.Stack([]T{o.mat, o.tall}, 0).Err() }, ""},
	{"stack of nothing", func(o *operands) error { return tensor.Stack(nil, 0).Err() }, ""},
	{"einsum extents", func(o *operands) error { return tensor.Einsum("ij,jk->ik", []T{o.mat, o.mat}).Err() }, ""},
	{"einsum ranks", func(o *operands) error { return tensor.Einsum("ijk->i", []T{o.mat}).Err() }, ""},
	{"einsum operands", func(o *operands) error { return tensor.Einsum("ij,jk->ik", []T{o.mat}).Err() }, ""},
	{"einsum letters", func(o *operands) error { return tensor.Einsum("ij->ik", []T{o.mat}).Err() }, ""},
	{"einsum syntax", func(o *operands) error { return tensor.Einsum("i1->->", []T{o.mat}).Err() }, ""},
	{"tensordot", func(o *operands) error { return tensor.Tensordot(o.mat, o.mat, []int{1}, 0).Err() }, ""},
	{"tensordot axes", func(o *operands) error { return tensor.Tensordot(o.mat, o.mat, []int{0, 1}, 0).Err() }, ""},
	{"conv2d channels", func(o *operands) error { return o.image.Conv2d(tensor.Zeros([]int{3, 5, 3, 3})).Err() }, ""},
	{"conv2d kernel too large", func(o *operands) error { return o.image.Conv2d(tensor.Zeros([]int{3, 2, 6, 6})).Err() }, ""},
	{"conv2d rank", func(o *operands) error { return o.mat.Conv2d(o.kernel).Err() }, ""},
	{"conv2d bias", func(o *operands) error { return o.image.Conv2d(o.kernel, tensor.Bias(tensor.Zeros([]int{4}))).Err() }, ""},
	{"conv2d stride", func(o *operands) error { return o.image.Conv2d(o.kernel, tensor.Stride(0)).Err() }, ""},
	{"conv2d strides", func(o *operands) error { return o.image.Conv2d(o.kernel, tensor.Stride(1, 1, 1)).Err() }, ""},
	{"conv2d padding", func(o *operands) error { return o.image.Conv2d(o.kernel, tensor.Padding(-1)).Err() }, ""},
	{"conv2d dilation", func(o *operands) error { return o.image.Conv2d(o.kernel, tensor.Dilation(0)).Err() }, ""},
	{"conv2d groups", func(o *operands) error { return o.image.Conv2d(o.kernel, tensor.Groups(2)).Err() }, ""},
	{"conv2d no groups", func(o *operands) error { return o.image.Conv2d(o.kernel, tensor.Groups(0)).Err() }, ""},
	{"conv transpose output padding", func(o *operands) error {
		return o.image.ConvTranspose2d(tensor.Zeros([]int{2, 3, 3, 3}), tensor.OutputPadding(2)).Err()
	}, ""},
	{"max pool kernel", func(o *operands) error { return o.image.MaxPool2d([]int{7}).Err() }, ""},
	{"max pool zero kernel", func(o *operands) error { return o.image.MaxPool2d([]int{0}).Err() }, ""},
	{"max pool no kernel", func(o *operands) error { return o.image.MaxPool2d(nil).Err() }, ""},
	{"max pool padding", func(o *operands) error { return o.image.MaxPool2d([]int{2}, tensor.Padding(2)).Err() }, ""},
	{"avg pool rank", func(o *operands) error { return o.vec.AvgPool2d([]int{2}).Err() }, ""},
	{"adaptive pool", func(o *operands) error { return o.image.AdaptiveAvgPool2d(-1, 3).Err() }, ""},
	{"adaptive pool without sizes", func(o *operands) error { return o.image.AdaptiveAvgPool2d().Err() }, ""},
	{"conv2d without dilation", func(o *operands) error { return o.image.Conv2d(o.kernel, tensor.Dilation()).Err() }, ""},
	{"conv transpose without stride", func(o *operands) error { return o.image.ConvTranspose2d(o.kernel, tensor.Stride()).Err() }, ""},
	{"pool without padding", func(o *operands) error { return o.image.AvgPool2d([]int{2}, tensor.Padding()).Err() }, ""},
	{"normalize without axes", func(o *operands) error { return o.mat.Normalize([]int{5}).Err() }, ""},
	{"sizes of a split", func(o *operands) error { return tensor.SplitSizes(o.mat, nil, 0)[0].Err() }, ""},
	{"layer norm shape", func(o *operands) error { return o.mat.LayerNorm([]int{4}).Err() }, ""},
	{"layer norm weight", func(o *operands) error { return o.mat.LayerNorm([]int{3}, tensor.Weight(tensor.Ones([]int{2}))).Err() }, ""},
	{"group norm", func(o *operands) error { return o.cube.GroupNorm(2).Err() }, ""},
	{"group norm of nothing", func(o *operands) error { return o.cube.GroupNorm(0).Err() }, ""},
	{"batch norm", func(o *operands) error { return o.mat.BatchNorm(tensor.Zeros([]int{2}), tensor.Ones([]int{3})).Err() }, ""},
	{"rms norm", func(o *operands) error { return o.mat.RmsNorm(nil).Err() }, ""},
	{"mse", func(o *operands) error { return o.mat.MseLoss(o.tall).Err() }, ""},
	{"cross entropy batch", func(o *operands) error { return o.mat.CrossEntropy(o.index).Err() }, ""},
	{"cross entropy weight", func(o *operands) error { return o.square.CrossEntropy(o.index, tensor.Weight(o.mat)).Err() }, ""},
	{"diagonal of a vector", func(o *operands) error { return o.vec.Diagonal().Err() }, ""},
	{"trace of a cube", func(o *operands) error { return o.cube.Trace().Err() }, ""},
	{"tril of a vector", func(o *operands) error { return o.vec.Tril(0).Err() }, ""},
	{"glu", func(o *operands) error { return o.mat.Glu(1).Err() }, ""},
	{"masked select", func(o *operands) error { return o.tall.MaskedSelect(o.mask).Err() }, ""},
	{"item of many", func(o *operands) error { _, err := o.mat.Item(); return err }, ""},
	{"item of none", func(o *operands) error { _, err := o.empty.Item(); return err }, ""},
	{"max of none", func(o *operands) error { return o.empty.Max().Err() }, ""},
	{"argmax of none", func(o *operands) error { return o.empty.Argmax(tensor.Dim(0)).Err() }, ""},
	{"from count", func(o *operands) error { return tensor.From([]float32{1, 2, 3}, 2, 2).Err() }, ""},
	{"from bytes", func(o *operands) error { return tensor.FromBytes(make([]byte, 7), tensor.Float32, []int{2}).Err() }, ""},
	{"pad odd", func(o *operands) error { return o.mat.Pad([]int{1}).Err() }, ""},
	{"pad too much", func(o *operands) error { return o.image.Pad([]int{5, 0}, tensor.ModeReflect).Err() }, ""},
	{"pad odd reflection", func(o *operands) error { return o.image.Pad([]int{1}, tensor.ModeReflect).Err() }, ""},
	{"pad many reflections", func(o *operands) error { return o.image.Pad(make([]int, 8), tensor.ModeReplicate).Err() }, ""},
	{"pad around a scalar", func(o *operands) error { return o.scalar.Pad([]int{1, 1}, tensor.ModeCircular).Err() }, ""},
	{"pad away", func(o *operands) error { return o.mat.Pad([]int{-4, 0}).Err() }, ""},
	{"tile negative", func(o *operands) error { return o.mat.Tile(-1).Err() }, ""},
	{"repeat fewer", func(o *operands) error { return o.mat.Repeat(2).Err() }, ""},
	{"outer of a matrix", func(o *operands) error { return o.mat.Outer(o.vec).Err() }, ""},
	{"searchsorted", func(o *operands) error { return o.mat.Searchsorted(o.cube).Err() }, ""},
}

var wrongAxes = []wrongCall{
	{"sum", func(o *operands) error { return o.mat.Sum(tensor.Dim(2)).Err() }, ""},
	{"sum below", func(o *operands) error { return o.mat.Sum(tensor.Dim(-3)).Err() }, ""},
	{"sum twice", func(o *operands) error { return o.mat.Sum(tensor.Dim(0, -2)).Err() }, ""},
	{"softmax", func(o *operands) error { return o.mat.Softmax(2).Err() }, ""},
	{"cumsum", func(o *operands) error { return o.mat.Cumsum(5).Err() }, ""},
	{"argmax of two", func(o *operands) error { return o.mat.Argmax(tensor.Dim(0, 1)).Err() }, ""},
	{"transpose", func(o *operands) error { return o.mat.Transpose(0, 2).Err() }, ""},
	{"permute count", func(o *operands) error { return o.mat.Permute(0).Err() }, ""},
	{"permute twice", func(o *operands) error { return o.mat.Permute(0, 0).Err() }, ""},
	{"squeeze", func(o *operands) error { return o.mat.Squeeze(3).Err() }, ""},
	{"unsqueeze", func(o *operands) error { return o.mat.Unsqueeze(4).Err() }, ""},
	{"cat", func(o *operands) error { return tensor.Cat([]T{o.mat, o.mat}, 2).Err() }, ""},
	{"stack", func(o *operands) error { return tensor.Stack([]T{o.mat, o.mat}, 3).Err() }, ""},
	{"flip", func(o *operands) error { return o.mat.Flip(0, 0).Err() }, ""},
	{"roll", func(o *operands) error { return o.mat.Roll([]int{1, 1}, tensor.Dim(0)).Err() }, ""},
	{"movedim", func(o *operands) error { return o.mat.Movedim([]int{0, 1}, 0).Err() }, ""},
	{"narrow", func(o *operands) error { return o.mat.Narrow(2, 0, 1).Err() }, ""},
	{"select", func(o *operands) error { return o.mat.Select(2, 0).Err() }, ""},
	{"select of a scalar", func(o *operands) error { return o.scalar.Select(0, 0).Err() }, ""},
	{"gather", func(o *operands) error { return o.vec.Gather(1, o.index).Err() }, ""},
	{"sort", func(o *operands) error { v, _ := o.mat.Sort(2); return v.Err() }, ""},
	{"sort positions", func(o *operands) error { _, i := o.mat.Sort(2); return i.Err() }, ""},
	{"unflatten", func(o *operands) error { return o.mat.Unflatten(1, 2, 2).Err() }, ""},
	{"flatten", func(o *operands) error { return o.cube.Flatten(tensor.Start(2), tensor.End(1)).Err() }, ""},
	{"diagonal", func(o *operands) error { return o.mat.Diagonal(tensor.Dim0(1), tensor.Dim1(1)).Err() }, ""},
	{"unfold", func(o *operands) error { return o.mat.Unfold(1, 4, 1).Err() }, ""},
	{"logsumexp", func(o *operands) error { return o.mat.Logsumexp([]int{7}).Err() }, ""},
	{"var", func(o *operands) error { return o.mat.Var(tensor.Dim(-4)).Err() }, ""},
	{"unbind", func(o *operands) error { return tensor.Unbind(o.mat, 2)[0].Err() }, ""},
}

var wrongIndices = []wrongCall{
	{"narrow past the end", func(o *operands) error { return o.mat.Narrow(1, 2, 2).Err() }, ""},
	{"narrow negative", func(o *operands) error { return o.mat.Narrow(1, 0, -1).Err() }, ""},
	{"slice step", func(o *operands) error { return o.mat.Slice(1, 0, 3, 0).Err() }, ""},
	{"select past the end", func(o *operands) error { return o.mat.Select(0, 2).Err() }, ""},
	{"select before the start", func(o *operands) error { return o.mat.Select(0, -3).Err() }, ""},
	{"index select", func(o *operands) error { return o.mat.IndexSelect(0, tensor.From([]int64{0, 2})).Err() }, ""},
	{"index select negative", func(o *operands) error { return o.mat.IndexSelect(0, tensor.From([]int64{-3})).Err() }, ""},
	{"index select rank", func(o *operands) error { return o.mat.IndexSelect(0, tensor.From([]int64{0, 1}, 1, 2)).Err() }, ""},
	{"index select dtype", func(o *operands) error { return o.mat.IndexSelect(0, o.vec).Err() }, ""},
	{"gather past the end", func(o *operands) error { return o.mat.Gather(1, tensor.From([]int64{3, 0}, 2, 1)).Err() }, ""},
	{"gather rank", func(o *operands) error { return o.mat.Gather(1, o.index).Err() }, ""},
	{"gather size", func(o *operands) error { return o.mat.Gather(1, tensor.From([]int64{0, 0, 0}, 3, 1)).Err() }, ""},
	{"scatter past the end", func(o *operands) error { return o.vec.ScatterScalar(0, tensor.From([]int64{3}), 1).Err() }, ""},
	{"scatter add past the end", func(o *operands) error {
		return o.vec.ScatterAdd(0, tensor.From([]int64{5}), tensor.From([]float32{1})).Err()
	}, ""},
	{"scatter source", func(o *operands) error { return o.vec.Scatter(0, o.index, tensor.From([]float32{1})).Err() }, ""},
	{"index add past the end", func(o *operands) error {
		return o.vec.IndexAdd(0, tensor.From([]int64{9}), tensor.From([]float32{1})).Err()
	}, ""},
	{"index add count", func(o *operands) error { return o.vec.IndexAdd(0, o.index, tensor.From([]float32{1})).Err() }, ""},
	{"index fill past the end", func(o *operands) error { return o.vec.IndexFill(0, tensor.From([]int64{7}), 1).Err() }, ""},
	{"take past the end", func(o *operands) error { return o.vec.Take(tensor.From([]int64{3})).Err() }, ""},
	{"embedding past the end", func(o *operands) error { return tensor.Embedding(tensor.From([]int64{2}), o.mat).Err() }, ""},
	{"one hot", func(o *operands) error { return o.index.OneHot(2).Err() }, ""},
	{"cross entropy class", func(o *operands) error { return o.square.CrossEntropy(tensor.From([]int64{0, 3, 1})).Err() }, ""},
	{"nll class", func(o *operands) error { return o.square.NllLoss(tensor.From([]int64{0, -1, 1})).Err() }, ""},
	{"topk too many", func(o *operands) error { v, _ := o.mat.Topk(4, 1); return v.Err() }, ""},
	{"topk negative", func(o *operands) error { v, _ := o.mat.Topk(-1, 1); return v.Err() }, ""},
	{"kthvalue", func(o *operands) error { v, _ := o.mat.Kthvalue(0, 1); return v.Err() }, ""},
	{"split", func(o *operands) error { return tensor.Split(o.mat, 0, 0)[0].Err() }, ""},
	{"split sizes", func(o *operands) error { return tensor.SplitSizes(o.mat, []int{1, 2}, 0)[0].Err() }, ""},
	{"chunk", func(o *operands) error { return tensor.Chunk(o.mat, 0, 0)[0].Err() }, ""},
	{"as strided outside", func(o *operands) error { return o.mat.AsStrided([]int{3, 3}, []int{3, 1}).Err() }, ""},
	{"as strided offset", func(o *operands) error { return o.mat.AsStrided([]int{1}, []int{1}, tensor.Offset(6)).Err() }, ""},
	{"as strided negative", func(o *operands) error { return o.mat.AsStrided([]int{2}, []int{-1}).Err() }, ""},
	{"as strided lengths", func(o *operands) error { return o.mat.AsStrided([]int{2, 2}, []int{1}).Err() }, ""},
	{"multinomial", func(o *operands) error { return o.vec.Multinomial(4).Err() }, ""},
	{"randint", func(o *operands) error { return tensor.Randint([]int{2}, 3, 3).Err() }, ""},
	{"index select far", func(o *operands) error {
		return o.far.IndexSelect(0, tensor.From([]int64{0, 2}).To(device.Sim(0))).Err()
	}, ""},
}

var wrongDTypes = []wrongCall{
	{"sub of bools", func(o *operands) error { return o.mask.Sub(o.mask).Err() }, ""},
	{"neg of bools", func(o *operands) error { return o.mask.Neg().Err() }, ""},
	{"relu of complex", func(o *operands) error { return o.cplx.Relu().Err() }, ""},
	{"gelu of integers", func(o *operands) error { return o.count.Gelu().Err() }, ""},
	{"softmax of integers", func(o *operands) error { return o.count.Softmax(1).Err() }, ""},
	{"matmul of two dtypes", func(o *operands) error { return o.mat.MatMul(o.tall.ToType(tensor.Float64)).Err() }, ""},
	{"matmul of bools", func(o *operands) error { return o.mask.MatMul(o.mask.T()).Err() }, ""},
	{"less of complex", func(o *operands) error { return o.cplx.Lt(o.cplx).Err() }, ""},
	{"where condition", func(o *operands) error { return tensor.Where(o.mat, o.mat, o.mat).Err() }, ""},
	{"shift of floats", func(o *operands) error { return o.mat.BitwiseLeftShiftScalar(1).Err() }, ""},
	{"sort of complex", func(o *operands) error { v, _ := o.cplx.Sort(0); return v.Err() }, ""},
	{"argmax of bools", func(o *operands) error { return o.mask.Argmax().Err() }, ""},
	{"cross entropy target", func(o *operands) error { return o.square.CrossEntropy(o.index.ToType(tensor.Int32)).Err() }, ""},
	{"cross entropy logits", func(o *operands) error { return o.count.CrossEntropy(tensor.From([]int64{0, 1})).Err() }, ""},
	{"embedding index", func(o *operands) error { return tensor.Embedding(o.vec, o.mat).Err() }, ""},
	{"conv2d dtypes", func(o *operands) error { return o.image.Conv2d(o.kernel.ToType(tensor.Float64)).Err() }, ""},
	{"dropout of integers", func(o *operands) error { return o.count.Dropout(0.5).Err() }, ""},
	{"data type", func(o *operands) error { _, err := tensor.Data[float64](o.mat); return err }, ""},
	{"data of bools", func(o *operands) error { _, err := tensor.Data[uint8](o.mask); return err }, ""},
	{"gradients of integers", func(o *operands) error { return o.count.RequireGrad().Err() }, ""},
	{"new with gradients", func(o *operands) error {
		return tensor.Zeros([]int{2}, tensor.OfType(tensor.Int64), tensor.RequireGrad()).Err()
	}, ""},
	{"random integers as floats", func(o *operands) error { return tensor.Randn([]int{2}, tensor.OfType(tensor.Int64)).Err() }, ""},
	{"invalid dtype", func(o *operands) error { return tensor.Zeros([]int{2}, tensor.OfType(tensor.DType(99))).Err() }, ""},
	{"convert to an invalid dtype", func(o *operands) error { return o.mat.ToType(tensor.DType(200)).Err() }, ""},
	{"bytes of an invalid dtype", func(o *operands) error { return tensor.FromBytes(nil, tensor.DType(99), []int{0}).Err() }, ""},
	{"scalar string", func(o *operands) error { return o.mat.AddScalar("1").Err() }, ""},
	{"scalar nil", func(o *operands) error { return o.mat.MulScalar(nil).Err() }, ""},
	{"scalar tensor", func(o *operands) error { return o.mat.AddScalar(o.scalar).Err() }, ""},
	{"scalar uint64", func(o *operands) error { return o.mat.AddScalar(uint64(1)).Err() }, ""},
	{"full of a slice", func(o *operands) error { return tensor.Full([]int{2}, []float64{1}).Err() }, ""},
	{"from scalar", func(o *operands) error { return tensor.FromScalar(struct{}{}).Err() }, ""},
	{"alpha", func(o *operands) error { return o.mat.Elu(tensor.Alpha("a")).Err() }, ""},
	{"in place to integers", func(o *operands) error { return o.count.AddScalarInPlace(1.5) }, ""},
	{"in place to bool", func(o *operands) error { return o.mask.AddScalarInPlace(1) }, ""},
	{"in place to real", func(o *operands) error { return o.mat.MulScalarInPlace(1i) }, ""},
}

var wrongDevices = []wrongCall{
	{"host and accelerator", func(o *operands) error { return o.mat.Add(o.far).Err() }, ""},
	{"two accelerators", func(o *operands) error { return o.far.Mul(o.other).Err() }, ""},
	{"scalar of an accelerator", func(o *operands) error { return o.mat.Add(o.far.Sum()).Err() }, ""},
	{"matmul with a host scalar", func(o *operands) error { return o.far.MatMul(o.tall).Err() }, ""},
	{"cat", func(o *operands) error { return tensor.Cat([]T{o.far, o.other}, 0).Err() }, ""},
	{"where", func(o *operands) error { return tensor.Where(o.mask, o.far, o.far).Err() }, ""},
	{"index", func(o *operands) error { return o.far.IndexSelect(0, o.index).Err() }, ""},
	{"cross entropy", func(o *operands) error { return o.far.CrossEntropy(tensor.From([]int64{0, 1})).Err() }, ""},
	{"linear bias", func(o *operands) error { return o.far.Linear(o.square.To(device.Sim(0)), tensor.Bias(o.vec)).Err() }, ""},
	{"no such device", func(o *operands) error { return o.mat.To(device.Sim(2)).Err() }, ""},
	{"no such kind", func(o *operands) error { return o.mat.To(device.Device{Kind: 77}).Err() }, ""},
	{"new on no device", func(o *operands) error { return tensor.Zeros([]int{2}, tensor.On(device.Sim(9))).Err() }, ""},
	{"random on no device", func(o *operands) error { return tensor.Randn([]int{2}, tensor.On(device.Sim(-7))).Err() }, ""},
	{"pin an accelerator's", func(o *operands) error { return o.far.PinMemory().Err() }, ""},
	{"in place", func(o *operands) error { return o.far.AddInPlace(o.other) }, ""},
	{"out", func(o *operands) error { return tensor.ExpOut(o.other, o.far) }, ""},
	{"no memory", func(o *operands) error { return tensor.Zeros([]int{1 << 28}, tensor.On(device.Sim(0))).Err() }, ""},
}

var wrongWrites = []wrongCall{
	{"shape", func(o *operands) error { return o.row.AddInPlace(o.mat) }, ""},
	{"leaf", func(o *operands) error { return o.leaf.AddScalarInPlace(1) }, ""},
	{"leaf copy", func(o *operands) error { return o.leaf.CopyFrom(o.mat) }, ""},
	{"view", func(o *operands) error { return o.view.MulScalarInPlace(2) }, ""},
	{"leaf by way of a detached view's base", func(o *operands) error { return o.leaf.Narrow(0, 0, 1).ExpInPlace() }, ""},
	{"expanded", func(o *operands) error { return o.row.Expand(2, 3).AddScalarInPlace(1) }, ""},
	{"overlapping halves", func(o *operands) error { return o.vec.Narrow(0, 0, 2).AddInPlace(o.vec.Narrow(0, 1, 2)) }, ""},
	{"own transpose", func(o *operands) error { return o.square.AddInPlace(o.square.T()) }, ""},
	{"out shape", func(o *operands) error { return tensor.AddOut(o.tall, o.mat, o.mat) }, ""},
	{"out dtype", func(o *operands) error { return tensor.DivOut(o.count, o.mat, o.mat) }, ""},
	{"out overlap", func(o *operands) error { return tensor.AddOut(o.square.T(), o.square, o.square) }, ""},
	{"out of a reduction over itself", func(o *operands) error { return tensor.SumOut(o.square.Select(0, 0), o.square, tensor.Dim(0)) }, ""},
	{"out of a product over itself", func(o *operands) error { return tensor.MatMulOut(o.square, o.square, o.square) }, ""},
	{"out of a kernel, dtype", func(o *operands) error {
		return tensor.MatMulOut(tensor.Zeros([]int{2, 2}, tensor.OfType(tensor.Float64)), o.mat, o.tall)
	}, ""},
	{"out of a kernel, shape", func(o *operands) error { return tensor.MatMulOut(o.mat, o.mat, o.tall) }, ""},
	{"out with gradients", func(o *operands) error { return tensor.ExpOut(o.mat, o.leaf) }, ""},
	{"out to a leaf", func(o *operands) error { return tensor.ExpOut(o.leaf, o.mat) }, ""},
	{"out expanded", func(o *operands) error { return tensor.ExpOut(o.row.Expand(2, 3), o.mat) }, ""},
	{"out to nothing", func(o *operands) error { return tensor.ExpOut(T{}, o.mat) }, ""},
	{"copy shape", func(o *operands) error { return o.vec.CopyFrom(o.mat) }, ""},
	{"copy to bool", func(o *operands) error { return o.row.CopyFrom(o.cube) }, ""},
	{"softmax out over itself", func(o *operands) error { return tensor.SoftmaxOut(o.mat, o.mat, 1) }, ""},
	{"composition out shape", func(o *operands) error { return tensor.LinearOut(o.vec, o.mat, o.square) }, ""},
	{"composition out dtype", func(o *operands) error {
		return tensor.MseLossOut(tensor.Zeros([]int{}, tensor.OfType(tensor.Int64)), o.mat, o.mat)
	}, ""},
}

var wrongGradients = []wrongCall{
	{"backward of many", func(o *operands) error { return o.made.Backward() }, ""},
	{"backward without a graph", func(o *operands) error { return o.mat.Sum().Backward() }, ""},
	{"backward of a detached tensor", func(o *operands) error { return o.made.Detach().Sum().Backward() }, ""},
	{"backward twice", func(o *operands) error {
		y := o.made.Exp().Sum()
		_ = y.Backward()
		_ = o.leaf.ZeroGrad()
		return y.Backward()
	}, ""},
	{"gradient shape", func(o *operands) error { return o.made.Backward(tensor.WithGradient(o.tall)) }, ""},
	{"gradient dtype", func(o *operands) error { return o.made.Backward(tensor.WithGradient(o.double)) }, ""},
	{"gradient device", func(o *operands) error { return o.made.Backward(tensor.WithGradient(o.far)) }, ""},
	{"gradient zero", func(o *operands) error { return o.made.Backward(tensor.WithGradient(T{})) }, ""},
	{"gradient count", func(o *operands) error { return o.made.Backward(tensor.WithGradient(o.mat, o.mat)) }, ""},
	{"gradients without inputs' part", func(o *operands) error { _, err := tensor.Gradients([]T{o.made.Sum()}, []T{o.mat}); return err }, ""},
	{"gradients of nothing", func(o *operands) error { _, err := tensor.Gradients(nil, []T{o.leaf}); return err }, ""},
	{"gradients of many", func(o *operands) error { _, err := tensor.Gradients([]T{o.made}, []T{o.leaf}); return err }, ""},
	{"gradients of a failure", func(o *operands) error { _, err := tensor.Gradients([]T{o.mat.Add(o.tall)}, []T{o.leaf}); return err }, ""},
	{"gradients to a zero tensor", func(o *operands) error { _, err := tensor.Gradients([]T{o.made.Sum()}, []T{{}}); return err }, ""},
	{"set gradient shape", func(o *operands) error { return o.leaf.SetGrad(o.tall) }, ""},
	{"set gradient of a constant", func(o *operands) error { return o.mat.SetGrad(o.mat) }, ""},
	{"retain of a constant", func(o *operands) error { return o.mat.RetainGrad() }, ""},
	{"hook on a constant", func(o *operands) error { _, err := o.mat.RegisterHook(func(g T) T { return g }); return err }, ""},
	{"hook result", func(o *operands) error {
		_, _ = o.made.RegisterHook(func(T) T { return o.tall })
		return o.made.Sum().Backward()
	}, ""},
	{"hook failure", func(o *operands) error {
		_, _ = o.made.RegisterHook(func(T) T { return o.mat.Add(o.tall) })
		return o.made.Sum().Backward()
	}, ""},
	{"saved value changed", func(o *operands) error {
		x := o.leaf.MulScalar(1)
		y := x.Square().Sum()
		tensor.NoGrad(func() { _ = x.AddScalarInPlace(1) })
		return y.Backward()
	}, ""},
	{"saved result changed", func(o *operands) error {
		y := o.leaf.Sigmoid()
		tensor.NoGrad(func() { _ = y.Detach().AddScalarInPlace(1) })
		return y.Sum().Backward()
	}, ""},
	{"view of a changed base", func(o *operands) error {
		x := o.leaf.MulScalar(1)
		v := x.Narrow(0, 0, 1)
		_ = x.ExpInPlace()
		return v.Square().Err()
	}, ""},
	{"gradient of an error", func(o *operands) error { return o.made.Backward(tensor.WithGradient(o.mat.Add(o.tall))) }, ""},
	{"backward on an accelerator, many", func(o *operands) error { return o.farLeaf.Exp().Backward() }, ""},
	{"saved value changed on an accelerator", func(o *operands) error {
		x := o.farLeaf.MulScalar(1)
		y := x.Square().Sum()
		tensor.NoGrad(func() { _ = x.AddScalarInPlace(1) })
		return y.Backward()
	}, ""},
	{"stop requiring", func(o *operands) error { return o.made.SetRequireGrad(false) }, ""},
}

var wrongHandles = []wrongCall{
	{"zero operand", func(o *operands) error { return o.mat.Add(T{}).Err() }, ""},
	{"zero receiver", func(o *operands) error { return T{}.Exp().Err() }, ""},
	{"zero itself", func(o *operands) error { return T{}.Err() }, ""},
	{"zero backward", func(o *operands) error { return T{}.Backward() }, ""},
	{"zero item", func(o *operands) error { _, err := T{}.Item(); return err }, ""},
	{"zero data", func(o *operands) error { _, err := tensor.Data[float32](T{}); return err }, ""},
	{"zero in place", func(o *operands) error { return T{}.AddScalarInPlace(1) }, ""},
	{"zero in a list", func(o *operands) error { return tensor.Cat([]T{o.mat, {}}, 0).Err() }, ""},
	{"zero to a device", func(o *operands) error { return T{}.To(device.Sim(0)).Err() }, ""},
	{"zero detach", func(o *operands) error { return T{}.Detach().Err() }, ""},
	{"zero requires gradients", func(o *operands) error { return T{}.RequireGrad().Err() }, ""},
	{"zero set gradient", func(o *operands) error { return o.leaf.SetGrad(T{}) }, ""},
	{"zero copy", func(o *operands) error { return o.mat.CopyFrom(T{}) }, ""},
	{"zero pinned", func(o *operands) error { return T{}.PinMemory().Err() }, ""},
	{"zero weight", func(o *operands) error { return o.square.CrossEntropy(o.index, tensor.Weight(T{})).Err() }, ""},
	{"zero like", func(o *operands) error { return tensor.ZerosLike(T{}).Err() }, ""},
	{"zero new", func(o *operands) error { return T{}.NewFull([]int{2}, 1).Err() }, ""},
	{"zero split", func(o *operands) error { return tensor.Split(T{}, 1, 0)[0].Err() }, ""},
	{"released operand", func(o *operands) error { return o.vec.Add(o.gone).Err() }, ""},
	{"released receiver", func(o *operands) error { return o.gone.Sum().Err() }, ""},
	{"released item", func(o *operands) error { _, err := o.gone.Item(); return err }, ""},
	{"released in place", func(o *operands) error { return o.gone.ExpInPlace() }, ""},
	{"released view", func(o *operands) error { return o.gone.View(2, 1).Err() }, ""},
}

var wrongArguments = []wrongCall{
	{"zeros negative", func(o *operands) error { return tensor.Zeros([]int{2, -1}).Err() }, ""},
	{"zeros huge", func(o *operands) error { return tensor.Zeros([]int{1 << 40, 1 << 40}).Err() }, ""},
	{"zeros huge bytes", func(o *operands) error { return tensor.Zeros([]int{math.MaxInt}).Err() }, ""},
	{"ones more than memory", func(o *operands) error { return tensor.Ones([]int{1 << 50}).Err() }, ""},
	{"expand huge", func(o *operands) error { return o.row.Expand(1<<40, 3).Exp().Err() }, ""},
	{"huge expand of a huge", func(o *operands) error { return o.row.Expand(math.MaxInt, 3).Err() }, ""},
	{"huge broadcast", func(o *operands) error { return o.vec.Expand(1<<45, 3).Add(o.vec).Err() }, ""},
	{"arange step", func(o *operands) error { return tensor.Arange(0, 10, 0).Err() }, ""},
	{"arange direction", func(o *operands) error { return tensor.Arange(10, 0, 1).Err() }, ""},
	{"arange nan", func(o *operands) error { return tensor.Arange(0, math.NaN(), 1).Err() }, ""},
	{"arange infinite", func(o *operands) error { return tensor.Arange(0, math.Inf(1), 1).Err() }, ""},
	{"arange many", func(o *operands) error { return tensor.Arange(0, 1e300, 1e-300).Err() }, ""},
	{"arange complex", func(o *operands) error { return tensor.Arange(0, 3i, 1).Err() }, ""},
	{"linspace", func(o *operands) error { return tensor.Linspace(0, 1, -1).Err() }, ""},
	{"eye", func(o *operands) error { return tensor.Eye(-1, 2).Err() }, ""},
	{"randperm", func(o *operands) error { return tensor.Randperm(-1).Err() }, ""},
	{"dropout", func(o *operands) error { return o.mat.Dropout(1.5).Err() }, ""},
	{"dropout nan", func(o *operands) error { return o.mat.Dropout(math.NaN()).Err() }, ""},
	{"label smoothing", func(o *operands) error { return o.square.CrossEntropy(o.index, tensor.LabelSmoothing(2)).Err() }, ""},
	{"label smoothing nan", func(o *operands) error {
		return o.square.CrossEntropy(o.index, tensor.LabelSmoothing(math.NaN())).Err()
	}, ""},
	{"approximate", func(o *operands) error { return o.mat.Gelu(tensor.Approximate(9)).Err() }, ""},
	{"reduction", func(o *operands) error { return o.mat.MseLoss(o.mat, tensor.Reduction(7)).Err() }, ""},
	{"mode", func(o *operands) error { return o.mat.Pad([]int{1, 1}, tensor.Mode(200)).Err() }, ""},
	{"repeat interleave", func(o *operands) error { return o.mat.RepeatInterleave(-1, 0).Err() }, ""},
	{"repeat huge", func(o *operands) error { return o.mat.Repeat(1<<40, 1<<40).Err() }, ""},
	{"tile huge", func(o *operands) error { return o.mat.Tile(math.MaxInt).Err() }, ""},
	{"pad huge", func(o *operands) error { return o.mat.Pad([]int{math.MaxInt, math.MaxInt}).Err() }, ""},
	{"conv padding huge", func(o *operands) error { return o.image.Conv2d(o.kernel, tensor.Padding(math.MaxInt)).Err() }, ""},
	{"conv dilation huge", func(o *operands) error { return o.image.Conv2d(o.kernel, tensor.Dilation(math.MaxInt)).Err() }, ""},
	{"pool stride huge", func(o *operands) error {
		return o.image.MaxPool2d([]int{math.MaxInt}, tensor.Stride(math.MaxInt)).Err()
	}, ""},
	{"narrow huge", func(o *operands) error { return o.mat.Narrow(0, math.MaxInt, math.MaxInt).Err() }, ""},
	{"slice huge step", func(o *operands) error { return o.mat.Slice(0, math.MinInt, math.MaxInt, math.MinInt).Err() }, ""},
	{"select lowest", func(o *operands) error { return o.mat.Select(math.MinInt, math.MinInt).Err() }, ""},
	{"unfold huge", func(o *operands) error { return o.mat.Unfold(0, math.MaxInt, math.MaxInt).Err() }, ""},
	{"as strided huge", func(o *operands) error {
		return o.mat.AsStrided([]int{1 << 40, 1 << 40}, []int{1 << 40, 1 << 40}).Err()
	}, ""},
	{"as strided wraps", func(o *operands) error { return o.mat.AsStrided([]int{3}, []int{1 << 62}).Err() }, ""},
	{"tril offset", func(o *operands) error { return o.vec.Tril(math.MinInt).Err() }, ""},
	{"diagonal offset", func(o *operands) error { return o.vec.DiagEmbed(tensor.Offset(math.MaxInt)).Err() }, ""},
	{"one hot huge", func(o *operands) error { return o.index.OneHot(math.MaxInt).Err() }, ""},
	{"adaptive pool huge", func(o *operands) error { return o.image.AdaptiveAvgPool2d(math.MaxInt).Err() }, ""},
	{"cat huge", func(o *operands) error {
		return tensor.Cat([]T{o.row.Expand(1<<61, 3), o.row.Expand(1<<61, 3)}, 0).Err()
	}, ""},
	{"kron huge", func(o *operands) error { return tensor.Kron(o.row.Expand(1<<40, 3), o.row.Expand(1<<40, 3)).Err() }, ""},
	{"topk huge", func(o *operands) error { v, _ := o.mat.Topk(math.MaxInt, 1); return v.Err() }, ""},
	{"chunk huge", func(o *operands) error { return tensor.Chunk(o.mat, -5, 0)[0].Err() }, ""},
	{"split huge", func(o *operands) error {
		return tensor.SplitSizes(o.mat, []int{math.MaxInt, math.MaxInt, 4}, 0)[0].Err()
	}, ""},
}

// wrongSetups are calls whose errors are returned at once and name no line.
var wrongSetups = []wrongCall{
	{"guard", func(o *operands) error { return device.With(device.Sim(5), func() {}) }, ""},
	{"parse", func(o *operands) error { _, err := device.Parse("cuda0"); return err }, ""},
	{"model to no device", func(o *operands) error { return nn.To(nn.NewLinear(2, 2), device.Sim(3)) }, ""},
	{"missing name", func(o *operands) error { return nn.LoadStateDict(nn.NewLinear(3, 2), map[string]T{"weight": o.mat}) }, ""},
	{"unknown name", func(o *operands) error {
		return nn.LoadStateDict(nn.NewLinear(3, 2, nn.NoBias()), map[string]T{"weight": o.mat, "bios": o.vec})
	}, ""},
	{"wrong shape", func(o *operands) error {
		return nn.LoadStateDict(nn.NewLinear(3, 2, nn.NoBias()), map[string]T{"weight": o.tall})
	}, ""},
	{"wrong dtype", func(o *operands) error {
		return nn.LoadStateDict(nn.NewLinear(3, 2, nn.NoBias()), map[string]T{"weight": o.double})
	}, ""},
	{"failed value", func(o *operands) error {
		return nn.LoadStateDict(nn.NewLinear(3, 2, nn.NoBias()), map[string]T{"weight": o.failed})
	}, ""},
	{"wrong input", func(o *operands) error { return nn.NewLinear(4, 2).Forward(o.mat).Err() }, ""},
	{"negative layer", func(o *operands) error { return nn.NewLinear(-4, 2).Forward(o.mat).Err() }, ""},
	{"optimizer of nothing", func(o *operands) error { _, err := optim.NewSGD(nil, 0.1, optim.SGDOptions{}); return err }, ""},
	{"learning rate", func(o *operands) error {
		_, err := optim.NewAdam(nn.Parameters(nn.NewLinear(3, 2)), -1, optim.AdamOptions{})
		return err
	}, ""},
	{"learning rate nan", func(o *operands) error {
		_, err := optim.NewSGD(nn.Parameters(nn.NewLinear(3, 2)), math.NaN(), optim.SGDOptions{})
		return err
	}, ""},
	{"optimizer state", func(o *operands) error { return adamOf(nn.NewLinear(3, 2)).SetState(map[string]T{"bogus": o.mat}) }, ""},
	{"dataset lengths", func(o *operands) error { _, err := data.Tensors(o.mat, o.tall); return err }, ""},
	{"loader batch", func(o *operands) error {
		return firstError((&data.Loader{Dataset: datasetOf(o.mat), BatchSize: -1}).Epoch(context.Background()))
	}, ""},
}

// carriedFailures are correct calls on a tensor that carries an error.
var carriedFailures = []wrongCall{
	{"failed operand", func(o *operands) error { return o.failed.Sum().Err() }, ""},
	{"failed backward", func(o *operands) error { return o.failed.Backward() }, ""},
	{"failed out", func(o *operands) error { return tensor.ExpOut(o.vec, o.failed) }, ""},
	{"failed in place", func(o *operands) error { return o.vec.AddInPlace(o.failed) }, ""},
}
