package safetensors

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sinter-go/sinter/ir"
)

// expected returns what tests/vectors/formats.py says every.safetensors holds.
func expected(t testing.TB) map[string]Tensor {
	t.Helper()
	raw, err := os.ReadFile("testdata/arrays.json")
	if err != nil {
		t.Fatal(err)
	}
	var arrays map[string]struct {
		DType, Data string
		Shape       []int
	}
	if err := json.Unmarshal(raw, &arrays); err != nil {
		t.Fatal(err)
	}
	want := map[string]Tensor{}
	for name, a := range arrays {
		d, err := ir.ParseDType(a.DType)
		if err != nil {
			t.Fatal(err)
		}
		data, err := hex.DecodeString(a.Data)
		if err != nil {
			t.Fatal(err)
		}
		want[name] = Tensor{name, d, a.Shape, data}
	}
	return want
}

func TestReadReferenceFile(t *testing.T) {
	want := expected(t)
	f, err := Open("testdata/every.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if diff := cmp.Diff(map[string]string{"format": `any "kind" <of> text`}, f.Metadata()); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	got := map[string]Tensor{}
	for _, name := range f.Names() {
		info, err := f.Info(name)
		if err != nil {
			t.Fatal(err)
		}
		tensor, err := f.Read(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.DType != tensor.DType || info.Bytes != int64(len(tensor.Data)) || !slices.Equal(info.Shape, tensor.Shape) {
			t.Errorf("info %+v of tensor %+v", info, tensor)
		}
		got[name] = tensor
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("tensors (-want +got):\n%s", diff)
	}

	raw, err := os.ReadFile("testdata/every.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	all, metadata, err := Read(iotest.OneByteReader(bytes.NewReader(raw)))
	if err != nil {
		t.Fatal(err)
	}
	whole, _, err := ReadFile("testdata/every.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(whole, all); diff != "" {
		t.Errorf("ReadFile and Read differ (-ReadFile +Read):\n%s", diff)
	}
	if diff := cmp.Diff(f.Metadata(), metadata); diff != "" {
		t.Errorf("metadata (-Open +Read):\n%s", diff)
	}
}

// TestWriteAsReference checks that the reference implementation's file is
// written byte for byte, whatever the order the tensors come in.
func TestWriteAsReference(t *testing.T) {
	want, err := os.ReadFile("testdata/every.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	tensors := expected(t)
	for range 5 { // map order differs each time
		var got bytes.Buffer
		err := Write(&got, slices.Collect(maps.Values(tensors)), map[string]string{"format": `any "kind" <of> text`})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.Bytes()); diff != "" {
			t.Fatalf("file (-reference +ours):\n%s", diff)
		}
	}
	none, err := os.ReadFile("testdata/none.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := Write(&got, nil, nil); err != nil || !bytes.Equal(got.Bytes(), none) {
		t.Errorf("no tensors: %q, error %v; want %q", got.Bytes(), err, none)
	}
}

// TestDTypeOrder checks names, sizes and order of all dtypes against a file in
// which the reference implementation sorted one tensor of each it can write.
func TestDTypeOrder(t *testing.T) {
	f, err := Open("testdata/order.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var got, want []string
	for _, name := range f.Names() {
		info, err := f.Info(name)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, info.Stored)
		tensor, err := f.Read(name)
		if info.DType != ir.Invalid {
			if err != nil || len(tensor.Data) != int(info.Bytes) || info.DType.String() != name {
				t.Errorf("%s: read %d bytes of %v, error %v", name, len(tensor.Data), info.DType, err)
			}
			continue
		}
		if !errors.Is(err, ErrDType) || !strings.Contains(err.Error(), info.Stored+" (have [BOOL U8 ") {
			t.Errorf("%s: error %v; want one that names %s and what is supported", name, err, info.Stored)
		}
	}
	for _, k := range slices.Backward(kinds) {
		if !strings.HasPrefix(k.name, "F6_") { // numpy has no such type to write
			want = append(want, k.name)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("dtypes (-ours +reference):\n%s", diff)
	}
	if _, _, err := ReadFile("testdata/order.safetensors"); !errors.Is(err, ErrDType) {
		t.Errorf("ReadFile gave %v, want ErrDType", err)
	}
}

func TestWriteFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.safetensors")
	want := []Tensor{{"w", ir.Float32, []int{2}, []byte{0, 0, 128, 63, 0, 0, 0, 64}}}
	meta := map[string]string{"step": "12", "arch": "mlp"}
	if err := WriteFile(path, want, meta); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(path, []Tensor{{Name: "bad"}}, nil); !errors.Is(err, ErrDType) {
		t.Errorf("a tensor without a dtype gave %v", err)
	}
	got, gotMeta, err := ReadFile(path) // the first file is still there
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tensors (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(meta, gotMeta); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	if err := WriteFile(filepath.Join(path, "under"), want, nil); err == nil {
		t.Error("wrote below a file")
	}
	if _, err := Open(path + ".missing"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file gave %v", err)
	}
}

func TestFileErrors(t *testing.T) {
	raw, err := os.ReadFile("testdata/every.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	f, err := NewFile(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Read("nobody"); !errors.Is(err, ErrNotFound) {
		t.Errorf("Read of an unknown name gave %v", err)
	}
	if _, err := f.Info("nobody"); !errors.Is(err, ErrNotFound) {
		t.Errorf("Info of an unknown name gave %v", err)
	}
	if err := f.ReadInto("scalar", make([]byte, 7)); err == nil {
		t.Error("7 bytes were enough for a float64")
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	cut := bytes.NewReader(raw[:len(raw)-1])
	if f, err = NewFile(cut, int64(len(raw))); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Read("bool.matrix"); !errors.Is(err, io.EOF) {
		t.Errorf("a file cut after opening gave %v", err)
	}
}

// file returns the bytes of a file with the given header and n bytes of data.
func file(header string, n int) []byte {
	raw := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(raw, header...), make([]byte, n)...)
}

func length(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }

// tensor returns the header of one tensor.
func tensor(dtype, shape, offsets string) string {
	return fmt.Sprintf(`{"t":{"dtype":%s,"shape":%s,"data_offsets":%s}}`, dtype, shape, offsets)
}

func TestMalformed(t *testing.T) {
	const f32 = `"dtype":"F32"`
	cases := []struct {
		name  string
		input []byte
		want  string // part of the message
	}{
		{"empty", nil, "header length"},
		{"short length", make([]byte, 7), "header length"},
		{"header too long", append(length(MaxHeader+1), '{', '}'), "at most 100000000"},
		{"header length overflows", length(math.MaxUint64), "at most 100000000"},
		{"header cut", append(length(10), `{"a":`...), "read 5 of 10"},
		{"header empty", file("", 0), "does not begin"},
		{"header of spaces", file("  {}", 0), "does not begin"},
		{"not an object", file("[]", 0), "does not begin"},
		{"not UTF-8", file("{\"\xff\":{}}", 0), "UTF-8"},
		{"not JSON", file(`{"a":}`, 0), "not JSON"},
		{"trailing comma", file(`{"a":{},}`, 0), "not JSON"},
		{"two objects", file(`{}{}`, 0), "not JSON"},
		{"too deep", file(`{"t":{"x":`+strings.Repeat("[", 1e5)+strings.Repeat("]", 1e5)+`}}`, 0), "not JSON"},
		{"duplicate name", file(`{"a":{`+f32+`,"shape":[0],"data_offsets":[0,0]},"a":{`+f32+`,"shape":[0],"data_offsets":[0,0]}}`, 0), `"a" is there twice`},
		{"duplicate name, escaped", file(`{"a":{`+f32+`,"shape":[0],"data_offsets":[0,0]},"\u0061":{`+f32+`,"shape":[0],"data_offsets":[0,0]}}`, 0), `"a" is there twice`},
		{"duplicate field", file(`{"a":{`+f32+`,`+f32+`}}`, 0), `"dtype" is there twice`},
		{"duplicate metadata", file(`{"__metadata__":{"a":"b","a":"c"}}`, 0), `"a" is there twice`},
		{"metadata not text", file(`{"__metadata__":{"a":1}}`, 0), "want a string"},
		{"metadata null", file(`{"__metadata__":null}`, 0), "want {"},
		{"tensor not an object", file(`{"t":[]}`, 0), "want {"},
		{"no dtype", file(`{"t":{"shape":[1],"data_offsets":[0,1]}}`, 1), `unknown dtype ""`},
		{"fields in capitals", file(`{"t":{"DTYPE":"U8","shape":[1],"data_offsets":[0,1]}}`, 1), `unknown dtype ""`},
		{"no shape", file(`{"t":{"dtype":"U8","data_offsets":[0,1]}}`, 1), "no shape"},
		{"no offsets", file(`{"t":{"dtype":"U8","shape":[1]}}`, 1), "0 data offsets"},
		{"one offset", file(tensor(`"U8"`, `[1]`, `[0]`), 1), "1 data offsets"},
		{"unknown dtype", file(tensor(`"Q4_K"`, `[1]`, `[0,1]`), 1), `unknown dtype "Q4_K"`},
		{"dtype null", file(tensor(`null`, `[1]`, `[0,1]`), 1), "want a string"},
		{"shape null", file(tensor(`"U8"`, `null`, `[0,1]`), 1), "want ["},
		{"extent null", file(tensor(`"U8"`, `[null,1]`, `[0,0]`), 0), "want an integer"},
		{"extent negative", file(tensor(`"U8"`, `[-1]`, `[0,1]`), 1), "found -1"},
		{"extent fractional", file(tensor(`"U8"`, `[1.0]`, `[0,1]`), 1), "found 1.0"},
		{"extent in words", file(tensor(`"U8"`, `["1"]`, `[0,1]`), 1), "want an integer"},
		{"extent over 63 bits", file(tensor(`"U8"`, `[9223372036854775808]`, `[0,1]`), 1), "found 9223372036854775808"},
		{"product overflows", file(tensor(`"U8"`, `[4294967296,4294967296]`, `[0,0]`), 0), "too many elements"},
		{"product overflows past 0", file(tensor(`"U8"`, `[4294967296,4294967296,0]`, `[0,0]`), 0), "too many elements"},
		{"bytes overflow", file(tensor(`"F64"`, `[2305843009213693952]`, `[0,0]`), 0), "too many elements"},
		{"offsets reversed", file(tensor(`"U8"`, `[1]`, `[1,0]`), 1), "do not span"},
		{"offsets too wide", file(tensor(`"U8"`, `[1]`, `[0,2]`), 2), "do not span the 1 bytes of U8[1]"},
		{"offset over 63 bits", file(tensor(`"U8"`, `[1]`, `[18446744073709551615,0]`), 1), "want an integer"},
		{"half a byte", file(tensor(`"F4"`, `[3]`, `[0,1]`), 1), "whole bytes"},
		{"hole at the beginning", file(tensor(`"U8"`, `[1]`, `[1,2]`), 2), "bytes 0 to 1 before"},
		{"hole", file(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}}`, 3), "bytes 1 to 2 before"},
		{"overlap", file(`{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}`, 3), "within the one"},
		{"data cut", file(tensor(`"U8"`, `[9]`, `[0,9]`), 8), ""},
		{"data missing", file(tensor(`"U8"`, `[1099511627776]`, `[0,1099511627776]`), 8), ""},
		{"data too long", file(tensor(`"U8"`, `[9]`, `[0,9]`), 10), ""},
		{"bool of 2", append(file(tensor(`"BOOL"`, `[2]`, `[0,2]`), 1), 2), "element 1 is stored as 2"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			check := func(call string, err error) {
				t.Helper()
				if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s gave error %v; want ErrFormat with %q", call, err, c.want)
				}
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, _, err := Read(bytes.NewReader(c.input))
			check("Read", err)
			f, err := NewFile(bytes.NewReader(c.input), int64(len(c.input)))
			if err == nil {
				_, err = f.Read(f.Names()[0])
			}
			check("NewFile", err)
			runtime.ReadMemStats(&after)
			if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20 {
				t.Errorf("allocated %d bytes for an input of %d", used, len(c.input))
			}
		})
	}
}

// TestLenient lists what is accepted because the reference implementation
// accepts it.
func TestLenient(t *testing.T) {
	cases := []struct {
		name, header string
		n            int
		names        []string
	}{
		{"no tensors", `{}`, 0, []string{}},
		{"spaces after", "{} \n\t", 0, []string{}},
		{"spaces within", `{ "t" : { "dtype" : "U8" , "shape" : [ 1 ] , "data_offsets" : [ 0 , 1 ] } }`, 1, []string{"t"}},
		{"unknown field", `{"t":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"note":{"a":[1,{}]}}}`, 1, []string{"t"}},
		{"header in another order", `{"b":{"dtype":"U8","shape":[1],"data_offsets":[1,2]},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, 2, []string{"a", "b"}},
		{"data not aligned", `{"b":{"dtype":"F64","shape":[],"data_offsets":[1,9]},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, 9, []string{"a", "b"}},
		{"empty tensors between", `{"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"c":{"dtype":"F32","shape":[0,7],"data_offsets":[1,1]}}`, 1, []string{"a", "b", "c"}},
		{"empty name", `{"":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, 1, []string{""}},
		{"metadata last", `{"t":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"__metadata__":{}}`, 1, []string{"t"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			raw := file(c.header, c.n)
			f, err := NewFile(bytes.NewReader(raw), int64(len(raw)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.names, f.Names()); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
			if _, _, err := Read(bytes.NewReader(raw)); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestReaderFails checks that a failing reader is not taken for a bad file.
func TestReaderFails(t *testing.T) {
	raw, err := os.ReadFile("testdata/every.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	cause := errors.New("connection lost")
	for _, n := range []int{0, 4, 100, len(raw) - 1, len(raw)} {
		_, _, err := Read(io.MultiReader(bytes.NewReader(raw[:n]), iotest.ErrReader(cause)))
		if !errors.Is(err, cause) || errors.Is(err, ErrFormat) {
			t.Errorf("failing after %d bytes gave %v", n, err)
		}
	}
}

type failingWriter struct{ room int }

func (w *failingWriter) Write(p []byte) (int, error) {
	if w.room -= len(p); w.room < 0 {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}

func TestWriteErrors(t *testing.T) {
	one := []byte{1}
	cases := []struct {
		name     string
		tensors  []Tensor
		metadata map[string]string
		want     string
	}{
		{"reserved name", []Tensor{{"__metadata__", ir.Uint8, []int{1}, one}}, nil, "reserved"},
		{"name not UTF-8", []Tensor{{"\xff", ir.Uint8, []int{1}, one}}, nil, "UTF-8"},
		{"same name", []Tensor{{"a", ir.Uint8, []int{1}, one}, {"a", ir.Int8, []int{1}, one}}, nil, `"a" is there twice`},
		{"no dtype", []Tensor{{"a", ir.Invalid, []int{1}, one}}, nil, "unsupported dtype invalid (have [BOOL U8"},
		{"complex128", []Tensor{{"a", ir.Complex128, []int{1}, make([]byte, 16)}}, nil, "unsupported dtype complex128"},
		{"negative extent", []Tensor{{"a", ir.Uint8, []int{-1}, one}}, nil, "negative extent"},
		{"product overflows", []Tensor{{"a", ir.Uint8, []int{math.MaxInt, 2}, one}}, nil, "too many elements"},
		{"too little data", []Tensor{{"a", ir.Float32, []int{2, 3}, make([]byte, 23)}}, nil, "23 bytes of data; float32[2 3] takes 24"},
		{"bool of 2", []Tensor{{"a", ir.Bool, nil, []byte{2}}}, nil, "element 0 is stored as 2"},
		{"metadata not UTF-8", nil, map[string]string{"a": "\xff"}, "UTF-8"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var w bytes.Buffer
			err := Write(&w, c.tensors, c.metadata)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v; want one with %q", err, c.want)
			}
			if w.Len() != 0 {
				t.Errorf("%d bytes were written", w.Len())
			}
		})
	}
	tensors := []Tensor{{"a", ir.Uint8, []int{1}, one}}
	for _, room := range []int{0, 64} {
		if err := Write(&failingWriter{room}, tensors, nil); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("a writer with room for %d bytes gave %v", room, err)
		}
	}
}
