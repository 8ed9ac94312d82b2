// Package panics calls every exported function and method of the packages that
// programs import with arguments that make no sense: none panics, none hangs.
package panics_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/dist"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/tests/patience"
)

var (
	rounds = flag.Int("rounds", 4, "calls of each function")
	seed   = flag.Uint64("seed", 1, "of the arguments")
)

// moment is how long a call may take before it may be one that waits for other ranks of a
// group: nobody calls for them, so the groups are given up, which ends the wait.
const moment = 2 * time.Second

// left says what is not called, and why.
var left = map[string]string{
	"tensor.FromDevicePointer": "an address that is no memory's is the caller's to avoid",
	"device.Install":           "it takes the devices away from all other calls",
	"dist.Spawn":               "it runs this program again",
}

// drivers take addresses and calls as they are: what gives them any has checked them.
// Only their zero values are called.
var drivers = map[reflect.Type]bool{reflect.TypeFor[sim.Driver](): true}

// A candidate is a function or a method to call.
type candidate struct {
	name   string
	f      reflect.Value
	of     reflect.Type // whose method it is; nil for a function
	method int
}

// candidates returns the functions, and the methods of values of all types that are
// zero.
func candidates() (list []candidate) {
	for _, f := range functions {
		list = append(list, candidate{name: f.name, f: reflect.ValueOf(f.f)})
	}
	for _, t := range types {
		if t.Kind() == reflect.Interface {
			continue
		}
		v := reflect.New(t)
		for i := range v.NumMethod() {
			list = append(list, candidate{strings.TrimPrefix(t.String(), "*") + "." + v.Type().Method(i).Name, v.Method(i), t, i})
		}
	}
	return list
}

// silent are methods and types whose nil pointers need not say what they are.
var silent = map[string]string{
	"(*onnx.UnsupportedError)(nil).Unwrap": "returns the kind of error, which every one of its type is",
	"(*graph.Capture)(nil).Refuse":         "it returns the error that it is given",
	"(*profile.Profile)(nil).Range":        "it runs the function, so that a program need not ask whether it is profiled",
	"(*stream.Event)(nil)":                 "it is an event that was never recorded",
	"(*sim.Driver)(nil)":                   "it asks host memory of no device, and says of devices that there is no driver",
}

// TestNilReceivers: methods of pointers that are nil return, and say so where they can:
// in their error, or in the tensor that stands for the result. Methods of values are
// left out: Go dereferences the pointer before the call.
func TestNilReceivers(t *testing.T) {
	device.Install(sim.New(sim.Config{Devices: 2, Memory: 1 << 26}))
	p := &pool{made: map[reflect.Type][]reflect.Value{}}
	for _, of := range types {
		if of.Kind() == reflect.Interface {
			continue
		}
		v := reflect.Zero(reflect.PointerTo(of))
		for i := range v.NumMethod() {
			m := v.Type().Method(i)
			if _, ofValue := of.MethodByName(m.Name); ofValue {
				continue
			}
			c := candidate{name: fmt.Sprintf("(%v)(nil).%s", v.Type(), m.Name), f: v.Method(i)}
			p.call(t, c)
			if !t.Failed() && silent[c.name] == "" && silent[strings.TrimSuffix(c.name, "."+m.Name)] == "" {
				tellsOfNil(t, c)
			}
		}
	}
}

// tellsOfNil calls c and looks at the errors and tensors that it returns.
func tellsOfNil(t *testing.T, c candidate) {
	t.Helper()
	args := make([]reflect.Value, c.f.Type().NumIn())
	for i := range args {
		args[i] = reflect.Zero(c.f.Type().In(i))
	}
	call := c.f.Call
	if c.f.Type().IsVariadic() { // whose last argument is then a slice, and nil
		call = c.f.CallSlice
	}
	for _, out := range call(args) {
		var err error
		switch of := out.Interface().(type) {
		case tensor.Tensor:
			err = of.Err()
		case error:
			err = of
		default:
			if out.Type() != reflect.TypeFor[error]() {
				continue
			}
		}
		if err == nil || !strings.Contains(err.Error(), "nil") {
			t.Errorf("%s: the error %v does not say that there is nothing", c.name, err)
		}
	}
}

// TestNothingPanics: a call with zero values, nils, extremes and what other calls
// returned comes back.
func TestNothingPanics(t *testing.T) {
	if testing.Short() {
		*rounds = min(*rounds, 1)
	}
	t.Chdir(t.TempDir())
	device.Install(sim.New(sim.Config{Devices: 2, Memory: 1 << 26}))
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func(old *os.File) { os.Stdout = old }(os.Stdout)
	os.Stdout = null
	p := &pool{made: map[reflect.Type][]reflect.Value{}}
	for _, v := range []any{
		tensor.Ones([]int{2, 3}).RequireGrad(), tensor.Randn([]int{4}).ToType(tensor.Int64), tensor.Full(nil, 2.5), tensor.Zeros([]int{0, 2}), tensor.Ones([]int{-1}), tensor.Tensor{},
		tensor.Ones([]int{2, 3}, tensor.On(device.Sim(0))), device.CPU, device.Sim(0), device.Sim(9), device.CUDA(0), device.Device{Kind: 200, Index: -5},
		ir.Float32, ir.Int64, ir.DType(255), context.Background(), io.Discard, strings.NewReader("no file of ours"), io.EOF,
	} {
		p.add(reflect.ValueOf(v))
	}
	for range 2 { // what the first round made is among the arguments of the second
		for _, c := range candidates() {
			if left[c.name] == "" {
				p.call(t, c)
			}
		}
	}
}

// A pool holds values to call with, by their type.
type pool struct {
	made   map[reflect.Type][]reflect.Value
	groups []*dist.Group // that calls have returned
}

// most is how many values of a type are kept.
const most = 12

func (p *pool) add(v reflect.Value) {
	if v.IsValid() && v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if !v.IsValid() {
		return
	}
	switch g := v.Interface().(type) {
	case *dist.Group:
		p.groups = append(p.groups, g)
	case []*dist.Group:
		p.groups = append(p.groups, g...)
	}
	if l := p.made[v.Type()]; len(l) < most {
		p.made[v.Type()] = append(l, v)
	}
}

// errAlone is why groups are given up.
var errAlone = errors.New("no other rank makes a call")

// giveUp ends the waits for ranks of groups, which later calls are not given any more.
func (p *pool) giveUp() {
	for _, g := range p.groups {
		g.Abort(errAlone)
	}
	p.groups = nil
	delete(p.made, reflect.TypeFor[*dist.Group]())
	delete(p.made, reflect.TypeFor[[]*dist.Group]())
}

// call calls c a few times.
func (p *pool) call(t *testing.T, c candidate) {
	h := fnv.New64a()
	_, _ = io.WriteString(h, c.name)
	r := rand.New(rand.NewPCG(*seed, h.Sum64()))
	ft := c.f.Type()
	for round := range *rounds {
		args := make([]reflect.Value, ft.NumIn())
		for i := range args {
			if args[i] = reflect.Zero(ft.In(i)); round > 0 {
				args[i] = p.value(r, ft.In(i), 0)
			}
		}
		f := c.f
		if round > 0 && c.of != nil && !drivers[c.of] {
			f = p.receiver(r, c)
		}
		begun := time.Now()
		o, ends := p.run(t, f, args)
		if !ends {
			o.said = "it does not return"
		}
		if took := time.Since(begun); took > time.Second {
			t.Logf("%s(%s): took %v", c.name, show(args), took.Round(time.Second/10))
		}
		if o.said != "" {
			t.Errorf("%s(%s): %s", c.name, show(args), o.said)
			return
		}
		for _, v := range o.out {
			p.add(v)
		}
	}
}

// An outcome is what a call returned, or what it said as it panicked.
type outcome struct {
	out  []reflect.Value
	said string
}

// run calls f on a goroutine of its own, and reports whether it returns.
func (p *pool) run(t *testing.T, f reflect.Value, args []reflect.Value) (o outcome, ends bool) {
	back := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			if v := recover(); v != nil {
				o.said = fmt.Sprintf("panic: %v\n%s", v, ours(string(debug.Stack())))
			}
			back <- o
		}()
		tensor.NoGrad(func() error { return nil })
		if f.Type().IsVariadic() {
			o.out = f.CallSlice(args)
		} else {
			o.out = f.Call(args)
		}
		o.said = emptyRange(o.out)
		for _, v := range o.out {
			follow(v)
		}
	}()
	select {
	case o = <-back:
		return o, true
	case <-time.After(moment):
		p.giveUp()
	}
	select {
	case o = <-back:
		return o, true
	case <-time.After(patience.Left(t)):
		return o, false
	}
}

// wanted finds ranges that messages say are accepted.
var wanted = regexp.MustCompile(`(?:want|have|must have|numbers? from|between|in)(?: between| from|) \[?(-?\d+)(?:, | to | and )(-?\d+)`)

// TestEmptyRange: ranges are found in the words that messages have for them.
func TestEmptyRange(t *testing.T) {
	for text, empty := range map[string]bool{
		"k is 1, want a number from 1 to 0":                                  true,
		"k is 4, want a number from 0 to 3":                                  false,
		"index 0 is out of range for axis 0 with 0 elements (want 0 to -1)":  true,
		"index 3 is out of range for axis 0 with 3 elements (want 0 to 2)":   false,
		"want between 1 and 0 axes to normalize in shape [], have 1":         true,
		"kernel [] must have between 1 and 0 entries for shape []":           true,
		"x has elements that are no probabilities: want numbers from 0 to 1": false,
	} {
		if said := emptyRange([]reflect.Value{reflect.ValueOf(errors.New(text))}); (said != "") != empty {
			t.Errorf("%s: %q", text, said)
		}
	}
}

// emptyRange returns what an error among results says is accepted that nothing is.
func emptyRange(out []reflect.Value) string {
	for _, v := range out {
		var err error
		switch of := v.Interface().(type) {
		case tensor.Tensor:
			err = of.Err()
		case error:
			err = of
		}
		if err == nil {
			continue
		}
		for _, m := range wanted.FindAllStringSubmatch(err.Error(), -1) {
			low, _ := strconv.ParseInt(m[1], 10, 64)
			if high, e := strconv.ParseInt(m[2], 10, 64); e == nil && high < low {
				return fmt.Sprintf("the error accepts nothing: %v", err)
			}
		}
	}
	return ""
}

// receiver returns c's method of a value that was made, where there is one.
func (p *pool) receiver(r *rand.Rand, c candidate) reflect.Value {
	if list := p.made[reflect.PointerTo(c.of)]; len(list) > 0 && c.of.Kind() == reflect.Struct {
		if v := list[r.IntN(len(list))]; !v.IsNil() {
			return v.Method(c.method)
		}
	}
	if list := p.made[c.of]; len(list) > 0 {
		v := reflect.New(c.of)
		v.Elem().Set(list[r.IntN(len(list))])
		return v.Method(c.method)
	}
	return c.f
}

// follow goes through the first elements of a sequence.
func follow(v reflect.Value) {
	if v.Kind() != reflect.Func || v.IsNil() {
		return
	}
	n := 0
	switch {
	case v.Type().CanSeq2():
		for range v.Seq2() {
			if n++; n == 3 {
				return
			}
		}
	case v.Type().CanSeq():
		for range v.Seq() {
			if n++; n == 3 {
				return
			}
		}
	}
}

// value returns some value of a type: zero, an extreme one, or one that was made.
func (p *pool) value(r *rand.Rand, t reflect.Type, depth int) reflect.Value {
	made := p.made[t]
	if t.Kind() == reflect.Interface {
		for have, list := range p.made {
			if have.Implements(t) {
				made = append(made[:len(made):len(made)], list...)
			}
		}
	}
	if len(made) > 0 && r.IntN(4) > 0 {
		return made[r.IntN(len(made))]
	}
	v := reflect.New(t).Elem()
	if depth > 3 || r.IntN(6) == 0 {
		return v
	}
	switch t.Kind() {
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 1)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt([]int64{0, 1, -1, 2, 3, math.MaxInt64, math.MinInt64}[r.IntN(7)])
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint([]uint64{0, 1, 2, math.MaxUint64}[r.IntN(4)])
	case reflect.Float32, reflect.Float64:
		v.SetFloat([]float64{0, 1, -1, 0.5, math.NaN(), math.Inf(1), math.Inf(-1), 1e300}[r.IntN(8)])
	case reflect.Complex64, reflect.Complex128:
		v.SetComplex(complex(math.NaN(), 1))
	case reflect.String:
		v.SetString([]string{"x", "a,b->ab", "\x00", strings.Repeat("long ", 1000)}[r.IntN(4)])
	case reflect.Slice:
		n := []int{0, 1, 2, 3, 1000}[r.IntN(5)]
		if n == 1000 && t.Elem().Kind() > reflect.Complex128 {
			n = 4
		}
		v.Set(reflect.MakeSlice(t, n, n))
		for i := range n {
			v.Index(i).Set(p.value(r, t.Elem(), depth+1))
		}
	case reflect.Array:
		for i := range v.Len() {
			v.Index(i).Set(p.value(r, t.Elem(), depth+1))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(t))
		if r.IntN(2) == 0 && t.Key().Comparable() && t.Key().Kind() != reflect.Interface {
			v.SetMapIndex(p.value(r, t.Key(), depth+1), p.value(r, t.Elem(), depth+1))
		}
	case reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		if t.Elem().Kind() != reflect.Struct {
			v.Elem().Set(p.value(r, t.Elem(), depth+1))
		}
	case reflect.Func:
		v.Set(reflect.MakeFunc(t, func([]reflect.Value) (out []reflect.Value) {
			for i := range t.NumOut() {
				out = append(out, reflect.Zero(t.Out(i)))
			}
			return out
		}))
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				v.Field(i).Set(p.value(r, t.Field(i).Type, depth+1))
			}
		}
	case reflect.Chan:
		if t.ChanDir() == reflect.BothDir {
			v.Set(reflect.MakeChan(t, 1))
		}
	}
	return v
}

// show prints arguments, not to the last element.
func show(args []reflect.Value) string {
	var parts []string
	for _, a := range args {
		text := func() (text string) {
			defer func() {
				if recover() != nil {
					text = a.Type().String()
				}
			}()
			return fmt.Sprintf("%v", a)
		}()
		parts = append(parts, strings.ReplaceAll(text[:min(len(text), 120)], "\n", " "))
	}
	return strings.Join(parts, ", ")
}

// ours returns the lines of a stack that are of this module.
func ours(stack string) string {
	var out []string
	for line := range strings.Lines(stack) {
		if strings.Contains(line, ".go:") && strings.Contains(line, "sinter") && !strings.Contains(line, "panics_test.go") {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return strings.Join(out[:min(len(out), 6)], "\n")
}
