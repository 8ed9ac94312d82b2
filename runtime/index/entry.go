package index

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
)

// kind is what an entry of an index is.
type kind uint8

const (
	number   kind = iota // one place along an axis, which goes away
	span                 // a range of an axis
	newAxis              // an axis of extent 1
	ellipsis             // as many whole axes as others leave
	places               // a tensor of places along an axis
	mask                 // a bool tensor over one axis or more
)

// An entry is one element of an index.
type entry struct {
	kind           kind
	number         int
	from, to, step int // of a span; from and to may be Open
	tensor         *core.Tensor
}

// whole is all of an axis.
var whole = entry{kind: span, from: Open, to: Open, step: 1}

// axes returns how many axes of the tensor e is about.
func (e *entry) axes() int {
	switch e.kind {
	case newAxis, ellipsis:
		return 0
	case mask:
		return e.tensor.Rank()
	}
	return 1
}

// entries returns what ix holds. Lists become tensors on x's device.
func entries(x *core.Tensor, ix []any) ([]entry, error) {
	var out []entry
	for i, v := range ix {
		var err error
		if text, ok := v.(string); ok {
			out, err = parse(out, text)
		} else {
			var e entry
			e, err = entryOf(x, v)
			out = append(out, e)
		}
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", i, err)
		}
	}
	return out, nil
}

// entryOf returns the entry that a Go value other than a text stands for.
func entryOf(x *core.Tensor, v any) (entry, error) {
	switch v := v.(type) {
	case int:
		return entry{kind: number, number: v}, nil
	case interface{ Bounds() (from, to, step int) }:
		e := entry{kind: span}
		e.from, e.to, e.step = v.Bounds()
		return e, stepError(e.step)
	case interface{ Handle() *core.Tensor }:
		return ofTensor(v.Handle())
	case []int:
		list := make([]int64, len(v))
		for i, n := range v {
			list[i] = int64(n)
		}
		return ofTensor(core.From(list, nil, core.Placement{Device: x.Device()}))
	case []int64:
		return ofTensor(core.From(v, nil, core.Placement{Device: x.Device()}))
	case []int32:
		return ofTensor(core.From(v, nil, core.Placement{Device: x.Device()}))
	case []bool:
		return ofTensor(core.From(v, nil, core.Placement{Device: x.Device()}))
	}
	switch r := reflect.ValueOf(v); {
	case r.IsValid() && r.CanInt() && int64(int(r.Int())) == r.Int():
		return entry{kind: number, number: int(r.Int())}, nil
	case r.IsValid() && r.CanUint() && r.Uint() <= math.MaxInt:
		return entry{kind: number, number: int(r.Uint())}, nil
	}
	return entry{}, fmt.Errorf("%v of type %T; want an integer, a Range, a text such as \"1:-1, ...\", a tensor of places (int32, int64) or a mask (bool), or a list of these", v, v)
}

func ofTensor(t *core.Tensor) (entry, error) {
	if err := t.Err(); err != nil {
		return entry{}, err
	}
	switch t.DType() {
	case ir.Bool:
		if t.Rank() == 0 {
			return entry{}, errors.New("a mask without axes; want one axis or more")
		}
		return entry{kind: mask, tensor: t}, nil
	case ir.Int32, ir.Int64:
		return entry{kind: places, tensor: t}, nil
	}
	return entry{}, fmt.Errorf("%w: a tensor of %s; want int32 or int64 for places, bool for a mask", core.ErrDType, t.DType())
}

// parse appends the entries of a text to out: integers, ranges such as ::2, names of
// a new axis and an ellipsis, with commas between them.
func parse(out []entry, text string) ([]entry, error) {
	for word := range strings.SplitSeq(text, ",") {
		e, err := parseWord(strings.TrimSpace(word))
		if err != nil {
			return nil, fmt.Errorf("%q: %w", text, err)
		}
		out = append(out, e)
	}
	return out, nil
}

func parseWord(word string) (entry, error) {
	switch word {
	case "...":
		return entry{kind: ellipsis}, nil
	case "newaxis", "None":
		return entry{kind: newAxis}, nil
	}
	bounds := strings.Split(word, ":")
	if len(bounds) == 1 {
		n, err := strconv.Atoi(word)
		if err != nil {
			return entry{}, fmt.Errorf("%q is no integer, range, newaxis or ellipsis (...)", word)
		}
		return entry{kind: number, number: n}, nil
	}
	if len(bounds) > 3 {
		return entry{}, fmt.Errorf("%q has %d colons; want from:to or from:to:step", word, len(bounds)-1)
	}
	e := whole
	for i, b := range bounds {
		if b = strings.TrimSpace(b); b == "" {
			continue
		}
		n, err := strconv.Atoi(b)
		if err != nil {
			return entry{}, fmt.Errorf("%q in the range %q is no integer", b, word)
		}
		*[]*int{&e.from, &e.to, &e.step}[i] = n
	}
	return e, stepError(e.step)
}

func stepError(step int) error {
	if step == 0 {
		return errors.New("a range with step 0; want a step that is not 0")
	}
	return nil
}

// filled returns entries with what an ellipsis stands for in its place, for a tensor
// of the given shape. Without one, it is at the end.
func filled(es []entry, shape []int) ([]entry, error) {
	used, at := 0, -1
	for i, e := range es {
		used += e.axes()
		if e.kind == ellipsis {
			if at >= 0 {
				return nil, errors.New("two ellipses; want one at most")
			}
			at = i
		}
	}
	if used > len(shape) {
		return nil, fmt.Errorf("%w: an index of %d axes into a tensor of %d, with shape %v", ir.ErrShape, used, len(shape), shape)
	}
	rest := slices.Repeat([]entry{whole}, len(shape)-used)
	if at < 0 {
		return append(es, rest...), nil
	}
	return slices.Replace(es, at, at+1, rest...), nil
}

// bounds returns the elements of an axis of n elements that a span names: extent of
// them from start on, step apart, and whether in reverse. Bounds outside are cut, as
// Python's.
func (e *entry) bounds(n int) (start, extent, step int, reverse bool) {
	cut := func(i, open, least, most int) int {
		if i == Open {
			return open
		}
		if i < 0 {
			i += n
		}
		return min(max(i, least), most)
	}
	if e.step > 0 {
		from, to := cut(e.from, 0, 0, n), cut(e.to, n, 0, n)
		if to <= from {
			return from, 0, 1, false
		}
		step = min(e.step, n)
		return from, (to-from-1)/step + 1, step, false
	}
	from, to := cut(e.from, n-1, -1, n-1), cut(e.to, -1, -1, n-1)
	if from <= to {
		return 0, 0, 1, false
	}
	step = min(max(e.step, -n), n) // -MinInt is no int
	step = -step
	extent = (from-to-1)/step + 1
	return from - (extent-1)*step, extent, step, true
}
