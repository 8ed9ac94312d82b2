// Command gonum is gonum's side. Of the rows gonum has the product of matrices in
// float32.
package main

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/sinter-go/sinter/cmd/peers/side"
)

func main() {
	side.Serve(map[string]func() side.Work{"matmul": matmul})
}

func matmul() side.Work {
	general := func(data []float32) blas32.General {
		return blas32.General{Rows: side.Side, Cols: side.Side, Stride: side.Side, Data: data}
	}
	const n = side.Side * side.Side
	a, b := general(side.Fill(n, 1, 1)), general(side.Fill(n, 2, 1))
	var c blas32.General
	call := func() {
		c = general(make([]float32, n))
		blas32.Gemm(blas.NoTrans, blas.NoTrans, 1, a, b, 0, c)
	}
	return side.Work{Call: call, Check: func() float64 { call(); return side.Mean(c.Data) }}
}
