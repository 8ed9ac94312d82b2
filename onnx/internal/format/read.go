package format

import (
	"fmt"
	"math"
)

// list reads one element of a repeated message and appends it.
func list[T any](d *decoder, to *[]*T, f field, read func(d *decoder, b []byte) (*T, error)) error {
	v, err := one(d, f, read)
	if err == nil {
		*to = append(*to, v)
	}
	return err
}

// one reads a field that is a message.
func one[T any](d *decoder, f field, read func(d *decoder, b []byte) (*T, error)) (*T, error) {
	b, err := f.block()
	if err != nil {
		return nil, err
	}
	return read(d, b)
}

// words appends a field that is one of a list of strings.
func words(to *[]string, f field) error {
	var s string
	err := f.text(&s)
	*to = append(*to, s)
	return err
}

// ReadModel reads a file. What it returns refers to b, which stays as it is.
func ReadModel(b []byte) (*Model, error) {
	d, m := &decoder{}, &Model{Metadata: map[string]string{}}
	err := d.each("model", b, func(f field) (err error) {
		switch f.number {
		case 1:
			m.IRVersion, err = f.integer()
		case 2:
			err = f.text(&m.Producer)
		case 3:
			err = f.text(&m.ProducerVersion)
		case 4:
			err = f.text(&m.Domain)
		case 5:
			m.Version, err = f.integer()
		case 6:
			err = f.text(&m.Doc)
		case 7:
			m.Graph, err = one(d, f, readGraph)
		case 8:
			err = opset(d, &m.Opsets, f)
		case 14:
			err = pair(d, m.Metadata, f)
		case 25:
			err = list(d, &m.Functions, f, readFunction)
		}
		return err
	})
	if err == nil && m.Graph == nil {
		err = fmt.Errorf("%w: it has no graph", ErrFormat)
	}
	return m, err
}

// ReadFunction reads a function alone.
func ReadFunction(b []byte) (*Function, error) { return readFunction(&decoder{}, b) }

// ReadTensor reads a tensor alone, as a file of test data holds it.
func ReadTensor(b []byte) (*Tensor, error) { return readTensor(&decoder{}, b) }

// ReadSequence reads a sequence alone.
func ReadSequence(b []byte) (*Sequence, error) { return readSequence(&decoder{}, b) }

// ReadOptional reads an optional value alone.
func ReadOptional(b []byte) (*Optional, error) { return readOptional(&decoder{}, b) }

func opset(d *decoder, to *[]Opset, f field) error {
	b, err := f.block()
	if err != nil {
		return err
	}
	var o Opset
	err = d.each("opset", b, func(f field) (err error) {
		switch f.number {
		case 1:
			err = f.text(&o.Domain)
		case 2:
			o.Version, err = f.integer()
		}
		return err
	})
	*to = append(*to, o)
	return err
}

func pair(d *decoder, to map[string]string, f field) error {
	b, err := f.block()
	if err != nil {
		return err
	}
	var key, value string
	err = d.each("entry", b, func(f field) (err error) {
		switch f.number {
		case 1:
			err = f.text(&key)
		case 2:
			err = f.text(&value)
		}
		return err
	})
	to[key] = value
	return err
}

func readGraph(d *decoder, b []byte) (*Graph, error) {
	g := &Graph{}
	return g, d.each("graph", b, func(f field) (err error) {
		switch f.number {
		case 1:
			err = list(d, &g.Nodes, f, readNode)
		case 2:
			err = f.text(&g.Name)
		case 5:
			err = list(d, &g.Initializers, f, readTensor)
		case 11:
			err = list(d, &g.Inputs, f, readValue)
		case 12:
			err = list(d, &g.Outputs, f, readValue)
		case 13:
			err = list(d, &g.Values, f, readValue)
		case 15:
			var values *Tensor
			if values, err = one(d, f, readSparse); err == nil {
				g.Sparse = append(g.Sparse, values.Name)
			}
		}
		return err
	})
}

func readFunction(d *decoder, b []byte) (*Function, error) {
	fn := &Function{}
	return fn, d.each("function", b, func(f field) (err error) {
		switch f.number {
		case 1:
			err = f.text(&fn.Name)
		case 4:
			err = words(&fn.Inputs, f)
		case 5:
			err = words(&fn.Outputs, f)
		case 6:
			err = words(&fn.Attributes, f)
		case 7:
			err = list(d, &fn.Nodes, f, readNode)
		case 9:
			err = opset(d, &fn.Opsets, f)
		case 10:
			err = f.text(&fn.Domain)
		case 11:
			err = list(d, &fn.Defaults, f, readAttribute)
		case 13:
			err = f.text(&fn.Overload)
		}
		return err
	})
}

func readNode(d *decoder, b []byte) (*Node, error) {
	n := &Node{}
	return n, d.each("node", b, func(f field) (err error) {
		switch f.number {
		case 1:
			err = words(&n.Inputs, f)
		case 2:
			err = words(&n.Outputs, f)
		case 3:
			err = f.text(&n.Name)
		case 4:
			err = f.text(&n.Operator)
		case 5:
			err = list(d, &n.Attributes, f, readAttribute)
		case 7:
			err = f.text(&n.Domain)
		case 8:
			err = f.text(&n.Overload)
		}
		return err
	})
}

func readAttribute(d *decoder, b []byte) (*Attribute, error) {
	a := &Attribute{}
	return a, d.each("attribute", b, func(f field) (err error) {
		var n int64
		switch f.number {
		case 1:
			err = f.text(&a.Name)
		case 2:
			a.Float = math.Float32frombits(uint32(f.n))
		case 3:
			a.Int, err = f.integer()
		case 4:
			err = f.text(&a.String)
		case 5:
			a.Tensor, err = one(d, f, readTensor)
		case 6:
			a.Graph, err = one(d, f, readGraph)
		case 7:
			a.Floats, err = f.floats(a.Floats)
		case 8:
			a.Ints, err = f.integers(a.Ints)
		case 9:
			err = words(&a.Strings, f)
		case 11:
			err = list(d, &a.Graphs, f, readGraph)
		case 20:
			n, err = f.integer()
			a.Kind = Kind(n)
		case 21:
			err = f.text(&a.Ref)
		}
		return err
	})
}

func readValue(d *decoder, b []byte) (*Value, error) {
	v := &Value{}
	return v, d.each("value", b, func(f field) (err error) {
		switch f.number {
		case 1:
			err = f.text(&v.Name)
		case 2:
			v.Type, err = one(d, f, readType)
		}
		return err
	})
}

func readType(d *decoder, b []byte) (*Type, error) {
	t := &Type{}
	return t, d.each("type", b, func(f field) (err error) {
		switch f.number {
		case 1:
			t.Form = FormTensor
			var inner []byte
			if inner, err = f.block(); err == nil {
				err = t.tensor(d, inner)
			}
		case 4, 9:
			t.Form = FormSequence
			if f.number == 9 {
				t.Form = FormOptional
			}
			var inner []byte
			if inner, err = f.block(); err == nil {
				err = d.each("type", inner, func(f field) (err error) {
					if f.number == 1 {
						t.Of, err = one(d, f, readType)
					}
					return err
				})
			}
		case 5, 7, 8:
			t.Form = FormOther
		}
		return err
	})
}

// tensor reads the type of a tensor.
func (t *Type) tensor(d *decoder, b []byte) error {
	return d.each("type", b, func(f field) error {
		switch f.number {
		case 1:
			n, err := f.integer()
			t.Elem = Elem(n)
			return err
		case 2:
			t.Ranks = true
			b, err := f.block()
			if err != nil {
				return err
			}
			return d.each("shape", b, func(f field) error {
				a, err := one(d, f, readAxis)
				if err == nil {
					t.Axes = append(t.Axes, *a)
				}
				return err
			})
		}
		return nil
	})
}

func readAxis(d *decoder, b []byte) (*Axis, error) {
	a := &Axis{Extent: -1}
	return a, d.each("axis", b, func(f field) (err error) {
		switch f.number {
		case 1:
			a.Extent, err = f.integer()
		case 2:
			err = f.text(&a.Name)
		}
		return err
	})
}

func readTensor(d *decoder, b []byte) (*Tensor, error) {
	t := &Tensor{}
	var packed field // the first field of numbers, if they lie in it as raw elements do
	err := d.each("tensor", b, func(f field) (err error) {
		var n int64
		switch f.number {
		case 1:
			t.Dims, err = f.integers(t.Dims)
		case 2:
			n, err = f.integer()
			t.Elem = Elem(n)
		case 3:
			err = fmt.Errorf("%w: a tensor in segments", ErrFormat)
		case 4:
			if packed.number == 0 && f.wire == wireBytes {
				packed = f
			} else {
				t.Floats, err = f.floats(t.Floats)
			}
		case 5:
			t.Int32s, err = f.integers(t.Int32s)
		case 6:
			err = words(&t.Strings, f)
		case 7:
			t.Int64s, err = f.integers(t.Int64s)
		case 8:
			err = f.text(&t.Name)
		case 9:
			t.HasRaw = true
			t.Raw, err = f.block()
		case 10:
			if packed.number == 0 && f.wire == wireBytes {
				packed = f
			} else {
				t.Doubles, err = f.doubles(t.Doubles)
			}
		case 11:
			t.Uint64s, err = f.integers(t.Uint64s)
		case 13:
			if t.External == nil {
				t.External = map[string]string{}
			}
			err = pair(d, t.External, f)
		case 14:
			n, err = f.integer()
			if err == nil && n == 1 && t.External == nil {
				t.External = map[string]string{}
			}
		}
		return err
	})
	if err == nil && packed.number != 0 {
		err = t.unpack(packed)
	}
	return t, err
}

// unpack gives a tensor the numbers of a field, as raw elements where it has all of them.
func (t *Tensor) unpack(f field) (err error) {
	of := map[Elem]int{Float: 4, Complex64: 4, Double: 10, Complex128: 10}[t.Elem]
	if of == f.number && !t.HasRaw && t.External == nil && len(t.Floats)+len(t.Doubles) == 0 {
		t.Raw, t.HasRaw = f.bytes, true
		return nil
	}
	if f.number == 4 {
		floats, err := f.floats(nil)
		t.Floats = append(floats, t.Floats...)
		return err
	}
	doubles, err := f.doubles(nil)
	t.Doubles = append(doubles, t.Doubles...)
	return err
}

// readSparse reads the elements of a sparse tensor that are not 0, which have its name.
func readSparse(d *decoder, b []byte) (*Tensor, error) {
	values := &Tensor{}
	return values, d.each("sparse tensor", b, func(f field) error {
		if f.number != 1 {
			return nil
		}
		t, err := one(d, f, readTensor)
		if err == nil {
			*values = *t
		}
		return err
	})
}

func readSequence(d *decoder, b []byte) (*Sequence, error) {
	s := &Sequence{}
	return s, d.each("sequence", b, func(f field) (err error) {
		switch f.number {
		case 1:
			err = f.text(&s.Name)
		case 2:
			s.Elem, err = f.integer()
		case 3:
			err = list(d, &s.Tensors, f, readTensor)
		case 5:
			err = list(d, &s.Sequences, f, readSequence)
		case 7:
			err = list(d, &s.Optionals, f, readOptional)
		case 4, 6:
			err = fmt.Errorf("%w: a sequence of maps or of sparse tensors", ErrFormat)
		}
		return err
	})
}

func readOptional(d *decoder, b []byte) (*Optional, error) {
	o := &Optional{}
	return o, d.each("optional", b, func(f field) (err error) {
		switch f.number {
		case 1:
			err = f.text(&o.Name)
		case 3:
			o.Tensor, err = one(d, f, readTensor)
		case 5:
			o.Sequence, err = one(d, f, readSequence)
		case 7:
			o.Optional, err = one(d, f, readOptional)
		case 4, 6:
			err = fmt.Errorf("%w: an optional map or sparse tensor", ErrFormat)
		}
		return err
	})
}
