// Command onnx looks at models in the ONNX format and runs them.
//
//	go run ./cmd/onnx info  MODEL
//	go run ./cmd/onnx run   [-device cpu] [-mean 0] [-std 1] -in INPUT... [-out OUTPUT] MODEL
//	go run ./cmd/onnx check [-device cpu] [-rtol 1e-3] [-atol 1e-4] -in INPUT... -want OUTPUTS.npz MODEL
//	go run ./cmd/onnx bench [-device cpu] [-span 2s] [-json] -in INPUT... MODEL
//
// An INPUT is an archive of arrays, FILE.npz, whose names are those of inputs; NAME=FILE with an
// array, .npy, or a picture, PNG or JPEG; or FILE alone for the first input. Pictures get the
// layout and, where it is fixed, the size of the input; unless that is of bytes, they are numbers
// from 0 to 1, less -mean and divided by -std, one number or three. The OUTPUT is FILE.npz with all
// results, or FILE or NAME=FILE with one of them, .npy or .png.
//
// Info prints inputs, outputs, operators, parameters and memory. Check compares with stored
// outputs, and exits with 1 where they differ. Bench prints how long loading, the first run,
// the shortest and the middle one took, and on Linux the memory that the process has resident
// after them, less what it had before loading; -json prints milliseconds and megabytes as JSON,
// with the time to the first result as "first".
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"time"

	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/onnx"
	"github.com/sinter-go/sinter/runtime/device"
)

func main() {
	if err := command(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// A job is what the arguments ask for.
type job struct {
	out        io.Writer
	model      *onnx.Model
	dev        device.Device
	in         list
	to, want   string
	mean       string // of pictures
	deviation  string
	before     int64 // bytes that were resident before the model was loaded
	rtol, atol float64
	span       time.Duration
	json       bool
	load       time.Duration
}

// command runs one command line.
func command(out io.Writer, args []string) error {
	commands := map[string]func(*job) error{"info": (*job).info, "run": (*job).run, "check": (*job).check, "bench": (*job).bench}
	usage := fmt.Errorf("usage: onnx info|run|check|bench [flags] MODEL")
	if len(args) == 0 || commands[args[0]] == nil {
		return usage
	}
	j := &job{out: out}
	flags := flag.NewFlagSet("onnx "+args[0], flag.ContinueOnError)
	on := flags.String("device", "cpu", "the device: cpu, cuda, sim, with an index as in cuda:1")
	flags.Var(&j.in, "in", "an input: FILE.npz, or [NAME=]FILE with .npy, .png, .jpg; may be repeated")
	flags.StringVar(&j.to, "out", "", "the file to write: FILE.npz, or [NAME=]FILE with .npy, .png")
	flags.StringVar(&j.mean, "mean", "0", "what is subtracted from pictures, one number or three")
	flags.StringVar(&j.deviation, "std", "1", "what pictures are divided by then")
	flags.StringVar(&j.want, "want", "", "outputs to compare with, an .npz file")
	flags.Float64Var(&j.rtol, "rtol", 1e-3, "relative tolerance of check")
	flags.Float64Var(&j.atol, "atol", 1e-4, "absolute tolerance of check")
	flags.DurationVar(&j.span, "span", 2*time.Second, "how long to measure")
	flags.BoolVar(&j.json, "json", false, "print what bench found as JSON")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return usage
	}
	var err error
	if j.dev, err = device.Parse(*on); err != nil {
		return err
	}
	j.before = resident()
	start := time.Now()
	if j.model, err = onnx.Load(flags.Arg(0), tensor.On(j.dev)); err != nil {
		return err
	}
	j.load = time.Since(start)
	return commands[args[0]](j)
}

// info prints what the model says about itself.
func (j *job) info() error {
	m := j.model
	count, bytes := m.Parameters()
	fmt.Fprintf(j.out, "producer %s, opset %d, %d parameters in %.1f MB; loading took %.1f MB of memory\n",
		m.Producer, m.Opset, count, float64(bytes)/1e6, float64(resident()-j.before)/1e6)
	for _, v := range m.Inputs() {
		fmt.Fprintln(j.out, "in ", v)
	}
	for _, v := range m.Outputs() {
		fmt.Fprintln(j.out, "out", v)
	}
	operators := m.Operators()
	for _, name := range slices.Sorted(maps.Keys(operators)) {
		fmt.Fprintf(j.out, "%6d %s\n", operators[name], name)
	}
	for _, key := range slices.Sorted(maps.Keys(m.Metadata)) {
		fmt.Fprintf(j.out, "%s: %s\n", key, m.Metadata[key])
	}
	return nil
}

// once reads the inputs and runs the model.
func (j *job) once() (inputs, outputs map[string]tensor.Tensor, err error) {
	if inputs, err = j.inputs(); err != nil {
		return nil, nil, err
	}
	outputs, err = j.model.Run(context.Background(), inputs)
	return inputs, outputs, err
}

func (j *job) run() error {
	_, outputs, err := j.once()
	if err != nil {
		return err
	}
	for _, v := range j.model.Outputs() {
		t := outputs[v.Name]
		fmt.Fprintf(j.out, "%s %s %v\n", v.Name, t.DType(), t.Shape())
	}
	if j.to == "" {
		return nil
	}
	return j.save(outputs)
}

func (j *job) check() error {
	_, outputs, err := j.once()
	if err != nil {
		return err
	}
	want, err := data.LoadArrays(j.want, device.CPU)
	if err != nil {
		return err
	}
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(want)) {
		got, ok := outputs[name]
		if !ok {
			wrong = append(wrong, fmt.Errorf("the model has no output %q", name))
			continue
		}
		worst, err := j.compare(got, want[name])
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", name, err))
			continue
		}
		fmt.Fprintf(j.out, "%s %s %v: largest difference %.3g\n", name, got.DType(), got.Shape(), worst)
	}
	return errors.Join(wrong...)
}

// compare returns the largest difference, and an error where one is beyond the tolerance.
func (j *job) compare(got, want tensor.Tensor) (worst float64, err error) {
	if got.DType() != want.DType() || !slices.Equal(got.Shape(), want.Shape()) {
		return 0, fmt.Errorf("%s %v, want %s %v", got.DType(), got.Shape(), want.DType(), want.Shape())
	}
	a, err := tensor.Data[float64](got.CPU().ToType(tensor.Float64))
	if err != nil {
		return 0, err
	}
	b, err := tensor.Data[float64](want.ToType(tensor.Float64))
	if err != nil {
		return 0, err
	}
	for i := range a {
		if a[i] == b[i] || math.IsNaN(a[i]) && math.IsNaN(b[i]) {
			continue
		}
		d := math.Abs(a[i] - b[i])
		if !(d <= j.atol+j.rtol*math.Abs(b[i])) {
			return d, fmt.Errorf("element %d is %g, want %g", i, a[i], b[i])
		}
		worst = max(worst, d)
	}
	return worst, nil
}

func (j *job) bench() error {
	start := time.Now()
	inputs, outputs, err := j.once()
	if err != nil {
		return err
	}
	for _, t := range outputs { // waits for accelerators
		if _, err := t.CPU().Bytes(); err != nil {
			return err
		}
	}
	first := time.Since(start)
	var times []time.Duration
	for end := time.Now().Add(j.span); time.Now().Before(end) || len(times) < 3; {
		for _, t := range outputs {
			t.Release()
		}
		start := time.Now()
		if outputs, err = j.model.Run(context.Background(), inputs); err != nil {
			return err
		}
		for _, t := range outputs {
			if t.Device() == device.CPU {
				continue
			}
			if _, err := t.CPU().Bytes(); err != nil {
				return err
			}
		}
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	ms := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }
	memory := float64(resident()-j.before) / 1e6
	if j.json {
		return json.NewEncoder(j.out).Encode(map[string]float64{"run": ms(times[0]), "first": ms(j.load + first), "memory": memory})
	}
	fmt.Fprintf(j.out, "load %.1f ms, first run %.3f ms, then shortest %.3f ms, middle %.3f ms of %d; %.0f MB resident\n",
		ms(j.load), ms(first), ms(times[0]), ms(times[len(times)/2]), len(times), memory)
	return nil
}

// resident returns how many bytes of the process are in memory, 0 where Linux does not say it.
func resident() int64 {
	raw, err := os.ReadFile("/proc/self/statm")
	var all, pages int64
	if _, scanned := fmt.Sscan(string(raw), &all, &pages); err != nil || scanned != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}
