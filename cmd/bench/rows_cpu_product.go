package main

import (
	"fmt"

	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// cpuProducts is the group of a dtype's products.
func cpuProducts(dtype string) string { return "Matrix products, " + dtype }

// cpuOdd are shapes off the beaten track: batched, transposed, thin, of prime
// extents.
var cpuOdd = []product{
	{0, 100, 100, 100, false, false, "round in tens"},
	{0, 1000, 1000, 1000, false, false, "round in tens"},
	{0, 251, 251, 251, false, false, "prime"},
	{0, 1021, 1021, 1021, false, false, "prime"},
	{0, 127, 4093, 31, false, false, "prime, thin"},
	{0, 1, 2048, 2048, false, false, "one row"},
	{0, 2048, 2048, 1, false, false, "one column"},
	{0, 8, 2048, 2048, false, false, "few rows"},
	{0, 2048, 2048, 8, false, false, "few columns"},
	{0, 2048, 16, 2048, false, false, "short sums"},
	{0, 64, 16384, 64, false, false, "long sums"},
	{0, 1024, 1024, 1024, true, false, "left transposed"},
	{0, 1024, 1024, 1024, false, true, "right transposed"},
	{0, 512, 750, 375, true, true, "both transposed"},
	{0, 1024, 1000, 333, false, true, "odd, right transposed"},
	{0, 33, 65, 129, false, false, "small and odd"},
	{0, 16, 16, 16, false, false, "tiny"},
	{0, 128, 784, 1024, false, true, "a linear layer"},
	{0, 64, 768, 8192, false, true, "a vocabulary"},
	{16, 256, 256, 256, false, false, "batched"},
	{64, 32, 32, 32, false, false, "batched, small"},
	{24, 197, 64, 197, false, true, "batched, attention"},
	{7, 251, 509, 127, true, false, "batched, prime, left transposed"},
}

// cpuModes are the dtypes of products on the CPU.
var cpuModes = []struct {
	dtype, native, peak string
	squares             []int
	odd                 []product
}{
	{"float32", "sgemm", peak32Limit, []int{128, 256, 512, 1024, 2048}, cpuOdd},
	{"float64", "dgemm", peak64Limit, []int{128, 256, 512, 1024}, cpuOdd[4:]},
	{"bfloat16", "", "", []int{256, 512, 1024, 2048}, cpuOdd[9:14]},
}

// cpuProductRows are matrix products in every mode, square ones and odd ones, and
// some after all threads have rested.
func (w *workload) cpuProductRows(threads int) (rows []row) {
	for _, mode := range cpuModes {
		var part []row
		for _, n := range mode.squares {
			part = append(part, w.cpuProduct(product{0, n, n, n, false, false, ""}, mode.dtype, mode.native))
			r := &part[len(part)-1]
			switch {
			case mode.peak != "" && n >= 512 && threads == 1:
				r.targets = append(r.targets, atLeast(0.8, mode.peak))
			case mode.dtype == "bfloat16":
				r.targets = []target{atLeast(1, byPyTorch)}
				if n >= 1024 && simd.Active() >= simd.AMX {
					r.targets = append(r.targets, atLeast(1500*float64(threads), absolute))
				}
			}
		}
		for _, s := range mode.odd {
			part = append(part, w.cpuProduct(s, mode.dtype, mode.native))
		}
		rows = append(rows, grouped(cpuProducts(mode.dtype), part)...)
	}
	for _, n := range []int{512, 1024} {
		r := w.cpuProduct(product{0, n, n, n, false, false, ""}, "float32", "sgemm")
		r.name, r.idle, r.targets = r.name+", after rest", true, nil
		rows = append(rows, grouped("Matrix products after 80 ms of rest", []row{r})...)
	}
	kept := rows[:0]
	for _, r := range rows {
		if r.work <= w.limit {
			kept = append(kept, r)
		}
	}
	return measured(wallTime, gigaflops, kept)
}

// cpuProduct is the row of one product.
func (w *workload) cpuProduct(s product, dtype, native string) row {
	name := s.String()
	if s.why == "" {
		name = fmt.Sprint(s.m)
	}
	r := row{
		name: "product " + dtype + " " + name, in: s.operands(dtype), work: s.operations(),
		ours: result(func(x []T) T { return x[0].MatMul(x[1]) }), torch: "torch.matmul(a, b)", targets: []target{atLeast(0.85, byPyTorch)},
	}
	if native != "" {
		digit := map[bool]int{true: 1}
		r.native = fmt.Sprintf("%s %%d %d %d %d %d %d %d", native, max(s.batch, 1), s.m, s.k, s.n, digit[s.tx], digit[s.ty])
		r.targets = append(r.targets, atLeast(0.85, byNative))
	}
	return r
}
