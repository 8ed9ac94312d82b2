package main

import (
	"fmt"

	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/examples/compile/models"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
)

// inferenceRows are a network of images as a program, beside PyTorch's in a CUDA graph, under
// TF32 and in floats of 16 bits. Its norms are folded into its convolutions on both sides.
func (w *workload) inferenceRows() []row {
	network, in := func() nn.Module { return models.NewFoldedResNet(1000, 64, 3, 4, 6, 3) }, f32(32, 3, 224, 224)
	if !w.judged {
		network, in = func() nn.Module { return models.NewFoldedResNet(10, 4, 1, 1) }, f32(2, 3, 32, 32)
	}
	var rows []row
	for _, dtype := range []tensor.DType{tensor.Float32, tensor.Float16, tensor.BFloat16} {
		in.DType = dtype.String()
		name := dtype.String()
		if dtype == tensor.Float32 {
			name = "TF32"
		}
		for _, way := range []struct {
			name string
			opts []compile.Option
		}{{"", nil}, {", relaxed", []compile.Option{compile.Relaxed()}}, {", unfused", []compile.Option{compile.Unfused()}}} {
			r := row{name: fmt.Sprintf("ResNet-50 inference, batch 32, %s%s", name, way.name), in: []operand{in}, ours: inferring(network, dtype, way.opts...),
				tf32: true, clock: wallTime, unit: images, work: float64(in.Shape[0])}
			if way.name != ", unfused" {
				r.torch, r.setup = "infer(a)", fmt.Sprintf("infer = resnet50_infers(torch.%s, how='graph')", dtype)
			}
			rows = append(rows, r)
		}
	}
	return grouped("Compiled inference", rows)
}

// inferring makes calls of a network by a program.
func inferring(network func() nn.Module, dtype tensor.DType, opts ...compile.Option) maker {
	return func(o *ourSide) (call, error) {
		model := network()
		if err := nn.To(model, o.dev); err != nil {
			return nil, err
		}
		if err := nn.ToType(model, dtype); err != nil {
			return nil, err
		}
		nn.Eval(model)
		f := compile.Func(func(x ...T) (T, error) { return model.Forward(x[0]), nil }, append(opts, compile.State(model))...)
		o.after = append(o.after, func() error { f.Close(); return nil })
		return func(x []T) error {
			return tensor.NoGrad(func() error {
				y, err := f.Call(x...)
				y.Release()
				return err
			})
		}, nil
	}
}
