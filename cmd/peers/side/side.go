// Package side is what every program that is measured has in common: how operands are
// filled, and the conversation with the command that measures.
package side

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"time"
)

// A Work is one row, ready to run: Call does it once, and Check returns a number that
// all sides must agree on.
type Work struct {
	Call  func()
	Check func() float64
}

// The sizes of the rows, which pytorch/side.py repeats.
const (
	Elements   = 1 << 20 // added
	Side       = 512     // of the matrices that are multiplied
	Rows       = 1024    // of the softmax, as many as columns
	Images     = 16
	Channels   = 16
	Extent     = 32 // of an image
	Filters    = 32 // of 3 by 3
	Batch      = 64
	Inputs     = 784
	Hidden     = 256
	Classes    = 10
	Rate       = 0.1 // of the training step
	CheckSteps = 3   // after which the training step is checked
)

// Fill returns n numbers from -scale/2 to scale/2 that depend on the seed alone.
func Fill(n int, seed uint32, scale float32) []float32 {
	out := make([]float32, n)
	for i := range out {
		mixed := (uint32(i) + 1) * 2654435761 * (2*seed + 1)
		out[i] = (float32(mixed>>8)/(1<<24) - 0.5) * scale
	}
	return out
}

// Labels returns the class of each element of the batch.
func Labels() []int64 {
	out := make([]int64, Batch)
	for i := range out {
		out[i] = int64(i * 7 % Classes)
	}
	return out
}

// OneHot returns the labels as rows of zeros and a one.
func OneHot() []float32 {
	out := make([]float32, Batch*Classes)
	for i, label := range Labels() {
		out[i*Classes+int(label)] = 1
	}
	return out
}

// Mean returns the mean of the squares of list, which tells results apart.
func Mean(list []float32) float64 {
	sum := 0.0
	for _, v := range list {
		sum += float64(v) * float64(v)
	}
	return sum / float64(len(list))
}

// Must ends the program when err is not nil.
func Must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Serve answers the lines of its input. "check ROW" asks for the row's number, "time
// ROW MILLISECONDS" for the nanoseconds of a call, measured for that long. The answer is
// one number, or "none" for a row that this side does not have.
func Serve(rows map[string]func() Work) {
	ready := map[string]Work{}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		words := strings.Fields(in.Text())
		if _, made := ready[words[1]]; !made {
			build, has := rows[words[1]]
			if !has {
				fmt.Println("none")
				continue
			}
			ready[words[1]] = build()
		}
		work := ready[words[1]]
		if words[0] == "check" {
			fmt.Printf("%.9g\n", work.Check())
			continue
		}
		var limit int
		if _, err := fmt.Sscan(words[2], &limit); err != nil {
			Must(err)
		}
		fmt.Printf("%.1f\n", timed(work.Call, time.Duration(limit)*time.Millisecond))
	}
}

// timed returns the nanoseconds of a call, after two that do not count.
func timed(call func(), limit time.Duration) float64 {
	call()
	call()
	start := time.Now()
	for n := 1; ; n++ {
		call()
		if passed := time.Since(start); passed >= limit {
			return float64(passed.Nanoseconds()) / float64(n)
		}
	}
}
