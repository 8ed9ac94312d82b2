package main

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
)

// A product is the shape of a matrix product: batch times [m, k] by [k, n].
type product struct {
	batch, m, k, n int // batch 0: no such axis
	tx, ty         bool
	why            string
}

// odd are shapes off the beaten track: batched, transposed, thin, of prime
// extents.
var odd = []product{
	{0, 1000, 1000, 1000, false, false, "round in tens"},
	{0, 1021, 1021, 1021, false, false, "prime"},
	{0, 2039, 1019, 4093, false, false, "prime"},
	{0, 127, 8191, 31, false, false, "prime, thin"},
	{0, 1, 4096, 4096, false, false, "one row"},
	{0, 4096, 4096, 1, false, false, "one column"},
	{0, 16, 4096, 4096, false, false, "few rows"},
	{0, 4096, 16, 4096, false, false, "short sums"},
	{0, 4096, 4096, 16, false, false, "few columns"},
	{0, 64, 65536, 64, false, false, "long sums"},
	{0, 4096, 4096, 4096, true, false, "left transposed"},
	{0, 4096, 4096, 4096, false, true, "right transposed"},
	{0, 2048, 3000, 1500, true, true, "both transposed"},
	{0, 1024, 1000, 333, false, true, "odd, right transposed"},
	{0, 33, 65, 129, false, false, "small and odd"},
	{0, 128, 784, 1024, false, true, "a linear layer"},
	{0, 512, 768, 50257, false, true, "a vocabulary"},
	{32, 512, 512, 512, false, false, "batched"},
	{64, 128, 64, 128, false, false, "batched, small"},
	{128, 197, 64, 197, false, true, "batched, attention"},
	{12, 1024, 1024, 64, false, false, "batched, thin"},
	{7, 251, 509, 127, true, false, "batched, prime, left transposed"},
}

func (s product) String() string {
	text := fmt.Sprintf("%dx%dx%d", s.m, s.k, s.n)
	if s.batch > 0 {
		text = fmt.Sprintf("%d of %s", s.batch, text)
	}
	return text + " (" + s.why + ")"
}

// operations counts a product's multiplications and additions.
func (s product) operations() float64 {
	return 2 * float64(max(s.batch, 1)) * float64(s.m) * float64(s.k) * float64(s.n)
}

// operands are the two matrices.
func (s product) operands(dtype string) []operand {
	var lead []int
	if s.batch > 0 {
		lead = []int{s.batch}
	}
	return []operand{
		{Shape: append(lead[:len(lead):len(lead)], s.m, s.k), DType: dtype, Transposed: s.tx},
		{Shape: append(lead[:len(lead):len(lead)], s.k, s.n), DType: dtype, Transposed: s.ty},
	}
}

// modes are the dtypes of products, with TF32 for float32 or without.
var modes = []struct {
	name, dtype string
	tf32        bool
}{{"fp32", "float32", false}, {"tf32", "float32", true}, {"bf16", "bfloat16", false}, {"fp16", "float16", false}, {"fp64", "float64", false}}

// productGroup is the group whose ratios have a geometric mean.
const productGroup = "Matrix products"

// productRows are matrix products: square ones and odd ones, in every mode.
func (w *workload) productRows() (rows []row) {
	var shapes []product
	for _, n := range w.squares {
		shapes = append(shapes, product{0, n, n, n, false, false, ""})
	}
	shapes = append(shapes, odd...)
	for _, mode := range modes {
		if mode.tf32 && !w.dev.Accelerator() {
			continue
		}
		for _, s := range shapes {
			name := s.String()
			if s.why == "" {
				name = fmt.Sprint(s.m)
			}
			in := s.operands(mode.dtype)
			if s.operations() > w.limit || float64(ir.NumElements(in[0].Shape)+ir.NumElements(in[1].Shape)) > w.limit {
				continue
			}
			rows = append(rows, row{
				name: "matmul " + mode.name + " " + name, in: in, tf32: mode.tf32, work: s.operations(),
				ours: result(func(x []T) T { return x[0].MatMul(x[1]) }), torch: "torch.matmul(a, b)",
				targets: []target{atLeast(0.95, byPyTorch)},
			})
		}
	}
	return grouped(productGroup, measured(deviceTime, teraflops, rows))
}
