package main

import (
	"fmt"

	"github.com/sinter-go/sinter/optest"
	"github.com/sinter-go/sinter/runtime/device"
)

// A workload is how much to measure on a device.
type workload struct {
	dev      device.Device
	elements int     // of long vectors
	side     int     // of matrices of rows
	keys     int     // to sort
	copies   int     // elements of a copy to and from the device
	squares  []int   // extents of square products
	limit    float64 // most operations of a product
	batch    float64 // seconds
	rounds   int
	spread   int64 // bytes that operands rotate through, more than caches hold
	judged   bool  // there are targets: they are not for small sizes

	extents optest.Extents // of the operands that the schema's entries describe
}

// The sizes of readings.md on a GPU; smaller ones on a CPU, of which a quick run
// has none that take time.
func workloadFor(dev device.Device, quick bool) workload {
	w := workload{
		dev: dev, elements: 64 << 20, side: 8192, keys: 16 << 20, copies: 64 << 20,
		squares: []int{512, 1024, 4096, 8192}, limit: 1e15, batch: 0.015, rounds: 9, spread: 256 << 20,
		judged: !quick, extents: optest.Extents{N: 16 << 20, M: 4096, K: 2048, B: 64},
	}
	if dev.Kind == device.KindCPU {
		w.elements, w.side, w.keys, w.squares, w.limit, w.batch, w.rounds, w.spread = 4<<20, 1024, 1<<18, []int{256, 512}, 2e10, 0.02, 7, 64<<20
		w.extents = optest.Extents{N: 1 << 20, M: 1024, K: 512, B: 8}
	}
	if quick {
		w.elements, w.side, w.keys, w.copies, w.squares, w.limit, w.batch, w.rounds, w.spread = 1<<14, 64, 1<<10, 1<<16, []int{32}, 2e6, 1e-4, 3, 0
		w.extents = optest.Extents{N: 1 << 10, M: 16, K: 8, B: 1}
	}
	return w
}

// batchOf returns the seconds of a row's batch.
func (w *workload) batchOf(r *row) float64 {
	if r.brief {
		return w.batch / 4
	}
	return w.batch
}

// roundsOf returns how often a row is measured.
func (w *workload) roundsOf(r *row) int {
	if r.brief {
		return min(w.rounds, 5)
	}
	return w.rounds
}

// sets returns how many sets of operands a row rotates through.
func (w *workload) sets(r *row) int {
	const most = 64
	bytes := int64(0)
	for _, in := range r.in {
		bytes += in.bytes()
	}
	if r.clock == hostTime || r.again || bytes == 0 {
		return 1
	}
	return int(min(most, max(1, (w.spread+bytes-1)/bytes)))
}

// rows returns all rows for the device.
func (w *workload) rows(compiled bool) []row {
	if !w.dev.Accelerator() {
		parts := [][]row{w.cpuRows(), w.cpuFusedRows(compiled), w.cpuPatternRows(compiled), w.cpuBesideRows(compiled), w.fusedRows(compiled), w.fourierRows(), w.cpuCompiledRows(compiled)}
		for i := range parts[3] {
			parts[3][i].targets = nil // they are for a library's
		}
		return w.kept(parts)
	}
	return w.kept([][]row{
		w.hostRows(), w.streamRows(), w.rowRows(), w.fusedRows(compiled), w.productRows(), w.convolutionRows(), w.fourierRows(),
		w.trainingRows(compiled), w.compiledRows(), w.inferenceRows(), w.copyRows(), w.loaderRows(), w.tf32Rows(), w.graphRows(), w.processRows(),
		w.operatorRows(),
	})
}

// kept joins parts, without targets where these are not for the workload.
func (w *workload) kept(parts [][]row) (out []row) {
	for _, part := range parts {
		out = append(out, part...)
	}
	for i := range out {
		if !w.judged {
			out[i].targets = nil
		}
	}
	return out
}

// size writes a number of elements as 64Mi.
func size(n int) string {
	for _, u := range []struct {
		one  int
		name string
	}{{1 << 20, "Mi"}, {1 << 10, "Ki"}} {
		if n >= u.one && n%u.one == 0 {
			return fmt.Sprint(n/u.one) + u.name
		}
	}
	return fmt.Sprint(n)
}
