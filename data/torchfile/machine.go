package torchfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
)

// The values of the machine beside int64, float64, bool, string and []byte.
type (
	// none is Python's None.
	none struct{}
	// mark is where a group of values begins on the stack.
	mark struct{}
	// tuple is a tuple, which is never changed.
	tuple []any
	// list is a list; who refers to it sees what is appended later.
	list struct{ items []any }
	// dict is a dictionary in the order of its insertions.
	dict struct {
		keys, values []any
		at           map[any]int
	}
	// class is a class or a function of Python, by name.
	class struct{ module, name string }
)

func (c class) String() string { return c.module + "." + c.name }

// set puts a value under a key, which is text or an integer.
func (d *dict) set(key, value any) error {
	switch key.(type) {
	case string, int64:
	default:
		return fmt.Errorf("%w: a dictionary with %s as a key; want text or integers", ErrRefused, kindOf(key))
	}
	if i, ok := d.at[key]; ok {
		d.values[i] = value
		return nil
	}
	if d.at == nil {
		d.at = map[any]int{}
	}
	d.at[key] = len(d.keys)
	d.keys, d.values = append(d.keys, key), append(d.values, value)
	return nil
}

// machine runs a pickle. Every value it makes costs the program a byte or more, so memory
// is bounded by the program's size.
type machine struct {
	code  []byte // what is left
	stack []any
	memo  map[uint64]any
}

// run runs a pickle and returns the object that it leaves.
func run(program []byte) (any, error) {
	m := &machine{code: program, memo: map[uint64]any{}}
	for {
		op, err := m.take(1)
		if err != nil {
			return nil, err
		}
		if op[0] == opStop {
			return m.pop()
		}
		if err := m.step(op[0]); err != nil {
			return nil, err
		}
	}
}

// take returns the next n bytes of the program.
func (m *machine) take(n uint64) ([]byte, error) {
	if n > uint64(len(m.code)) {
		return nil, fmt.Errorf("%w: %s ends in the middle of an instruction", ErrFormat, pickled)
	}
	out := m.code[:n]
	m.code = m.code[n:]
	return out, nil
}

// number returns the next n bytes as a number without a sign.
func (m *machine) number(n uint64) (uint64, error) {
	raw, err := m.take(n)
	if err != nil {
		return 0, err
	}
	var word [8]byte
	copy(word[:], raw)
	return binary.LittleEndian.Uint64(word[:]), nil
}

// sized returns as many bytes as the next n say.
func (m *machine) sized(n uint64) ([]byte, error) {
	size, err := m.number(n)
	if err != nil {
		return nil, err
	}
	return m.take(size)
}

// line returns the text up to the end of the line.
func (m *machine) line() (string, error) {
	text, rest, ok := bytes.Cut(m.code, []byte("\n"))
	if !ok {
		return "", fmt.Errorf("%w: %s ends in the middle of a name", ErrFormat, pickled)
	}
	m.code = rest
	return string(text), nil
}

func (m *machine) push(v any) { m.stack = append(m.stack, v) }

func (m *machine) pop() (any, error) {
	v, err := m.top()
	if err == nil {
		m.stack = m.stack[:len(m.stack)-1]
	}
	return v, err
}

// top returns the value on top of the stack, which no mark covers.
func (m *machine) top() (any, error) {
	if len(m.stack) == 0 {
		return nil, fmt.Errorf("%w: %s takes a value that is not there", ErrFormat, pickled)
	}
	v := m.stack[len(m.stack)-1]
	if _, marked := v.(mark); marked {
		return nil, fmt.Errorf("%w: %s takes a value that is not there", ErrFormat, pickled)
	}
	return v, nil
}

// popN takes the n values on top.
func (m *machine) popN(n int) ([]any, error) {
	out := make([]any, n)
	for i := n - 1; i >= 0; i-- {
		v, err := m.pop()
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

// group takes the values above the last mark, and the mark.
func (m *machine) group() ([]any, error) {
	for i := len(m.stack) - 1; i >= 0; i-- {
		if _, ok := m.stack[i].(mark); ok {
			out := append([]any(nil), m.stack[i+1:]...)
			m.stack = m.stack[:i]
			return out, nil
		}
	}
	return nil, fmt.Errorf("%w: %s takes a group of values that has no beginning", ErrFormat, pickled)
}

// The instructions that PyTorch's picklers write, of protocols 2 to 5.
const (
	opMark, opStop, opPop, opPopMark, opDup         = '(', '.', '0', '1', '2'
	opFloat, opInt, opByte, opShort, opNone         = 'G', 'J', 'K', 'M', 'N'
	opPersistent, opReduce, opGlobal, opBuild       = 'Q', 'R', 'c', 'b'
	opText, opOldText, opShortOldText               = 'X', 'T', 'U'
	opAppend, opAppends, opSet, opSets              = 'a', 'e', 's', 'u'
	opGet, opLongGet, opPut, opLongPut              = 'h', 'j', 'q', 'r'
	opEmptyList, opEmptyTuple, opEmptyDict, opTuple = ']', ')', '}', 't'

	opProto, opNew, opTuple1, opTuple2, opTuple3 = 0x80, 0x81, 0x85, 0x86, 0x87
	opTrue, opFalse, opLong, opLong4             = 0x88, 0x89, 0x8a, 0x8b
	opShortText, opText8, opGlobalOf, opMemoize  = 0x8c, 0x8d, 0x93, 0x94
	opFrame                                      = 0x95
	opBytes, opShortBytes                        = 'B', 'C'
)

// step runs an instruction.
func (m *machine) step(op byte) (err error) {
	switch op {
	case opProto:
		_, err = m.take(1)
	case opFrame:
		_, err = m.take(8)
	case opMark:
		m.push(mark{})
	case opPop:
		if len(m.stack) > 0 {
			m.stack = m.stack[:len(m.stack)-1]
		}
	case opPopMark:
		_, err = m.group()
	case opDup:
		var v any
		if v, err = m.top(); err == nil {
			m.push(v)
		}
	case opNone, opTrue, opFalse, opFloat, opInt, opByte, opShort, opLong, opLong4, opText, opText8, opShortText, opOldText, opShortOldText, opBytes, opShortBytes:
		return m.constant(op)
	case opEmptyList, opEmptyTuple, opEmptyDict, opTuple, opTuple1, opTuple2, opTuple3, opAppend, opAppends, opSet, opSets:
		return m.container(op)
	case opGet, opLongGet, opPut, opLongPut, opMemoize:
		return m.remember(op)
	case opGlobal, opGlobalOf, opReduce, opNew, opBuild, opPersistent:
		return m.object(op)
	default:
		err = fmt.Errorf("%w: the instruction %#02x of %s, which torch.save does not write for tensors", ErrRefused, op, pickled)
	}
	return err
}

// constant pushes a number, a truth value or a text.
func (m *machine) constant(op byte) error {
	var word uint64
	var raw []byte
	var err error
	switch op {
	case opNone:
		m.push(none{})
	case opTrue, opFalse:
		m.push(op == opTrue)
	case opFloat:
		if raw, err = m.take(8); err == nil {
			m.push(math.Float64frombits(binary.BigEndian.Uint64(raw)))
		}
	case opInt:
		word, err = m.number(4)
		m.push(int64(int32(word)))
	case opByte:
		word, err = m.number(1)
		m.push(int64(word))
	case opShort:
		word, err = m.number(2)
		m.push(int64(word))
	case opLong, opLong4:
		if raw, err = m.sized(map[byte]uint64{opLong: 1, opLong4: 4}[op]); err == nil {
			m.push(integer(raw))
		}
	case opBytes, opShortBytes:
		if raw, err = m.sized(map[byte]uint64{opBytes: 4, opShortBytes: 1}[op]); err == nil {
			m.push(raw)
		}
	default: // texts
		size := map[byte]uint64{opText: 4, opText8: 8, opShortText: 1, opOldText: 4, opShortOldText: 1}[op]
		if raw, err = m.sized(size); err == nil {
			m.push(string(raw))
		}
	}
	return err
}

// integer returns the number of little-endian bytes in two's complement, or, where 64 bits
// do not hold it, the bytes.
func integer(raw []byte) any {
	if len(raw) > 8 {
		return raw
	}
	var v int64
	for i, b := range raw {
		v |= int64(b) << (8 * i)
	}
	if n := len(raw); n > 0 && n < 8 && raw[n-1]&0x80 != 0 {
		v -= 1 << (8 * n)
	}
	return v
}

// container makes a container, or fills one.
func (m *machine) container(op byte) error {
	var items []any
	var err error
	switch op {
	case opEmptyList:
		m.push(&list{})
		return nil
	case opEmptyDict:
		m.push(&dict{})
		return nil
	case opEmptyTuple, opTuple1, opTuple2, opTuple3:
		items, err = m.popN(map[byte]int{opTuple1: 1, opTuple2: 2, opTuple3: 3}[op])
	case opAppend:
		items, err = m.popN(1)
	case opSet:
		items, err = m.popN(2)
	default: // opTuple, opAppends, opSets
		items, err = m.group()
	}
	if err != nil {
		return err
	}
	switch op {
	case opAppend, opAppends:
		return m.append(items)
	case opSet, opSets:
		return m.put(items)
	}
	m.push(tuple(items))
	return nil
}

// append appends to the list on top.
func (m *machine) append(items []any) error {
	v, err := m.top()
	if err != nil {
		return err
	}
	l, ok := v.(*list)
	if !ok {
		return fmt.Errorf("%w: %s appends to %s", ErrFormat, pickled, kindOf(v))
	}
	l.items = append(l.items, items...)
	return nil
}

// put puts pairs of keys and values into the dictionary on top.
func (m *machine) put(items []any) error {
	v, err := m.top()
	if err != nil {
		return err
	}
	d, ok := v.(*dict)
	if !ok || len(items)%2 != 0 {
		return fmt.Errorf("%w: %s puts %d keys and values into %s", ErrFormat, pickled, len(items), kindOf(v))
	}
	for i := 0; i < len(items); i += 2 {
		if err := d.set(items[i], items[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// remember keeps the value on top under a number, or pushes one that was kept.
func (m *machine) remember(op byte) error {
	at := uint64(len(m.memo))
	var err error
	switch op {
	case opGet, opPut:
		at, err = m.number(1)
	case opLongGet, opLongPut:
		at, err = m.number(4)
	}
	if err != nil {
		return err
	}
	if op == opGet || op == opLongGet {
		v, ok := m.memo[at]
		if !ok {
			return fmt.Errorf("%w: %s asks for value %d, which it did not keep", ErrFormat, pickled, at)
		}
		m.push(v)
		return nil
	}
	v, err := m.top()
	m.memo[at] = v
	return err
}
