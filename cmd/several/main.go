// Several measures what several devices bring: the bandwidth and latency of collective calls,
// steps of training on all of them over a step on one, and the memory that they take, beside
// PyTorch's in the same run where python3 has it.
//
//	several                  on all GPUs, as one process
//	several -row step        rows whose name contains a text
//	several -python off      without PyTorch
//	several -copies=false    all calls by NCCL, no reduction by copies between the GPUs
//	several -json out.json   the figures as JSON, too
//	several -cpu             a step of the digits on the CPU: alone, or under mpiexec -n 2
//	several -paper out.svg   no measurement: what averaging gradients costs on up to 1,024 GPUs
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/sinter-go/sinter/runtime/device"
)

func main() {
	var s settings
	flag.StringVar(&s.row, "row", "", "measure rows whose name contains this")
	flag.StringVar(&s.python, "python", "python3", "the Python with PyTorch; off: none")
	flag.StringVar(&s.json, "json", "", "a file for the figures as JSON")
	flag.BoolVar(&s.copies, "copies", true, "large reductions by copies between the GPUs")
	cpu := flag.Bool("cpu", false, "measure a step of the digits on the CPU")
	paper := flag.String("paper", "", "a file for the picture of how training scales on paper")
	flag.Parse()
	err := error(nil)
	switch {
	case *cpu:
		err = digitsRow(os.Stdout, digitsCount)
	case *paper != "":
		err = onPaper(os.Stdout, *paper)
	default:
		for i := range device.Count(device.KindCUDA) {
			s.devices = append(s.devices, device.CUDA(i))
		}
		s.size = full
		err = s.run(os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "several:", err)
		os.Exit(1)
	}
}

// settings are what is measured, and where.
type settings struct {
	row, python, json string
	copies            bool
	devices           []device.Device
	size              size
}

// A size is how large the rows are.
type size struct {
	Mega                                      []int // MiB of bandwidth rows
	Layers, Width, Batch                      int   // of the perceptron
	Blocks, Model, Heads, Sequences, Sequence int   // of the transformer
	Rounds, Calls                             int
}

// full is the size of figures that are published.
var full = size{Mega: []int{1, 16, 256, 1024}, Layers: 8, Width: 4096, Batch: 1024,
	Blocks: 12, Model: 768, Heads: 12, Sequences: 8, Sequence: 1024, Rounds: 7, Calls: 10}

// A figure is one row's result. Where more is better, Ours over Torch is to reach Reach,
// otherwise it is to stay at or below.
type figure struct {
	Row   string  `json:"row"`
	Unit  string  `json:"unit"`
	More  bool    `json:"more_is_better"`
	Ours  float64 `json:"ours"`
	Torch float64 `json:"torch,omitempty"`
	Reach string  `json:"reach,omitempty"` // what the row is to reach, in words
}

// run measures all rows and prints a table.
func (s *settings) run(w io.Writer) error {
	if len(s.devices) == 0 {
		return fmt.Errorf("no GPU")
	}
	list, failed := s.ours(os.Stderr)
	if s.python != "off" {
		if err := s.beside(list); err != nil {
			fmt.Fprintf(w, "without PyTorch: %v\n", err)
		}
	}
	fmt.Fprintf(w, "%d devices of %s\n\n| row | unit | ours | PyTorch | ours / PyTorch | reach |\n| --- | --- | ---: | ---: | ---: | --- |\n",
		len(s.devices), s.devices[0].Kind)
	for _, f := range list {
		torch, ratio := "-", "-"
		if f.Torch > 0 {
			torch, ratio = fmt.Sprintf("%.4g", f.Torch), fmt.Sprintf("%.2f", f.Ours/f.Torch)
		}
		fmt.Fprintf(w, "| %s | %s | %.4g | %s | %s | %s |\n", f.Row, f.Unit, f.Ours, torch, ratio, f.Reach)
	}
	if s.json == "" {
		return failed
	}
	b, err := json.MarshalIndent(list, "", "\t")
	if err == nil {
		err = os.WriteFile(s.json, append(b, '\n'), 0o644)
	}
	return errors.Join(failed, err)
}

// wants reports whether a row is asked for.
func (s *settings) wants(row string) bool { return strings.Contains(row, s.row) }
