package format

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"strings"
	"testing"
)

// message appends a field of bytes to a message.
func message(b []byte, number int, of ...byte) []byte {
	b = binary.AppendUvarint(b, uint64(number<<3|wireBytes))
	b = binary.AppendUvarint(b, uint64(len(of)))
	return append(b, of...)
}

// varint appends a field that is an integer.
func varint(b []byte, number int, v uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, uint64(number<<3|wireVarint)), v)
}

// small returns a model of one node: y = Relu(x).
func small() []byte {
	node := message(nil, 1, 'x')
	node = message(node, 2, 'y')
	node = message(node, 4, []byte("Relu")...)
	graph := message(nil, 1, node...)
	graph = message(graph, 11, message(nil, 1, 'x')...)
	graph = message(graph, 12, message(nil, 1, 'y')...)
	model := varint(nil, 1, 10)
	model = message(model, 8, varint(nil, 2, 17)...)
	return message(model, 7, graph...)
}

func TestReadModel(t *testing.T) {
	m, err := ReadModel(small())
	if err != nil {
		t.Fatal(err)
	}
	n := m.Graph.Nodes[0]
	if n.Operator != "Relu" || n.Inputs[0] != "x" || n.Outputs[0] != "y" || m.Opsets[0].Version != 17 || m.IRVersion != 10 {
		t.Errorf("read %+v, %+v", m, n)
	}
}

// Files that lie are refused, and take no more memory than their size says.
func TestHostile(t *testing.T) {
	deep := []byte{}
	for range 3000 { // a graph in an attribute of a node of a graph ...
		attribute := message(message(nil, 1, 'g'), 6, deep...)
		deep = message(nil, 1, message(nil, 5, attribute...)...)
		if len(deep) > 1<<16 {
			break
		}
	}
	tests := []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "no graph"},
		{"text", []byte("this is no model"), "not a valid"},
		{"a size beyond the end", binary.AppendUvarint([]byte{7<<3 | wireBytes}, 1<<60), "bytes"},
		{"a group", []byte{7<<3 | 3}, "wire type 3"},
		{"field 0", []byte{0, 0}, "no field"},
		{"a number without an end", bytes.Repeat([]byte{0xff}, 20), "no field"},
		{"graphs in graphs", message(nil, 7, deep...), "deep"},
		{"many messages", message(nil, 7, bytes.Repeat([]byte{1<<3 | wireBytes, 0}, maxMessages+1)...), "more than"},
		{"a graph that is a number", varint(nil, 7, 1), "not bytes"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := ReadModel(test.file)
			runtime.ReadMemStats(&after)
			if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one about %q", err, test.want)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > uint64(1<<20+400*len(test.file)) {
				t.Errorf("a file of %d bytes took %d bytes of memory", len(test.file), took)
			}
		})
	}
}

// Every prefix of a file is an error or a model, never a panic.
func TestTruncated(t *testing.T) {
	file := small()
	for i := range file {
		if _, err := ReadModel(file[:i]); err != nil && !errors.Is(err, ErrFormat) {
			t.Errorf("%d bytes: %v", i, err)
		}
	}
}

func FuzzReadModel(f *testing.F) {
	f.Add(small())
	f.Add(message(nil, 25, message(message(nil, 1, 'F'), 7, message(nil, 4, 'R')...)...))                // a function alone
	f.Add(message(small(), 7, message(nil, 5, varint(varint(nil, 1, 1<<60), 14, 1)...)...))              // elements elsewhere, two graphs
	f.Add(message(nil, 7, message(nil, 15, message(nil, 1, message(varint(nil, 2, 1), 9, 1)...)...)...)) // a sparse tensor
	f.Add(append(small(), 0x0a))                                                                         // ends inside a field
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := ReadModel(b); err != nil && !errors.Is(err, ErrFormat) {
			t.Error(err)
		}
	})
}

// Numbers that lie in the file as raw elements do are a part of it; others are listed in their order.
func TestPacked(t *testing.T) {
	floats := func(number int) []byte { return message(nil, number, 0, 0, 128, 63, 0, 0, 0, 64) }
	tests := []struct {
		name           string
		file           []byte
		raw            int
		floats, double int
	}{
		{"floats", append(varint(nil, 2, uint64(Float)), floats(4)...), 8, 0, 0},
		{"the type comes later", append(floats(4), varint(nil, 2, uint64(Float))...), 8, 0, 0},
		{"complex", append(varint(nil, 2, uint64(Complex64)), floats(4)...), 8, 0, 0},
		{"doubles", append(varint(nil, 2, uint64(Double)), floats(10)...), 8, 0, 0},
		{"two lists", append(append(varint(nil, 2, uint64(Float)), floats(4)...), floats(4)...), 0, 4, 0},
		{"another type", append(varint(nil, 2, uint64(Int8)), floats(4)...), 0, 2, 0},
		{"both", append(append(varint(nil, 2, uint64(Double)), floats(4)...), floats(10)...), 0, 2, 1},
		{"raw elements, too", append(append(varint(nil, 2, uint64(Float)), floats(9)...), floats(4)...), 8, 2, 0},
	}
	for _, test := range tests {
		got, err := ReadTensor(test.file)
		if err != nil || len(got.Raw) != test.raw || got.HasRaw != (test.raw > 0) || len(got.Floats) != test.floats || len(got.Doubles) != test.double {
			t.Errorf("%s: %+v, %v", test.name, got, err)
		}
	}
}
