package behaviour_test

import (
	"context"
	"math"

	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/generated/ops"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/generated/tensor/out"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
)

var wrongShapes = []wrongCall{
	{"add", func(o *operands) error { return o.mat.Add(o.tall).Err() }, "add:|cannot broadcast shapes [[2 3] [3 2]]: extents 2 and 3 at axis 0"},
	{"add through a chain", func(o *operands) error { return o.mat.Add(o.tall).Exp().Sum().MulScalar(2).Err() }, "add:|cannot broadcast shapes [[2 3] [3 2]]: extents 2 and 3 at axis 0"},
	{"where", func(o *operands) error { return tensor.Where(o.mask, o.tall, o.mat).Err() }, "where:|cannot broadcast shapes [[2 3] [3 2] [2 3]]: extents 2 and 3 at axis 0"},
	{"addcmul", func(o *operands) error { return o.mat.Addcmul(o.vec, o.tall).Err() }, "addcmul:|cannot broadcast shapes [[2 3] [3] [3 2]]: extents 2 and 3 at axis 0"},
	{"matmul", func(o *operands) error { return o.mat.MatMul(o.mat).Err() }, "matmul:|cannot multiply shapes [2 3] and [2 3]: inner dimensions 3 and 2 differ"},
	{"matmul of a scalar", func(o *operands) error { return o.mat.MatMul(o.scalar).Err() }, "matmul:|a matrix product needs tensors of at least one axis, have shapes [2 3] and"},
	{"matmul batches", func(o *operands) error { return o.cube.MatMul(tensor.Zeros([]int{3, 4, 2})).Err() }, "matmul:|cannot broadcast shapes [[2] [3]]: extents 2 and 3 at axis 0"},
	{"mm of a vector", func(o *operands) error { return o.mat.MM(o.vec).Err() }, "mm:|want a tensor of rank 2, have shape [3]"},
	{"bmm of matrices", func(o *operands) error { return o.mat.BMM(o.tall).Err() }, "bmm:|want a tensor of rank 3, have shape [2 3]"},
	{"dot of matrices", func(o *operands) error { return o.mat.Dot(o.mat).Err() }, "dot:|want a tensor of rank 1, have shape [2 3]"},
	{"dot of lengths", func(o *operands) error { return o.vec.Dot(tensor.Zeros([]int{4})).Err() }, "dot:|cannot multiply shapes [3] and [4]: inner dimensions 3 and 4 differ"},
	{"linear", func(o *operands) error { return o.mat.Linear(o.tall).Err() }, "linear:|cannot multiply shapes [2 3] and [2 3]: inner dimensions 3 and 2 differ"},
	{"linear bias", func(o *operands) error { return o.mat.Linear(o.square, tensor.Bias(tensor.Zeros([]int{2}))).Err() }, "linear:|cannot broadcast shapes [[2 3] [2]]: extents 3 and 2 at axis 1"},
	{"addmm", func(o *operands) error { return tensor.Zeros([]int{5, 5}).AddMM(o.mat, o.tall).Err() }, "addmm:|cannot broadcast shapes [[5 5] [2 2]]: extents 5 and 2 at axis 0"},
	{"view count", func(o *operands) error { return o.mat.View(4, 2).Err() }, "view:|6 elements cannot have shape [4 2]"},
	{"view without a copy", func(o *operands) error { return o.mat.T().View(6).Err() }, "view:|shape [3 2] with strides [1 3] cannot be viewed as [6] without a copy; use"},
	{"reshape count", func(o *operands) error { return o.mat.Reshape(5).Err() }, "reshape:|6 elements cannot have shape [5]"},
	{"reshape two unknown", func(o *operands) error { return o.mat.Reshape(-1, -1).Err() }, "reshape:|only one extent of [-1 -1] may be -1"},
	{"reshape negative", func(o *operands) error { return o.mat.Reshape(-2, 3).Err() }, "reshape:|negative extent in [-2 3]"},
	{"reshape unknown of none", func(o *operands) error { return o.empty.Reshape(-1, 0).Err() }, "reshape:|-1 in [-1 0] could be anything for a tensor of no elements"},
	{"expand", func(o *operands) error { return o.mat.Expand(4, 3).Err() }, "expand:|cannot expand [2 3] to [4 3]: extent 2 at axis 0 is neither 1 nor 4"},
	{"expand fewer axes", func(o *operands) error { return o.mat.Expand(3).Err() }, "expand:|shape [2 3] cannot be expanded to the fewer axes of [3]"},
	{"expand negative", func(o *operands) error { return o.row.Expand(-2, 3).Err() }, "expand:|cannot expand [1 3] to [-2 3]: -1 keeps an extent, and axis 0 is new"},
	{"sum to", func(o *operands) error { return o.mat.SumTo(4).Err() }, "sum_to:|3 elements cannot have shape [4]"},
	{"cat ranks", func(o *operands) error { return tensor.Cat([]T{o.mat, o.vec}, 0).Err() }, "cat:|tensors to join must have one rank: tensor 0 has shape [2 3], tensor 1 has"},
	{"cat extents", func(o *operands) error { return tensor.Cat([]T{o.mat, o.tall}, 0).Err() }, "cat:|tensors to join must have equal extents except along dim 0: tensor 0 has"},
	{"cat of nothing", func(o *operands) error { return tensor.Cat(nil, 0).Err() }, "cat:|want at least one tensor"},
	{"cat of scalars", func(o *operands) error { return tensor.Cat([]T{o.scalar, o.scalar}, 0).Err() }, "cat:|tensors of rank 0 cannot be joined; stack gives them an axis"},
	{"stack", func(o *operands) error { return tensor.Stack([]T{o.mat, o.tall}, 0).Err() }, "stack:|tensor 1 has shape [3 2], tensor 0 [2 3]"},
	{"stack of nothing", func(o *operands) error { return tensor.Stack(nil, 0).Err() }, "stack:|no tensors"},
	{"einsum extents", func(o *operands) error { return tensor.Einsum("ij,jk->ik", []T{o.mat, o.mat}).Err() }, "einsum:|label j has extents 3 and 2"},
	{"einsum ranks", func(o *operands) error { return tensor.Einsum("ijk->i", []T{o.mat}).Err() }, `einsum:|"ijk" names 3 axes of an operand that has 2`},
	{"einsum operands", func(o *operands) error { return tensor.Einsum("ij,jk->ik", []T{o.mat}).Err() }, "einsum:|2 operands described, 1 given"},
	{"einsum letters", func(o *operands) error { return tensor.Einsum("ij->ik", []T{o.mat}).Err() }, "einsum:|label k of the result is in no operand"},
	{"einsum syntax", func(o *operands) error { return tensor.Einsum("i1->->", []T{o.mat}).Err() }, "einsum:|'1' is not a letter"},
	{"tensordot", func(o *operands) error { return tensor.Tensordot(o.mat, o.mat, []int{1}, 0).Err() }, "tensordot:|dim 1 of [2 3] has 3 elements, dim 0 of [2 3] has 2"},
	{"tensordot axes", func(o *operands) error { return tensor.Tensordot(o.mat, o.mat, []int{0, 1}, 0).Err() }, "tensordot:|2 dims of x for 1 of y"},
	{"conv2d channels", func(o *operands) error { return o.image.Conv2d(tensor.Zeros([]int{3, 5, 3, 3})).Err() }, "conv2d:|weight [3 5 3 3] expects 5 channels in each of 1 groups, x [1 2 5 5] has 2"},
	{"conv2d kernel too large", func(o *operands) error { return o.image.Conv2d(tensor.Zeros([]int{3, 2, 6, 6})).Err() }, "conv2d:|kernel extent 6 with dilation 1 does not fit 5 elements with padding 0"},
	{"conv2d rank", func(o *operands) error { return o.mat.Conv2d(o.kernel).Err() }, "conv2d:|want a tensor of rank 4, have shape [2 3]"},
	{"conv2d bias", func(o *operands) error { return o.image.Conv2d(o.kernel, tensor.Bias(tensor.Zeros([]int{4}))).Err() }, "conv2d:|bias must have one element for each channel of the result; it has shape [4]"},
	{"conv2d stride", func(o *operands) error { return o.image.Conv2d(o.kernel, tensor.Stride(0)).Err() }, "conv2d:|stride 0 is less than 1"},
	{"conv2d strides", func(o *operands) error { return o.image.Conv2d(o.kernel, tensor.Stride(1, 1, 1)).Err() }, "conv2d:|stride [1 1 1] must have one entry for each of the 2 spatial axes"},
	{"conv2d padding", func(o *operands) error { return o.image.Conv2d(o.kernel, tensor.Padding(-1)).Err() }, "conv2d:|padding -1 is negative"},
	{"conv2d dilation", func(o *operands) error { return o.image.Conv2d(o.kernel, tensor.Dilation(0)).Err() }, "conv2d:|dilation 0 is less than 1"},
	{"conv2d groups", func(o *operands) error { return o.image.Conv2d(o.kernel, tensor.Groups(2)).Err() }, "conv2d:|groups 2 must divide the 2 channels of x [1 2 5 5] and the 3 of weight [3 2"},
	{"conv2d no groups", func(o *operands) error { return o.image.Conv2d(o.kernel, tensor.Groups(0)).Err() }, "conv2d:|groups 0 must divide the 2 channels of x [1 2 5 5] and the 3 of weight [3 2"},
	{"conv transpose output padding", func(o *operands) error {
		return o.image.ConvTranspose2d(tensor.Zeros([]int{2, 3, 3, 3}), tensor.OutputPadding(2)).Err()
	}, "conv_transpose2d:|weight must have x's rank, stride, padding and dilation suit it, and"},
	{"max pool kernel", func(o *operands) error { return o.image.MaxPool2d([]int{7}).Err() }, "max_pool2d:|kernel extent 7 with dilation 1 does not fit 5 elements with padding 0"},
	{"max pool zero kernel", func(o *operands) error { return o.image.MaxPool2d([]int{0}).Err() }, "max_pool2d:|kernel extent 0 is less than 1"},
	{"max pool no kernel", func(o *operands) error { return o.image.MaxPool2d(nil).Err() }, "max_pool2d:|kernel [] must have between 1 and 4 entries for shape [1 2 5 5]"},
	{"max pool padding", func(o *operands) error { return o.image.MaxPool2d([]int{2}, tensor.Padding(2)).Err() }, "max_pool2d:|padding 2 is more than half of the window's extent 2"},
	{"avg pool rank", func(o *operands) error { return o.vec.AvgPool2d([]int{2}).Err() }, "avg_pool2d:|want a tensor of rank 3 or more, have shape [3]"},
	{"adaptive pool", func(o *operands) error { return o.image.AdaptiveAvgPool2d(-1, 3).Err() }, "adaptive_avg_pool2d:|must have one element or more"},
	{"adaptive pool without sizes", func(o *operands) error { return o.image.AdaptiveAvgPool2d().Err() }, "adaptive_avg_pool2d:|output_size must be one number or two; x has shape [1 2 5 5]"},
	{"conv2d without dilation", func(o *operands) error { return o.image.Conv2d(o.kernel, tensor.Dilation()).Err() }, "conv2d:|dilation [] must have one entry for each of the 2 spatial axes"},
	{"conv transpose without stride", func(o *operands) error { return o.image.ConvTranspose2d(o.kernel, tensor.Stride()).Err() }, "conv_transpose2d:|weight must have x's rank, stride, padding and dilation suit it, and"},
	{"pool without padding", func(o *operands) error { return o.image.AvgPool2d([]int{2}, tensor.Padding()).Err() }, "avg_pool2d:|padding [] must have one entry for each of the 2 spatial axes"},
	{"normalize without axes", func(o *operands) error { return o.mat.Normalize([]int{5}).Err() }, "normalize:|dimension out of range: 5 is not in [-2, 1]"},
	{"sizes of a split", func(o *operands) error { return tensor.SplitSizes(o.mat, nil, 0)[0].Err() }, "split_sizes:|extents [] add up to 0, dim 0 of [2 3] has 2"},
	{"layer norm shape", func(o *operands) error { return o.mat.LayerNorm([]int{4}).Err() }, "layer_norm:|normalized_shape must be the last extents of x, at least one; x has shape"},
	{"layer norm weight", func(o *operands) error { return o.mat.LayerNorm([]int{3}, tensor.Weight(tensor.Ones([]int{2}))).Err() }, "layer_norm:|weight must have the extents that normalized_shape says; it has shape [2]"},
	{"group norm", func(o *operands) error { return o.cube.GroupNorm(2).Err() }, "group_norm:|groups must divide the channels, axis 1 of x; x has shape [2 3 4]"},
	{"group norm of nothing", func(o *operands) error { return o.cube.GroupNorm(0).Err() }, "group_norm:|groups must divide the channels, axis 1 of x; x has shape [2 3 4]"},
	{"batch norm", func(o *operands) error { return o.mat.BatchNorm(tensor.Zeros([]int{2}), tensor.Ones([]int{3})).Err() }, "batch_norm:|running_mean must have one element for each channel, axis 1 of x; it has shape [2]"},
	{"rms norm", func(o *operands) error { return o.mat.RMSNorm(nil).Err() }, "rms_norm:|normalized_shape must be the last extents of x, at least one; x has shape"},
	{"mse", func(o *operands) error { return o.mat.MSELoss(o.tall).Err() }, "mse_loss:|cannot broadcast shapes [[2 3] [3 2]]: extents 2 and 3 at axis 0"},
	{"cross entropy batch", func(o *operands) error { return o.mat.CrossEntropy(o.index).Err() }, "cross_entropy:|target must have shape [2] for x of shape [2 3], whose axis 1 is the classes, has [3]"},
	{"cross entropy weight", func(o *operands) error { return o.square.CrossEntropy(o.index, tensor.Weight(o.mat)).Err() }, "cross_entropy:|weight must have shape [3], one element a class, has [2 3]"},
	{"diagonal of a vector", func(o *operands) error { return o.vec.Diagonal().Err() }, "diagonal:|a diagonal needs two axes, have shape [3]"},
	{"trace of a cube", func(o *operands) error { return o.cube.Trace().Err() }, "trace:|want a tensor of rank 2, have shape [2 3 4]"},
	{"tril of a vector", func(o *operands) error { return o.vec.Tril(0).Err() }, "tril:|want a tensor of rank 2 or more, have shape [3]"},
	{"glu", func(o *operands) error { return o.mat.GLU(1).Err() }, "glu:|dim must be an axis with an even number of elements; x has shape [2 3]"},
	{"masked select", func(o *operands) error { return o.tall.MaskedSelect(o.mask).Err() }, "masked_select:|cannot expand [2 3] to [3 2]: extent 2 at axis 0 is neither 1 nor 3"},
	{"item of many", func(o *operands) error { _, err := o.mat.Item(); return err }, "item:|a tensor of 6 elements (shape [2 3]) cannot be one number"},
	{"item of none", func(o *operands) error { _, err := o.empty.Item(); return err }, "item:|a tensor of 0 elements (shape [0 3]) cannot be one number"},
	{"max of none", func(o *operands) error { return o.empty.Max().Err() }, "max:|no elements to reduce along dims [0 1] of shape [0 3], and the operation"},
	{"argmax of none", func(o *operands) error { return o.empty.Argmax(tensor.Dim(0)).Err() }, "argmax:|no elements to choose from in shape [0 3]"},
	{"from count", func(o *operands) error { return tensor.From([]float32{1, 2, 3}, 2, 2).Err() }, "from:|3 values for shape [2 2], which has 4 elements"},
	{"from bytes", func(o *operands) error { return tensor.FromBytes(make([]byte, 7), tensor.Float32, []int{2}).Err() }, "from:|7 bytes for float32 [2], which has 8"},
	{"pad odd", func(o *operands) error { return o.mat.Pad([]int{1}).Err() }, "pad:|padding [1] must hold a pair of numbers for each of the last axes of shape"},
	{"pad too much", func(o *operands) error { return o.image.Pad([]int{5, 0}, tensor.ModeReflect).Err() }, "pad:|padding 5 is too much for axis 3 of shape [1 2 5 5], want at most 4"},
	{"pad odd reflection", func(o *operands) error { return o.image.Pad([]int{1}, tensor.ModeReflect).Err() }, "pad:|padding [1] must hold a pair of numbers for each of at most the last 3 axes"},
	{"pad many reflections", func(o *operands) error { return o.image.Pad(make([]int, 8), tensor.ModeReplicate).Err() }, "pad:|padding [0 0 0 0 0 0 0 0] must hold a pair of numbers for each"},
	{"pad around a scalar", func(o *operands) error { return o.scalar.Pad([]int{1, 1}, tensor.ModeCircular).Err() }, "pad:|padding [1 1] must hold a pair of numbers for each of at most"},
	{"reflect away", func(o *operands) error { return o.image.Pad([]int{-3, -2}, tensor.ModeReflect).Err() }, "pad:|padding [-3 -2] leaves no element along axis 3 of shape [1 2 5 5]"},
	{"padding twice", func(o *operands) error { return o.image.Conv2d(o.kernel, tensor.Padding(1), tensor.AutoPadSame).Err() }, "conv2d:|padding and auto_pad cannot both be given"},
	{"same with a stride", func(o *operands) error { return o.image.Conv2d(o.kernel, tensor.Stride(2), tensor.AutoPadSame).Err() }, "conv2d:|auto_pad same needs a stride of 1"},
	{"topk of a scalar", func(o *operands) error { v, _ := o.scalar.Topk(2, 0); return v.Err() }, "topk:|k is 2, want a number from 1 to 1"},
	{"unfold of a scalar", func(o *operands) error { return o.scalar.Unfold(0, 2, 1).Err() }, "unfold:|windows of 2 elements, 1 apart, do not fit the one of a scalar"},
	{"repeats of another length", func(o *operands) error { return o.mat.RepeatInterleaveBy(tensor.From([]int64{1, 2}), 1).Err() }, "repeat_interleave_by:|repeats have one axis with one element, or as many as x along dim"},
	{"negative repeats", func(o *operands) error { return o.mat.RepeatInterleaveBy(tensor.From([]int64{-1}), 1).Err() }, "repeat_interleave_by:|repeats must not be negative"},
	{"put of another length", func(o *operands) error { return o.mat.Put(o.index, o.vec.Narrow(0, 0, 1)).Err() }, "put:|index and src must have equally many elements"},
	{"unpooled to another size", func(o *operands) error {
		return o.mat.MaxUnpool1d(tensor.ZerosLike(o.mat).ToType(tensor.Int64), []int{2}, tensor.OutputSize(9)).Err()
	}, "max_unpool1d:|output_size be less than a stride away"},
	{"pad away", func(o *operands) error { return o.mat.Pad([]int{-4, 0}).Err() }, "pad:|padding -4 and 0 does not fit axis 1 of shape [2 3]"},
	{"tile negative", func(o *operands) error { return o.mat.Tile(-1).Err() }, "tile:|negative extent in [2 -3]"},
	{"repeat fewer", func(o *operands) error { return o.mat.Repeat(2).Err() }, "repeat:|want at most as many axes as the 1 numbers given, have shape [2 3]"},
	{"outer of a matrix", func(o *operands) error { return o.mat.Outer(o.vec).Err() }, "outer:|want a tensor of rank 1, have shape [2 3]"},
	{"searchsorted", func(o *operands) error { return o.mat.Searchsorted(o.cube).Err() }, "searchsorted:|sorted must have one axis, or values' shape but for the last extent: sorted"},
	{"gradient of products", func(o *operands) error {
		return tensor.Wrap(ops.CumprodGrad(o.row.Handle(), o.mat.Handle(), o.mat.Handle(), 0)).Err()
	}, "cumprod_grad:|g [1 3] must have shape [2 3]"},
	{"results of products", func(o *operands) error {
		return tensor.Wrap(ops.CumprodGrad(o.mat.Handle(), o.row.Handle(), o.mat.Handle(), 0)).Err()
	}, "cumprod_grad:|y [1 3] must have shape [2 3]"},
	{"gradient of logarithms", func(o *operands) error {
		return tensor.Wrap(ops.LogcumsumexpGrad(o.row.Handle(), o.mat.Handle(), 0)).Err()
	}, "logcumsumexp_grad:|g [1 3] must have shape [2 3]"},
	{"gradient of a product", func(o *operands) error {
		return tensor.Wrap(ops.ProdOthers(o.vec.Handle(), o.mat.Handle(), []int{0})).Err()
	}, "prod_others:|g [3] must have shape [1 3]"},
	{"gradient of shares", func(o *operands) error { return tensor.Wrap(ops.SoftmaxPull(o.row.Handle(), o.mat.Handle(), 0)).Err() }, "softmax_pull:|g [1 3] must have shape [2 3]"},
}

var wrongAxes = []wrongCall{
	{"gradient of products", func(o *operands) error {
		return tensor.Wrap(ops.CumprodGrad(o.mat.Handle(), o.mat.Handle(), o.mat.Handle(), 2)).Err()
	}, "cumprod_grad:|dimension out of range: 2 is not in [-2, 1]"},
	{"gradient of logarithms", func(o *operands) error {
		return tensor.Wrap(ops.LogcumsumexpGrad(o.mat.Handle(), o.mat.Handle(), -3)).Err()
	}, "logcumsumexp_grad:|dimension out of range: -3 is not in [-2, 1]"},
	{"gradient of a product", func(o *operands) error {
		return tensor.Wrap(ops.ProdOthers(o.row.Handle(), o.mat.Handle(), []int{2})).Err()
	}, "prod_others:|dimension out of range: 2 is not in [-2, 1]"},
	{"gradient of shares", func(o *operands) error { return tensor.Wrap(ops.SoftmaxPull(o.mat.Handle(), o.mat.Handle(), 2)).Err() }, "softmax_pull:|dimension out of range: 2 is not in [-2, 1]"},
	{"sum", func(o *operands) error { return o.mat.Sum(tensor.Dim(2)).Err() }, "sum:|dimension out of range: 2 is not in [-2, 1]"},
	{"sum below", func(o *operands) error { return o.mat.Sum(tensor.Dim(-3)).Err() }, "sum:|dimension out of range: -3 is not in [-2, 1]"},
	{"sum twice", func(o *operands) error { return o.mat.Sum(tensor.Dim(0, -2)).Err() }, "sum:|dim 0 appears multiple times in [0 -2]"},
	{"softmax", func(o *operands) error { return o.mat.Softmax(2).Err() }, "softmax:|dimension out of range: 2 is not in [-2, 1]"},
	{"cumsum", func(o *operands) error { return o.mat.Cumsum(5).Err() }, "cumsum:|dimension out of range: 5 is not in [-2, 1]"},
	{"argmax of two", func(o *operands) error { return o.mat.Argmax(tensor.Dim(0, 1)).Err() }, "argmax:|a position is along one dimension or in the whole tensor, not along"},
	{"transpose", func(o *operands) error { return o.mat.Transpose(0, 2).Err() }, "transpose:|dimension out of range: 2 is not in [-2, 1]"},
	{"permute count", func(o *operands) error { return o.mat.Permute(0).Err() }, "permute:|permutation [0] must name each of the 2 axes of shape [2 3] once"},
	{"permute twice", func(o *operands) error { return o.mat.Permute(0, 0).Err() }, "permute:|dim 0 appears multiple times in [0 0]"},
	{"squeeze", func(o *operands) error { return o.mat.Squeeze(3).Err() }, "squeeze:|dimension out of range: 3 is not in [-2, 1]"},
	{"unsqueeze", func(o *operands) error { return o.mat.Unsqueeze(4).Err() }, "unsqueeze:|dimension out of range: 4 is not in [-3, 2]"},
	{"cat", func(o *operands) error { return tensor.Cat([]T{o.mat, o.mat}, 2).Err() }, "cat:|dimension out of range: 2 is not in [-2, 1]"},
	{"stack", func(o *operands) error { return tensor.Stack([]T{o.mat, o.mat}, 3).Err() }, "stack:|dimension out of range: 3 is not in [-3, 2]"},
	{"flip", func(o *operands) error { return o.mat.Flip(0, 0).Err() }, "flip:|dim 0 appears multiple times in [0 0]"},
	{"roll", func(o *operands) error { return o.mat.Roll([]int{1, 1}, tensor.Dim(0)).Err() }, "roll:|2 shifts for 1 dims"},
	{"movedim", func(o *operands) error { return o.mat.Movedim([]int{0, 1}, 0).Err() }, "movedim:|source and destination must have one axis each for every axis to move"},
	{"narrow", func(o *operands) error { return o.mat.Narrow(2, 0, 1).Err() }, "narrow:|dimension out of range: 2 is not in [-2, 1]"},
	{"select", func(o *operands) error { return o.mat.Select(2, 0).Err() }, "select_index:|dimension out of range: 2 is not in [-2, 1]"},
	{"select of a scalar", func(o *operands) error { return o.scalar.Select(0, 0).Err() }, "select_index:|a tensor of rank 0 has no dimension 0"},
	{"gather", func(o *operands) error { return o.vec.Gather(1, o.index).Err() }, "gather:|dimension out of range: 1 is not in [-1, 0]"},
	{"sort", func(o *operands) error { v, _ := o.mat.Sort(2); return v.Err() }, "sort:|dimension out of range: 2 is not in [-2, 1]"},
	{"sort positions", func(o *operands) error { _, i := o.mat.Sort(2); return i.Err() }, "sort:|dimension out of range: 2 is not in [-2, 1]"},
	{"unflatten", func(o *operands) error { return o.mat.Unflatten(1, 2, 2).Err() }, "unflatten:|6 elements cannot have shape [2 2 2]"},
	{"flatten", func(o *operands) error { return o.cube.Flatten(tensor.Start(2), tensor.End(1)).Err() }, "flatten:|start and end must be axes of x, and start not after end; x has shape [2 3"},
	{"diagonal", func(o *operands) error { return o.mat.Diagonal(tensor.Dim0(1), tensor.Dim1(1)).Err() }, "diagonal:|a diagonal needs two different axes, have 1 and 1"},
	{"unfold", func(o *operands) error { return o.mat.Unfold(1, 4, 1).Err() }, "unfold:|windows of 4 elements, 1 apart, do not fit the 3 of dim 1 of shape [2 3]"},
	{"logsumexp", func(o *operands) error { return o.mat.Logsumexp([]int{7}).Err() }, "logsumexp:|dimension out of range: 7 is not in [-2, 1]"},
	{"var", func(o *operands) error { return o.mat.Var(tensor.Dim(-4)).Err() }, "variance:|dimension out of range: -4 is not in [-2, 1]"},
	{"unbind", func(o *operands) error { return tensor.Unbind(o.mat, 2)[0].Err() }, "unbind:|dimension out of range: 2 is not in [-2, 1]"},
}

var wrongIndices = []wrongCall{
	{"narrow past the end", func(o *operands) error { return o.mat.Narrow(1, 2, 2).Err() }, "narrow:|start 2 and length 2 do not lie within the 3 elements of dim 1 of shape [2"},
	{"narrow negative", func(o *operands) error { return o.mat.Narrow(1, 0, -1).Err() }, "narrow:|start 0 and length -1 do not lie within the 3 elements of dim 1 of shape [2"},
	{"slice step", func(o *operands) error { return o.mat.Slice(1, 0, 3, 0).Err() }, "slice:|step 0 is less than 1"},
	{"select past the end", func(o *operands) error { return o.mat.Select(0, 2).Err() }, "select_index:|index 2 is out of range for the 2 elements of dim 0 of shape [2 3]"},
	{"select before the start", func(o *operands) error { return o.mat.Select(0, -3).Err() }, "select_index:|index -3 is out of range for the 2 elements of dim 0 of shape [2 3]"},
	{"index select", func(o *operands) error { return o.mat.IndexSelect(0, tensor.From([]int64{0, 2})).Err() }, "index_select:|index 2 at position [1] is out of range for axis 0 with 2 elements (want 0"},
	{"index select negative", func(o *operands) error { return o.mat.IndexSelect(0, tensor.From([]int64{-3})).Err() }, "index_select:|index -3 at position [0] is out of range for axis 0 with 2 elements (want 0"},
	{"index select rank", func(o *operands) error { return o.mat.IndexSelect(0, tensor.From([]int64{0, 1}, 1, 2)).Err() }, "index_select:|index must have one axis or none, have shape [1 2]"},
	{"index select dtype", func(o *operands) error { return o.mat.IndexSelect(0, o.vec).Err() }, "index_select:|index must be int32 or int64, not float32"},
	{"gather past the end", func(o *operands) error { return o.mat.Gather(1, tensor.From([]int64{3, 0}, 2, 1)).Err() }, "gather:|index 3 at position [0 0] is out of range for axis 1 with 3 elements (want"},
	{"gather rank", func(o *operands) error { return o.mat.Gather(1, o.index).Err() }, "gather:|index must have x's rank: index has shape [3], x [2 3]"},
	{"gather size", func(o *operands) error { return o.mat.Gather(1, tensor.From([]int64{0, 0, 0}, 3, 1)).Err() }, "gather:|index of shape [3 1] is larger than x of shape [2 3] at axis 0 (only dim 1"},
	{"scatter past the end", func(o *operands) error { return o.vec.ScatterScalar(0, tensor.From([]int64{3}), 1).Err() }, "scatter:|index 3 at position [0] is out of range for axis 0 with 3 elements (want 0"},
	{"scatter add past the end", func(o *operands) error {
		return o.vec.ScatterAdd(0, tensor.From([]int64{5}), tensor.From([]float32{1})).Err()
	}, "scatter_add:|index 5 at position [0] is out of range for axis 0 with 3 elements (want 0"},
	{"scatter source", func(o *operands) error { return o.vec.Scatter(0, o.index, tensor.From([]float32{1})).Err() }, "scatter:|index of shape [3] is larger than src of shape [1] at axis 0"},
	{"index add past the end", func(o *operands) error {
		return o.vec.IndexAdd(0, tensor.From([]int64{9}), tensor.From([]float32{1})).Err()
	}, "index_add:|index 9 at position [0] is out of range for axis 0 with 3 elements (want 0"},
	{"index add count", func(o *operands) error { return o.vec.IndexAdd(0, o.index, tensor.From([]float32{1})).Err() }, "index_add:|src must have shape [3] for x of shape [3], dim 0 and index of shape [3],"},
	{"index fill past the end", func(o *operands) error { return o.vec.IndexFill(0, tensor.From([]int64{7}), 1).Err() }, "index_fill:|scatter: index 7 at position [0] is out of range for axis 0 with 3 elements"},
	{"take past the end", func(o *operands) error { return o.vec.Take(tensor.From([]int64{3})).Err() }, "take:|index_select: index 3 at position [0] is out of range for axis 0 with 3"},
	{"embedding past the end", func(o *operands) error { return tensor.Embedding(tensor.From([]int64{2}), o.mat).Err() }, "embedding:|index_select: index 2 at position [0] is out of range for axis 0 with 2"},
	{"one hot", func(o *operands) error { return o.index.OneHot(2).Err() }, "one_hot:|scatter: index 2 at position [0 0] is out of range for axis 1 with 2"},
	{"cross entropy class", func(o *operands) error { return o.square.CrossEntropy(tensor.From([]int64{0, 3, 1})).Err() }, "cross_entropy:|target 3 at position [1] is out of range for 3 classes (want 0 to 2)"},
	{"nll class", func(o *operands) error { return o.square.NLLLoss(tensor.From([]int64{0, -1, 1})).Err() }, "nll_loss:|target -1 at position [1] is out of range for 3 classes (want 0 to 2)"},
	{"cross entropy of no classes", func(*operands) error {
		return tensor.Zeros([]int{1, 0}).CrossEntropy(tensor.From([]int64{0})).Err()
	}, "cross_entropy:|target 0 at position [0] is out of range for 0 classes (there are none)"},
	{"topk too many", func(o *operands) error { v, _ := o.mat.Topk(4, 1); return v.Err() }, "topk:|k is 4, want a number from 0 to 3"},
	{"topk negative", func(o *operands) error { v, _ := o.mat.Topk(-1, 1); return v.Err() }, "topk:|k is -1, want a number from 0 to 3"},
	{"kthvalue of no elements", func(*operands) error { v, _ := tensor.Zeros([]int{2, 0}).Kthvalue(1, 1); return v.Err() }, "kthvalue:|k is 1, and no number is accepted"},
	{"kthvalue", func(o *operands) error { v, _ := o.mat.Kthvalue(0, 1); return v.Err() }, "kthvalue:|k is 0, want a number from 1 to 3"},
	{"split", func(o *operands) error { return tensor.Split(o.mat, 0, 0)[0].Err() }, "split:|parts of 0 elements"},
	{"split sizes", func(o *operands) error { return tensor.SplitSizes(o.mat, []int{1, 2}, 0)[0].Err() }, "split_sizes:|extents [1 2] add up to 3, dim 0 of [2 3] has 2"},
	{"chunk", func(o *operands) error { return tensor.Chunk(o.mat, 0, 0)[0].Err() }, "chunk:|0 parts"},
	{"as strided outside", func(o *operands) error { return o.mat.AsStrided([]int{3, 3}, []int{3, 1}).Err() }, "as_strided:|shape [3 3] with strides [3 1] and offset 0 reaches"},
	{"as strided offset", func(o *operands) error { return o.mat.AsStrided([]int{1}, []int{1}, tensor.Offset(6)).Err() }, "as_strided:|shape [1] with strides [1] and offset 6 reaches"},
	{"as strided negative", func(o *operands) error { return o.mat.AsStrided([]int{2}, []int{-1}).Err() }, "as_strided:|stride [-1] has a negative entry"},
	{"as strided lengths", func(o *operands) error { return o.mat.AsStrided([]int{2, 2}, []int{1}).Err() }, "as_strided:|size [2 2] and stride [1] must have as many entries"},
	{"multinomial", func(o *operands) error { return o.vec.Multinomial(4).Err() }, "multinomial:|topk: k is 4, want a number from 0 to 3"},
	{"randint", func(o *operands) error { return tensor.Randint([]int{2}, 3, 3).Err() }, "randint:|low is 3 and high is 3, want low < high"},
	{"randint drawn", func(*operands) error {
		return ops.RandintDrawn([]int{2}, 3, 3, 1, 2, &core.Placement{Device: device.Sim(0)}).Err()
	}, "randint_drawn:|low is 3 and high is 3, want low < high"},
	{"whole between", func(o *operands) error { return ops.WholeBetween(o.vec.Handle(), 3, 3).Err() }, "whole_between:|low is 3 and high is 3, want low < high"},
	{"index select far", func(o *operands) error {
		return o.far.IndexSelect(0, tensor.From([]int64{0, 2}).To(device.Sim(0))).Err()
	}, "index_select:|index 2 at position [1] is out of range for axis 0 with 2 elements (want 0"},
}

var wrongDTypes = []wrongCall{
	{"sub of bools", func(o *operands) error { return o.mask.Sub(o.mask).Err() }, "sub:|x must be uint8, int8, int16, int32, int64, float16,"},
	{"neg of bools", func(o *operands) error { return o.mask.Neg().Err() }, "neg:|not implemented for bool (have uint8, int8, int16, int32, int64, float16,"},
	{"relu of complex", func(o *operands) error { return o.cplx.ReLU().Err() }, "relu:|not implemented for complex64 (have uint8, int8, int16, int32, int64,"},
	{"gelu of integers", func(o *operands) error { return o.count.GELU().Err() }, "gelu:|not implemented for int32 (have float16, bfloat16, float32, float64)"},
	{"softmax of integers", func(o *operands) error { return o.count.Softmax(1).Err() }, "softmax:|not implemented for int32 (have float16, bfloat16, float32, float64)"},
	{"matmul of two dtypes", func(o *operands) error { return o.mat.MatMul(o.tall.ToType(tensor.Float64)).Err() }, "matmul:|operands must have one dtype, have float32 and float64"},
	{"matmul of bools", func(o *operands) error { return o.mask.MatMul(o.mask.T()).Err() }, "matmul:|not implemented for bool (have uint8, int8, int16, int32, int64, float16,"},
	{"less of complex", func(o *operands) error { return o.cplx.Lt(o.cplx).Err() }, "lt:|not implemented for complex64 (have bool, uint8, int8, int16, int32, int64,"},
	{"where condition", func(o *operands) error { return tensor.Where(o.mat, o.mat, o.mat).Err() }, "where:|cond must be bool, not float32"},
	{"shift of floats", func(o *operands) error { return o.mat.BitwiseLeftShiftScalar(1).Err() }, "bitwise_left_shift:|not implemented for float32 (have uint8, int8, int16, int32, int64)"},
	{"sort of complex", func(o *operands) error { v, _ := o.cplx.Sort(0); return v.Err() }, "sort:|not implemented for complex64 (have bool, uint8, int8, int16, int32, int64,"},
	{"argmax of bools", func(o *operands) error { return o.mask.Argmax().Err() }, "argmax:|not implemented for bool (have uint8, int8, int16, int32, int64, float16,"},
	{"cross entropy target", func(o *operands) error { return o.square.CrossEntropy(o.index.ToType(tensor.Int16)).Err() }, "cross_entropy:|target must be uint8, int32 or int64, not int16"},
	{"cross entropy logits", func(o *operands) error { return o.count.CrossEntropy(tensor.From([]int64{0, 1})).Err() }, "cross_entropy:|not implemented for int32 (have float16, bfloat16, float32, float64)"},
	{"value of a higher dtype", func(o *operands) error { return o.count.MaskedFill(o.mask, tensor.FromScalar(1.5)).Err() }, "masked_fill:|a number of dtype float32 does not fit a tensor of dtype int32"},
	{"value with axes of another dtype", func(o *operands) error { return o.mat.MaskedFill(o.mask, o.mat.ToType(tensor.Float64)).Err() }, "masked_fill:|operands must have one dtype unless they have no axes, have float32 and float64"},
	{"norm limit", func(o *operands) error { return tensor.Embedding(o.index, o.mat, tensor.MaxNorm(-1)).Err() }, "embedding:|max_norm is -1, want a number from 0 to"},
	{"embedding index", func(o *operands) error { return tensor.Embedding(o.vec, o.mat).Err() }, "embedding:|index must be int32 or int64, not float32"},
	{"conv2d dtypes", func(o *operands) error { return o.image.Conv2d(o.kernel.ToType(tensor.Float64)).Err() }, "conv2d:|operands must have one dtype, have float32 and float64"},
	{"dropout of integers", func(o *operands) error { return o.count.Dropout(0.5).Err() }, "dropout:|not implemented for int32 (have float16, bfloat16, float32, float64)"},
	{"data type", func(o *operands) error { _, err := tensor.Data[float64](o.mat); return err }, "data:|the tensor is float32, not float64; convert it first"},
	{"data of bools", func(o *operands) error { _, err := tensor.Data[uint8](o.mask); return err }, "data:|the tensor is bool, not uint8; convert it first"},
	{"gradients of integers", func(o *operands) error { return o.count.RequireGrad().Err() }, "require_grad:|only floating-point and complex tensors can require gradients, not int32"},
	{"new with gradients", func(o *operands) error {
		return tensor.Zeros([]int{2}, tensor.OfType(tensor.Int64), tensor.RequireGrad()).Err()
	}, "zeros:|only floating-point and complex tensors can require gradients, not int64"},
	{"random integers as floats", func(o *operands) error { return tensor.Randn([]int{2}, tensor.OfType(tensor.Int64)).Err() }, "randn:|not implemented for int64 (have float16, bfloat16, float32, float64, complex64, complex128)"},
	{"invalid dtype", func(o *operands) error { return tensor.Zeros([]int{2}, tensor.OfType(tensor.DType(99))).Err() }, "zeros:|not implemented for invalid (have bool, uint8, int8, int16, int32, int64,"},
	{"convert to an invalid dtype", func(o *operands) error { return o.mat.ToType(tensor.DType(200)).Err() }, "to_dtype:|invalid is no dtype (have bool, uint8, int8, int16, int32, int64, float16, bfloat16,"},
	{"bytes of an invalid dtype", func(o *operands) error { return tensor.FromBytes(nil, tensor.DType(99), []int{0}).Err() }, "from:|invalid; want bool, uint8, int8, int16, int32, int64, float16, bfloat16,"},
	{"reshape size", func(o *operands) error { return o.mat.Reshape(5).Err() }, ": reshape: invalid shape: "},
	{"stack shapes", func(o *operands) error { return tensor.Stack([]T{o.mat, o.tall}, 0).Err() }, ": stack: invalid shape: "},
	{"einsum labels", func(o *operands) error { return tensor.Einsum("ij,k->", []T{o.mat}).Err() }, `: einsum: "ij,k->": invalid shape: `},
	{"mixed dtypes", func(o *operands) error { return o.mat.MatMul(o.mat.ToType(tensor.Float64)).Err() }, "matmul:|have float32 and float64; convert one with ToType"},
	{"scalar string", func(o *operands) error { return o.mat.AddScalar("1").Err() }, "add:|string is not a number (want bool, int, int8 to int64, uint, uint8 to uint64, float32,"},
	{"scalar nil", func(o *operands) error { return o.mat.MulScalar(nil).Err() }, "mul:|<nil> is not a number (want bool, int, int8 to int64, uint, uint8 to uint64, float32,"},
	{"scalar tensor", func(o *operands) error { return o.mat.AddScalar(o.scalar).Err() }, "add:|tensor.Tensor is not a number (want bool, int, int8 to int64, uint, uint8 to uint64,"},
	{"scalar uintptr", func(o *operands) error { return o.mat.AddScalar(uintptr(1)).Err() }, "add:|uintptr is not a number (want bool, int, int8 to int64, uint, uint8 to uint64, float32,"},
	{"full of a slice", func(o *operands) error { return tensor.Full([]int{2}, []float64{1}).Err() }, "full:|[]float64 is not a number (want bool, int, int8 to int64, uint, uint8 to uint64, float32,"},
	{"from scalar", func(o *operands) error { return tensor.FromScalar(struct{}{}).Err() }, "struct {} is not a number (want bool, int, int8 to int64, uint, uint8 to uint64, float32,"},
	{"alpha", func(o *operands) error { return o.mat.ELU(tensor.Alpha("a")).Err() }, "elu: option Alpha cannot be of type string; want a number"},
	{"in place to integers", func(o *operands) error { return o.count.AddScalarInPlace(1.5) }, "add:|result type float32 can't be cast to int32"},
	{"in place to bool", func(o *operands) error { return o.mask.AddScalarInPlace(1) }, "add:|result type int64 can't be cast to bool"},
	{"in place to real", func(o *operands) error { return o.mat.MulScalarInPlace(1i) }, "mul:|result type complex64 can't be cast to float32"},
}

var wrongDevices = []wrongCall{
	{"host and accelerator", func(o *operands) error { return o.mat.Add(o.far).Err() }, "add:|two devices, cpu and sim:0!"},
	{"two accelerators", func(o *operands) error { return o.far.Mul(o.other).Err() }, "mul:|two devices, sim:0 and sim:1!"},
	{"scalar of an accelerator", func(o *operands) error { return o.mat.Add(o.far.Sum()).Err() }, "add:|two devices, cpu and sim:0!"},
	{"matmul with a host scalar", func(o *operands) error { return o.far.MatMul(o.tall).Err() }, "matmul:|two devices, sim:0 and cpu!"},
	{"cat", func(o *operands) error { return tensor.Cat([]T{o.far, o.other}, 0).Err() }, "cat:|two devices, sim:0 and sim:1!"},
	{"where", func(o *operands) error { return tensor.Where(o.mask, o.far, o.far).Err() }, "where:|two devices, cpu and sim:0!"},
	{"index", func(o *operands) error { return o.far.IndexSelect(0, o.index).Err() }, "index_select:|two devices, sim:0 and cpu!"},
	{"cross entropy", func(o *operands) error { return o.far.CrossEntropy(tensor.From([]int64{0, 1})).Err() }, "cross_entropy:|two devices, sim:0 and cpu!"},
	{"linear bias", func(o *operands) error { return o.far.Linear(o.square.To(device.Sim(0)), tensor.Bias(o.vec)).Err() }, "linear:|two devices, sim:0 and cpu!"},
	{"no such device", func(o *operands) error { return o.mat.To(device.Sim(2)).Err() }, "to:|sim:2: this process sees 2 sim devices"},
	{"no such kind", func(o *operands) error { return o.mat.To(device.Device{Kind: 77}).Err() }, "to:|no kind(77) backend is part of this program"},
	{"new on no device", func(o *operands) error { return tensor.Zeros([]int{2}, tensor.On(device.Sim(9))).Err() }, "zeros:|sim:9: this process sees 2 sim devices"},
	{"random on no device", func(o *operands) error { return tensor.Randn([]int{2}, tensor.On(device.Sim(-7))).Err() }, "randn:|sim:-7: this process sees 2 sim devices"},
	{"pin an accelerator's", func(o *operands) error { return o.far.PinMemory().Err() }, "pin_memory:|only host tensors can be pinned, this one is on sim:0"},
	{"in place", func(o *operands) error { return o.far.AddInPlace(o.other) }, "add:|two devices, sim:0 and sim:1!"},
	{"out", func(o *operands) error { return out.Exp(o.other, o.far) }, "exp:|the result is on sim:0, the tensor to write on sim:1"},
	{"no memory", func(o *operands) error { return tensor.Zeros([]int{1 << 28}, tensor.On(device.Sim(0))).Err() }, "zeros:|SIM out of memory. Tried to allocate 1024.00 MiB. sim:0 has a total capacity of 256.00 MiB"},
}

var wrongWrites = []wrongCall{
	{"shape", func(o *operands) error { return o.row.AddInPlace(o.mat) }, "add:|the result has shape [2 3], the tensor to write [1 3]"},
	{"leaf", func(o *operands) error { return o.leaf.AddScalarInPlace(1) }, "add:|a leaf that requires gradients cannot be changed while operators are"},
	{"leaf copy", func(o *operands) error { return o.leaf.CopyFrom(o.mat) }, "copy:|a leaf that requires gradients cannot be changed while operators are"},
	{"view", func(o *operands) error { return o.view.MulScalarInPlace(2) }, "mul:|a view cannot be changed while operators are recorded; use the plain form"},
	{"leaf by way of a detached view's base", func(o *operands) error { return o.leaf.Narrow(0, 0, 1).ExpInPlace() }, "exp:|a view cannot be changed while operators are recorded; use the plain form"},
	{"expanded", func(o *operands) error { return o.row.Expand(2, 3).AddScalarInPlace(1) }, "add:|several elements of the tensor to write (shape [2 3], strides [0 1]) share"},
	{"overlapping halves", func(o *operands) error { return o.vec.Narrow(0, 0, 2).AddInPlace(o.vec.Narrow(0, 1, 2)) }, "add:|operand y and the tensor to write share elements; clone one of them first"},
	{"own transpose", func(o *operands) error { return o.square.AddInPlace(o.square.T()) }, "add:|operand y and the tensor to write share elements; clone one of them first"},
	{"out shape", func(o *operands) error { return out.Add(o.tall, o.mat, o.mat) }, "add:|the result has shape [2 3], the tensor to write [3 2]"},
	{"out dtype", func(o *operands) error { return out.Div(o.count, o.mat, o.mat) }, "div:|result type float32 can't be cast to int32"},
	{"out overlap", func(o *operands) error { return out.Add(o.square.T(), o.square, o.square) }, "add:|operand x and the tensor to write share elements; clone one of them first"},
	{"out of a reduction over itself", func(o *operands) error { return out.Sum(o.square.Select(0, 0), o.square, tensor.Dim(0)) }, "sum:|operand x and the tensor to write share elements; clone one of them first"},
	{"out of a product over itself", func(o *operands) error { return out.MatMul(o.square, o.square, o.square) }, "matmul:|operand x and the tensor to write share elements; clone one of them first"},
	{"out of a kernel, dtype", func(o *operands) error {
		return out.MatMul(tensor.Zeros([]int{2, 2}, tensor.OfType(tensor.Float64)), o.mat, o.tall)
	}, "matmul:|the result is float32, the tensor to write float64"},
	{"out of a kernel, shape", func(o *operands) error { return out.MatMul(o.mat, o.mat, o.tall) }, "matmul:|operand x and the tensor to write share elements; clone one of them first"},
	{"out with gradients", func(o *operands) error { return out.Exp(o.mat, o.leaf) }, "exp:|out forms do not take part in differentiation, but an argument requires"},
	{"out to a leaf", func(o *operands) error { return out.Exp(o.leaf, o.mat) }, "exp:|out forms do not take part in differentiation, but an argument requires"},
	{"out expanded", func(o *operands) error { return out.Exp(o.row.Expand(2, 3), o.mat) }, "exp:|several elements of the tensor to write (shape [2 3], strides [0 1]) share"},
	{"out to nothing", func(o *operands) error { return out.Exp(T{}, o.mat) }, "zero Tensor: it was never given a value"},
	{"copy shape", func(o *operands) error { return o.vec.CopyFrom(o.mat) }, "copy:|the result has shape [2 3], the tensor to write [3]"},
	{"copy to bool", func(o *operands) error { return o.row.CopyFrom(o.cube) }, "copy:|cannot broadcast shapes [[1 3] [2 3 4]]: extents 3 and 4 at axis 2"},
	{"softmax out over itself", func(o *operands) error { return out.Softmax(o.mat, o.mat, 1) }, "softmax:|operand x and the tensor to write share elements; clone one of them first"},
	{"composition out shape", func(o *operands) error { return out.Linear(o.vec, o.mat, o.square) }, "linear:|the result has shape [2 3], the tensor to write [3]"},
	{"composition out dtype", func(o *operands) error {
		return out.MSELoss(tensor.Zeros([]int{}, tensor.OfType(tensor.Int64)), o.mat, o.mat)
	}, "mse_loss:|result type float32 can't be cast to int64"},
}

var wrongGradients = []wrongCall{
	{"backward of many", func(o *operands) error { return o.made.Backward() }, "backward:|a gradient can be left out only for one element, not for shape [2 3]"},
	{"backward without a graph", func(o *operands) error { return o.mat.Sum().Backward() }, "backward:|the tensor does not require gradients and was not made from one that does"},
	{"backward of a detached tensor", func(o *operands) error { return o.made.Detach().Sum().Backward() }, "backward:|the tensor does not require gradients and was not made from one that does"},
	{"backward twice", func(o *operands) error {
		y := o.made.Exp().Sum()
		_ = y.Backward()
		_ = o.leaf.ZeroGrad()
		return y.Backward()
	}, "backward:|backward through the graph a second time: its saved values were released;"},
	{"gradient shape", func(o *operands) error { return o.made.Backward(tensor.WithGradient(o.tall)) }, "backward:|the gradient is float32 [3 2] on cpu, the tensor float32 [2 3] on cpu"},
	{"gradient dtype", func(o *operands) error { return o.made.Backward(tensor.WithGradient(o.double)) }, "backward:|the gradient is float64 [2 3] on cpu, the tensor float32 [2 3] on cpu"},
	{"gradient device", func(o *operands) error { return o.made.Backward(tensor.WithGradient(o.far)) }, "backward:|the gradient is float32 [2 3] on sim:0, the tensor float32 [2 3] on cpu"},
	{"gradient zero", func(o *operands) error { return o.made.Backward(tensor.WithGradient(T{})) }, "backward:|zero Tensor: it was never given a value"},
	{"gradient count", func(o *operands) error { return o.made.Backward(tensor.WithGradient(o.mat, o.mat)) }, "backward:|2 gradients for 1 tensors"},
	{"gradients without inputs' part", func(o *operands) error { _, err := tensor.Gradients([]T{o.made.Sum()}, []T{o.mat}); return err }, "grad:|input 0 does not require gradients"},
	{"gradients of nothing", func(o *operands) error { _, err := tensor.Gradients(nil, []T{o.leaf}); return err }, "grad:|no tensor to start from"},
	{"gradients of many", func(o *operands) error { _, err := tensor.Gradients([]T{o.made}, []T{o.leaf}); return err }, "grad:|a gradient can be left out only for one element, not for shape [2 3]"},
	{"gradients of a failure", func(o *operands) error { _, err := tensor.Gradients([]T{o.mat.Add(o.tall)}, []T{o.leaf}); return err }, "grad:|cannot broadcast shapes [[2 3] [3 2]]: extents 2 and 3 at axis 0"},
	{"gradients to a zero tensor", func(o *operands) error { _, err := tensor.Gradients([]T{o.made.Sum()}, []T{{}}); return err }, "zero Tensor: it was never given a value"},
	{"set gradient shape", func(o *operands) error { return o.leaf.SetGrad(o.tall) }, "set_grad:|gradient is float32 [3 2] on cpu, the tensor float32 [2 3] on cpu"},
	{"set gradient of a constant", func(o *operands) error { return o.mat.SetGrad(o.mat) }, "set_grad:|the tensor does not require gradients"},
	{"retain of a constant", func(o *operands) error { return o.mat.RetainGrad() }, "retain_grad:|the tensor does not require gradients"},
	{"hook on a constant", func(o *operands) error { _, err := o.mat.RegisterHook(func(g T) T { return g }); return err }, "register_hook:|the tensor does not require gradients"},
	{"hook result", func(o *operands) error {
		_, _ = o.made.RegisterHook(func(T) T { return o.tall })
		return o.made.Sum().Backward()
	}, "backward:|a hook returned float32 [3 2] on cpu for a gradient that is float32 [2 3]"},
	{"hook failure", func(o *operands) error {
		_, _ = o.made.RegisterHook(func(T) T { return o.mat.Add(o.tall) })
		return o.made.Sum().Backward()
	}, "backward:|cannot broadcast shapes [[2 3] [3 2]]: extents 2 and 3 at axis 0"},
	{"saved value changed", func(o *operands) error {
		x := o.leaf.MulScalar(1)
		y := x.Square().Sum()
		tensor.NoGrad(func() error { _ = x.AddScalarInPlace(1); return nil })
		return y.Backward()
	}, "backward:|square: a value that its gradient needs was changed in place: operand x of"},
	{"saved result changed", func(o *operands) error {
		y := o.leaf.Sigmoid()
		tensor.NoGrad(func() error { _ = y.Detach().AddScalarInPlace(1); return nil })
		return y.Sum().Backward()
	}, "backward:|sigmoid: a value that its gradient needs was changed in place: result of"},
	{"view of a changed base", func(o *operands) error {
		x := o.leaf.MulScalar(1)
		v := x.Narrow(0, 0, 1)
		_ = x.ExpInPlace()
		return v.Square().Err()
	}, "square:|operand x: changed in place through another view while operators were"},
	{"gradient of an error", func(o *operands) error { return o.made.Backward(tensor.WithGradient(o.mat.Add(o.tall))) }, "backward:|cannot broadcast shapes [[2 3] [3 2]]: extents 2 and 3 at axis 0"},
	{"backward on an accelerator, many", func(o *operands) error { return o.farLeaf.Exp().Backward() }, "backward:|a gradient can be left out only for one element, not for shape [2 3]"},
	{"saved value changed on an accelerator", func(o *operands) error {
		x := o.farLeaf.MulScalar(1)
		y := x.Square().Sum()
		tensor.NoGrad(func() error { _ = x.AddScalarInPlace(1); return nil })
		return y.Backward()
	}, "backward:|square: a value that its gradient needs was changed in place: operand x of"},
	{"stop requiring", func(o *operands) error { return o.made.SetRequireGrad(false) }, "require_grad:|only leaves can stop requiring gradients; this tensor was made by mul: use"},
}

var wrongHandles = []wrongCall{
	{"zero operand", func(o *operands) error { return o.mat.Add(T{}).Err() }, "zero Tensor: it was never given a value"},
	{"zero receiver", func(o *operands) error { return T{}.Exp().Err() }, "zero Tensor: it was never given a value"},
	{"zero itself", func(o *operands) error { return T{}.Err() }, "zero Tensor: it was never given a value"},
	{"zero backward", func(o *operands) error { return T{}.Backward() }, "backward:|zero Tensor: it was never given a value"},
	{"zero item", func(o *operands) error { _, err := T{}.Item(); return err }, "zero Tensor: it was never given a value"},
	{"zero data", func(o *operands) error { _, err := tensor.Data[float32](T{}); return err }, "zero Tensor: it was never given a value"},
	{"zero in place", func(o *operands) error { return T{}.AddScalarInPlace(1) }, "zero Tensor: it was never given a value"},
	{"zero in a list", func(o *operands) error { return tensor.Cat([]T{o.mat, {}}, 0).Err() }, "zero Tensor: it was never given a value"},
	{"zero to a device", func(o *operands) error { return T{}.To(device.Sim(0)).Err() }, "zero Tensor: it was never given a value"},
	{"zero detach", func(o *operands) error { return T{}.Detach().Err() }, "zero Tensor: it was never given a value"},
	{"zero requires gradients", func(o *operands) error { return T{}.RequireGrad().Err() }, "zero Tensor: it was never given a value"},
	{"zero set gradient", func(o *operands) error { return o.leaf.SetGrad(T{}) }, "zero Tensor: it was never given a value"},
	{"zero copy", func(o *operands) error { return o.mat.CopyFrom(T{}) }, "zero Tensor: it was never given a value"},
	{"zero pinned", func(o *operands) error { return T{}.PinMemory().Err() }, "zero Tensor: it was never given a value"},
	{"zero like", func(o *operands) error { return tensor.ZerosLike(T{}).Err() }, "zero Tensor: it was never given a value"},
	{"zero new", func(o *operands) error { return T{}.NewFull([]int{2}, 1).Err() }, "zero Tensor: it was never given a value"},
	{"zero split", func(o *operands) error { return tensor.Split(T{}, 1, 0)[0].Err() }, "zero Tensor: it was never given a value"},
	{"released operand", func(o *operands) error { return o.vec.Add(o.gone).Err() }, "tensor was released"},
	{"released receiver", func(o *operands) error { return o.gone.Sum().Err() }, "tensor was released"},
	{"released item", func(o *operands) error { _, err := o.gone.Item(); return err }, "tensor was released"},
	{"released in place", func(o *operands) error { return o.gone.ExpInPlace() }, "tensor was released"},
	{"released view", func(o *operands) error { return o.gone.View(2, 1).Err() }, "tensor was released"},
}

var wrongOptions = []wrongCall{
	{"unknown", func(o *operands) error { return o.mat.Sum(tensor.Stride(1)).Err() }, "sum: no option Stride here; want Dim, KeepDim or OfType"},
	{"unknown among others", func(o *operands) error { return o.mat.Sum(tensor.Dim(1), nil, tensor.ReductionMean).Err() }, "sum: no option Reduction here"},
	{"twice", func(o *operands) error { return o.mat.Sum(tensor.Dim(1), tensor.Dim(0)).Err() }, "sum: option Dim is given twice, [1] and [0]"},
	{"a value twice", func(o *operands) error {
		return o.square.CrossEntropy(o.index, tensor.ReductionSum, tensor.ReductionNone).Err()
	}, "cross_entropy: option Reduction is given twice, with different values"},
	{"of a factory", func(o *operands) error { return tensor.Zeros([]int{2}, tensor.Dim(1)).Err() }, "zeros: no option Dim here; want On, OfType, RequireGrad or Pinned"},
	{"like another", func(o *operands) error { return tensor.OnesLike(o.mat, tensor.KeepDim()).Err() }, "ones: no option KeepDim here; want On, OfType, RequireGrad or Pinned"},
	{"of elements", func(o *operands) error {
		return tensor.FromSlice([]float32{1}, nil, tensor.Retain()).Err()
	}, "from: no option Retain here; want On, OfType, RequireGrad or Pinned"},
	{"of a scalar", func(o *operands) error { return tensor.FromScalar(1, tensor.Retain()).Err() }, "from_scalar: no option Retain here"},
	{"of a copy", func(o *operands) error { return o.mat.To(device.Sim(0), tensor.Retain()).Err() }, "to: no option Retain here; want NonBlocking"},
	{"of a copy into", func(o *operands) error { return o.mat.CopyFrom(o.mat, tensor.Dim(0)) }, "copy_from: no option Dim here; want NonBlocking"},
	{"of a backward pass", func(o *operands) error { return o.made.Backward(tensor.NonBlocking()) }, "backward: no option NonBlocking here; want Retain, CreateGraph or WithGradient"},
	{"of a form that writes", func(o *operands) error { return o.mat.ELUInPlace(tensor.Beta(1)) }, "elu: no option Beta here; want Alpha"},
}

var wrongArguments = []wrongCall{
	{"zeros negative", func(o *operands) error { return tensor.Zeros([]int{2, -1}).Err() }, "zeros:|negative extent in [2 -1]"},
	{"zeros huge", func(o *operands) error { return tensor.Zeros([]int{math.MaxInt, math.MaxInt}).Err() }, "zeros:|[9223372036854775807 9223372036854775807] has too many elements"},
	{"zeros huge bytes", func(o *operands) error { return tensor.Zeros([]int{math.MaxInt}).Err() }, "zeros:|[9223372036854775807] has too many elements"},
	{"huge expand of a huge", func(o *operands) error { return o.row.Expand(math.MaxInt, 3).Err() }, "expand:|[9223372036854775807 3] has too many elements"},
	{"arange step", func(o *operands) error { return tensor.Arange(0, 10, 0).Err() }, "arange:|start and end must be real and finite, and step lead from start to end"},
	{"arange direction", func(o *operands) error { return tensor.Arange(10, 0, 1).Err() }, "arange:|start and end must be real and finite, and step lead from start to end"},
	{"arange nan", func(o *operands) error { return tensor.Arange(0, math.NaN(), 1).Err() }, "arange:|start and end must be real and finite, and step lead from start to end"},
	{"arange infinite", func(o *operands) error { return tensor.Arange(0, math.Inf(1), 1).Err() }, "arange:|[9223372036854775807] has too many elements"},
	{"arange many", func(o *operands) error { return tensor.Arange(0, 1e300, 1e-300).Err() }, "arange:|[9223372036854775807] has too many elements"},
	{"arange complex", func(o *operands) error { return tensor.Arange(0, 3i, 1).Err() }, "arange:|start and end must be real and finite, and step lead from start to end"},
	{"linspace", func(o *operands) error { return tensor.Linspace(0, 1, -1).Err() }, "linspace:|negative extent in [-1]"},
	{"eye", func(o *operands) error { return tensor.Eye(-1, 2).Err() }, "eye:|negative extent in [-1 2]"},
	{"randperm", func(o *operands) error { return tensor.Randperm(-1).Err() }, "randperm:|negative extent in [-1]"},
	{"dropout", func(o *operands) error { return o.mat.Dropout(1.5).Err() }, "dropout:|p is 1.5, want p <= 1"},
	{"dropout nan", func(o *operands) error { return o.mat.Dropout(math.NaN()).Err() }, "dropout:|p is NaN, want p >= 0"},
	{"label smoothing", func(o *operands) error { return o.square.CrossEntropy(o.index, tensor.LabelSmoothing(2)).Err() }, "cross_entropy:|label_smoothing is 2, want label_smoothing <= 1"},
	{"label smoothing nan", func(o *operands) error {
		return o.square.CrossEntropy(o.index, tensor.LabelSmoothing(math.NaN())).Err()
	}, "cross_entropy:|label_smoothing is NaN, want label_smoothing >= 0"},
	{"approximate", func(o *operands) error { return o.mat.GELU(tensor.Approximate(9)).Err() }, "gelu:|unknown approximate 9 (have 0 to 1: none, tanh)"},
	{"reduction", func(o *operands) error { return o.mat.MSELoss(o.mat, tensor.Reduction(7)).Err() }, "mse_loss:|unknown reduction 7"},
	{"mode", func(o *operands) error { return o.mat.Pad([]int{1, 1}, tensor.Mode(200)).Err() }, "pad:|unknown mode 200"},
	{"repeat interleave", func(o *operands) error { return o.mat.RepeatInterleave(-1, 0).Err() }, "repeat_interleave:|n is -1, want n >= 0"},
	{"tolerance", func(o *operands) error { return o.mat.IsClose(o.mat, tensor.Rtol(-1)).Err() }, "isclose:|rtol is -1, want rtol >= 0"},
	{"tolerance of all", func(o *operands) error { return o.mat.AllClose(o.mat, tensor.Atol(math.NaN())).Err() }, "allclose:|atol is NaN, want atol >= 0"},
	{"tanh between", func(o *operands) error { return o.mat.Hardtanh(tensor.Lo(2), tensor.Hi(1.5)).Err() }, "hardtanh:|lo is 2 and hi is 1.5, want lo <= hi"},
	{"tanh between, in place", func(o *operands) error { return o.vec.HardtanhInPlace(tensor.Lo(2), tensor.Hi(1)) }, "hardtanh:|lo is 2 and hi is 1, want lo <= hi"},
	{"infinite shrink", func(o *operands) error { return o.mat.Softshrink(tensor.Lambd(math.Inf(1))).Err() }, "softshrink:|lambd is +Inf, want lambd < inf"},
	{"alpha of 0", func(o *operands) error { return o.mat.CELU(tensor.Alpha(0)).Err() }, "celu:|alpha is 0, want alpha != 0"},
	{"negative eps", func(o *operands) error {
		return o.mat.BatchNorm(o.vec, o.vec, tensor.Eps(-1)).Err()
	}, "batch_norm:|eps is -1, want eps >= 0"},
	{"value of a reflection", func(o *operands) error {
		return o.image.Pad([]int{1, 1}, tensor.ModeReflect, tensor.Value(2)).Err()
	}, "pad:|mode is reflect and value is 2, want mode == constant || value == 0"},
	{"no draws", func(o *operands) error { return o.mat.Multinomial(0).Err() }, "multinomial:|n is 0, want n >= 1"},
	{"classes", func(o *operands) error { return o.index.OneHot(-2).Err() }, "one_hot:|classes is -2, want classes >= -1"},
	{"sum to nothing", func(o *operands) error { return o.mat.SumTo(1, -1).Err() }, "sum_to:|shape is [1 -1], want shape >= 0"},
	{"padding row", func(o *operands) error { return o.index.Embedding(o.square, tensor.PaddingIdx(3)).Err() }, "embedding:|padding_idx must be a row of weight"},
	{"arange of a part of a step", func(o *operands) error { return tensor.Arange(0, -0.5, 1).Err() }, "arange:|start and end must be real and finite, and step lead from start to end"},
	{"output padding of more axes", func(o *operands) error {
		return o.image.ConvTranspose2d(o.kernel.Transpose(0, 1), tensor.OutputPadding(0, 0, 0)).Err()
	}, "conv_transpose2d:|"},
	{"tile huge", func(o *operands) error { return o.mat.Tile(math.MaxInt).Err() }, "tile:|[1 2 9223372036854775807 3] has too many elements"},
	{"pad huge", func(o *operands) error { return o.mat.Pad([]int{math.MaxInt, math.MaxInt}).Err() }, "pad:|padding 9223372036854775807 and 9223372036854775807 does not fit axis 1 of"},
	{"conv padding huge", func(o *operands) error { return o.image.Conv2d(o.kernel, tensor.Padding(math.MaxInt)).Err() }, "conv2d:|padding 9223372036854775807 is too large"},
	{"conv dilation huge", func(o *operands) error { return o.image.Conv2d(o.kernel, tensor.Dilation(math.MaxInt)).Err() }, "conv2d:|kernel extent 3 with dilation 9223372036854775807 is too large"},
	{"pool stride huge", func(o *operands) error {
		return o.image.MaxPool2d([]int{math.MaxInt}, tensor.Stride(math.MaxInt)).Err()
	}, "max_pool2d:|kernel extent 9223372036854775807 with dilation 1 does not fit 5 elements"},
	{"narrow huge", func(o *operands) error { return o.mat.Narrow(0, math.MaxInt, math.MaxInt).Err() }, "narrow:|start 9223372036854775807 and length 9223372036854775807 do not lie within"},
	{"slice huge step", func(o *operands) error { return o.mat.Slice(0, math.MinInt, math.MaxInt, math.MinInt).Err() }, "slice:|step -9223372036854775808 is less than 1"},
	{"select lowest", func(o *operands) error { return o.mat.Select(math.MinInt, math.MinInt).Err() }, "select_index:|dimension out of range: -9223372036854775808 is not in [-2, 1]"},
	{"unfold huge", func(o *operands) error { return o.mat.Unfold(0, math.MaxInt, math.MaxInt).Err() }, "unfold:|windows of 9223372036854775807 elements, 9223372036854775807 apart, do not"},
	{"as strided huge", func(o *operands) error {
		return o.mat.AsStrided([]int{math.MaxInt, math.MaxInt}, []int{math.MaxInt, math.MaxInt}).Err()
	}, "as_strided:|[9223372036854775807 9223372036854775807] has too many elements"},
	{"tril offset", func(o *operands) error { return o.vec.Tril(math.MinInt).Err() }, "tril:|want a tensor of rank 2 or more, have shape [3]"},
	{"diagonal offset", func(o *operands) error { return o.vec.DiagEmbed(tensor.Offset(math.MaxInt)).Err() }, "diag_embed:|[9223372036854775807 9223372036854775807] has too many elements"},
	{"one hot huge", func(o *operands) error { return o.index.OneHot(math.MaxInt).Err() }, "one_hot:|[3 9223372036854775807] has too many elements"},
	{"adaptive pool huge", func(o *operands) error { return o.image.AdaptiveAvgPool2d(math.MaxInt).Err() }, "adaptive_avg_pool2d:|[9223372036854775807 2] has too many elements"},
	{"topk huge", func(o *operands) error { v, _ := o.mat.Topk(math.MaxInt, 1); return v.Err() }, "topk:|k is 9.223372036854776e+18, want a number from 0 to 3"},
	{"chunk huge", func(o *operands) error { return tensor.Chunk(o.mat, -5, 0)[0].Err() }, "chunk:|-5 parts"},
	{"split huge", func(o *operands) error {
		return tensor.SplitSizes(o.mat, []int{math.MaxInt, math.MaxInt, 4}, 0)[0].Err()
	}, "split_sizes:|start 0 and length 9223372036854775807 do not lie within the 2 elements of"},
}

// wrongSetups are calls whose errors are returned at once and name no line.
var wrongSetups = []wrongCall{
	{"guard", func(o *operands) error { return device.With(device.Sim(5), func() error { return nil }) }, "sim:5: this process sees 2 sim devices"},
	{"parse", func(o *operands) error { _, err := device.Parse("cuda0"); return err }, `Invalid device string "cuda0" (have cpu, cuda, sim, each with an optional`},
	{"model to no device", func(o *operands) error { return nn.To(nn.NewLinear(2, 2), device.Sim(3)) }, "nn:|sim:3: this process sees 2 sim devices"},
	{"missing name", func(o *operands) error { return nn.LoadStateDict(nn.NewLinear(3, 2), map[string]T{"weight": o.mat}) }, `nn:|state does not fit the model: "bias" is missing`},
	{"unknown name", func(o *operands) error {
		return nn.LoadStateDict(nn.NewLinear(3, 2, nn.NoBias()), map[string]T{"weight": o.mat, "bios": o.vec})
	}, `nn:|state does not fit the model: "bios" is not in the model`},
	{"wrong shape", func(o *operands) error {
		return nn.LoadStateDict(nn.NewLinear(3, 2, nn.NoBias()), map[string]T{"weight": o.tall})
	}, `nn:|state does not fit the model: "weight" is float32 [3 2], the model has`},
	{"wrong dtype", func(o *operands) error {
		return nn.LoadStateDict(nn.NewLinear(3, 2, nn.NoBias()), map[string]T{"weight": o.double})
	}, `nn:|state does not fit the model: "weight" is float64 [2 3], the model has`},
	{"failed value", func(o *operands) error {
		return nn.LoadStateDict(nn.NewLinear(3, 2, nn.NoBias()), map[string]T{"weight": o.failed})
	}, `state does not fit the model: "weight"|wrongcalls_test.go:|add:|cannot broadcast shapes [[3] [2]]: extents 3 and 2 at axis 0`},
	{"wrong input", func(o *operands) error { return nn.NewLinear(4, 2).Forward(o.mat).Err() }, "linear:|cannot multiply shapes [2 3] and [4 2]: inner dimensions 3 and 4 differ"},
	{"negative layer", func(o *operands) error { return nn.NewLinear(-4, 2).Forward(o.mat).Err() }, "negative extent in [2 -4]"},
	{"optimizer of nothing", func(o *operands) error { _, err := optim.NewSGD(nil, 0.1); return err }, "optim:|no parameters to optimize"},
	{"learning rate", func(o *operands) error {
		_, err := optim.NewAdam(nn.Parameters(nn.NewLinear(3, 2)), -1)
		return err
	}, "optim:|learning rate -1"},
	{"learning rate nan", func(o *operands) error {
		_, err := optim.NewSGD(nn.Parameters(nn.NewLinear(3, 2)), math.NaN())
		return err
	}, "optim:|learning rate NaN"},
	{"optimizer state", func(o *operands) error { return adamOf(nn.NewLinear(3, 2)).SetState(map[string]T{"bogus": o.mat}) }, `optim:|state does not fit the optimizer|is missing`},
	{"dataset lengths", func(o *operands) error { _, err := data.Tensors(o.mat, o.tall); return err }, "data:|field 1 has 3 samples, field 0 has 2"},
	{"loader batch", func(o *operands) error {
		return firstError((&data.Loader{Dataset: datasetOf(o.mat), BatchSize: -1}).Epoch(context.Background()))
	}, "data:|a loader with BatchSize -1, which must be at least 1"},
}

// carriedFailures are correct calls on a tensor that carries an error.
var carriedFailures = []wrongCall{
	{"before an option", func(o *operands) error { return o.failed.Sum(tensor.Stride(1)).Err() }, "add: invalid shape: cannot broadcast"},
	{"failed operand", func(o *operands) error { return o.failed.Sum().Err() }, "wrongcalls_test.go:|add:|cannot broadcast shapes [[3] [2]]: extents 3 and 2 at axis 0"},
	{"failed backward", func(o *operands) error { return o.failed.Backward() }, "backward:|wrongcalls_test.go:|add:|cannot broadcast shapes [[3] [2]]: extents 3 and 2 at axis 0"},
	{"failed out", func(o *operands) error { return out.Exp(o.vec, o.failed) }, "wrongcalls_test.go:|add:|cannot broadcast shapes [[3] [2]]: extents 3 and 2 at axis 0"},
	{"failed in place", func(o *operands) error { return o.vec.AddInPlace(o.failed) }, "wrongcalls_test.go:|add:|cannot broadcast shapes [[3] [2]]: extents 3 and 2 at axis 0"},
}

// sizeOf64 returns a power of 2 that only ints of 64 bits have.
func sizeOf64(power int) int { return int(int64(1) << power) }

// wrongSizes are of numbers that an int of 32 bits cannot be.
var wrongSizes = []wrongCall{
	{"ones more than memory", func(o *operands) error { return tensor.Ones([]int{sizeOf64(50)}).Err() }, "ones:|cpu: cannot allocate 4503599627370496 bytes: out of memory: cpu: cannot"},
	{"expand huge", func(o *operands) error { return o.row.Expand(sizeOf64(40), 3).Exp().Err() }, "exp:|cpu: cannot allocate 13194139533312 bytes: out of memory: cpu: cannot"},
	{"huge broadcast", func(o *operands) error { return o.vec.Expand(sizeOf64(45), 3).Add(o.vec).Err() }, "add:|cpu: cannot allocate 422212465065984 bytes: out of memory: cpu: cannot"},
	{"repeat huge", func(o *operands) error { return o.mat.Repeat(sizeOf64(40), sizeOf64(40)).Err() }, "repeat:|[1099511627776 2 1099511627776 3] has too many elements"},
	{"as strided wraps", func(o *operands) error { return o.mat.AsStrided([]int{3}, []int{sizeOf64(62)}).Err() }, "as_strided:|size [3] with stride [4611686018427387904] and offset 0 is too large"},
	{"cat huge", func(o *operands) error {
		return tensor.Cat([]T{o.row.Expand(sizeOf64(61), 3), o.row.Expand(sizeOf64(61), 3)}, 0).Err()
	}, "expand:|[2305843009213693952 3] has too many elements"},
	{"kron huge", func(o *operands) error {
		return tensor.Kron(o.row.Expand(sizeOf64(40), 3), o.row.Expand(sizeOf64(40), 3)).Err()
	}, "kron:|[1099511627776 1099511627776 3 3] has too many elements"},
}
