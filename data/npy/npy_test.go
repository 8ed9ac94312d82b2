package npy

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sinter-go/sinter/ir"
)

// members returns the raw members of a zip archive by name, without the
// package's own reader.
func members(t testing.TB, path string) map[string][]byte {
	t.Helper()
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	raw := map[string][]byte{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if raw[strings.TrimSuffix(f.Name, ".npy")], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
		r.Close()
	}
	return raw
}

// expected returns what tests/vectors/formats.py says cases.npz holds.
func expected(t testing.TB) map[string]Array {
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
	want := map[string]Array{}
	for name, a := range arrays {
		d, err := ir.ParseDType(a.DType)
		if err != nil {
			t.Fatal(err)
		}
		data, err := hex.DecodeString(a.Data)
		if err != nil {
			t.Fatal(err)
		}
		want[name] = Array{d, a.Shape, data}
	}
	return want
}

// TestNumPyFiles reads what NumPy wrote, and writes what NumPy would.
func TestNumPyFiles(t *testing.T) {
	want := expected(t)
	raw := members(t, "testdata/cases.npz")
	if len(raw) != len(want) || len(want) < 30 {
		t.Fatalf("%d files for %d arrays", len(raw), len(want))
	}
	for name, a := range want {
		t.Run(name, func(t *testing.T) {
			got, err := Read(iotest.OneByteReader(bytes.NewReader(raw[name])))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(a, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("array (-want +got):\n%s", diff)
			}
			var again bytes.Buffer
			if err := Write(&again, a); err != nil {
				t.Fatal(err)
			}
			for _, other := range []string{"-big", "-fortran", "version"} {
				if strings.Contains(name, other) { // written another way than ours
					raw[name] = nil
				}
			}
			if raw[name] != nil && !bytes.Equal(raw[name], again.Bytes()) {
				t.Errorf("wrote\n%q, NumPy\n%q", again.Bytes(), raw[name])
			}
			if back, err := Read(&again); err != nil || !cmp.Equal(a, back, cmpopts.EquateEmpty()) {
				t.Errorf("written and read again: %v, error %v", back, err)
			}
		})
	}
}

func TestUnsupportedDTypes(t *testing.T) {
	raw := members(t, "testdata/rejected.npz")
	for name, data := range raw {
		_, err := Read(bytes.NewReader(data))
		if !errors.Is(err, ErrDType) || !strings.Contains(err.Error(), "float32") && !strings.Contains(err.Error(), "<f4") {
			t.Errorf("%s: error %v; want ErrDType and what is supported", name, err)
		}
	}
	if len(raw) != 8 {
		t.Errorf("%d files, want 8", len(raw))
	}
}

func TestReadSequence(t *testing.T) {
	var stream bytes.Buffer
	want := []Array{
		{ir.Int16, []int{2}, []byte{1, 0, 2, 0}},
		{ir.Bool, []int{}, []byte{1}},
		{ir.Float64, []int{0, 3}, []byte{}},
	}
	for _, a := range want {
		if err := Write(&stream, a); err != nil {
			t.Fatal(err)
		}
	}
	var got []Array
	for {
		a, err := Read(&stream)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, a)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("arrays (-want +got):\n%s", diff)
	}
}

func TestFiles(t *testing.T) {
	want := expected(t)["float32"]
	got, err := ReadFile("testdata/matrix.npy")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("array (-want +got):\n%s", diff)
	}
	path := filepath.Join(t.TempDir(), "a.npy")
	if err := WriteFile(path, want); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(path, Array{}); !errors.Is(err, ErrDType) {
		t.Errorf("a zero array gave %v", err)
	}
	ours, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if numpys, _ := os.ReadFile("testdata/matrix.npy"); !bytes.Equal(ours, numpys) {
		t.Errorf("wrote\n%q, NumPy\n%q", ours, numpys)
	}
	for name, raw := range map[string][]byte{"longer": append(ours, 0), "cut": ours[:len(ours)-1], "empty": nil} {
		if err := os.WriteFile(path, raw, 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadFile(path); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s file gave %v; want ErrFormat and the path", name, err)
		}
	}
	if _, err := ReadFile(path + ".missing"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file gave %v", err)
	}
}

// TestReaderFails checks that a failing reader is not taken for a bad file.
func TestReaderFails(t *testing.T) {
	raw := members(t, "testdata/cases.npz")["float32"]
	cause := errors.New("connection lost")
	for _, n := range []int{0, 3, 9, 50, len(raw) - 1} {
		_, err := Read(io.MultiReader(bytes.NewReader(raw[:n]), iotest.ErrReader(cause)))
		if !errors.Is(err, cause) || errors.Is(err, ErrFormat) {
			t.Errorf("failing after %d bytes gave %v", n, err)
		}
	}
}

// file returns the bytes of a version 1.0 file with the given header and n
// bytes of data.
func file(header string, n int) []byte {
	raw := binary.LittleEndian.AppendUint16([]byte(magic+"\x01\x00"), uint16(len(header)))
	return append(append(raw, header...), make([]byte, n)...)
}

func shaped(descr, shape string, n int) []byte {
	return file("{'descr': '"+descr+"', 'fortran_order': False, 'shape': "+shape+", }\n", n)
}

func TestMalformed(t *testing.T) {
	const good = "'descr': '|u1', 'fortran_order': False, 'shape': (1,)"
	deep := "(" + strings.Repeat("1,", 65) + ")"
	cases := []struct {
		name  string
		input []byte
		want  string // part of the message
	}{
		{"magic cut", []byte(magic), "unexpected EOF"},
		{"other file", []byte("PK\x03\x04 something"), "begins with"},
		{"version 0", []byte(magic + "\x00\x00\x02\x00{}"), "version 0.0"},
		{"version 4", []byte(magic + "\x04\x00\x02\x00{}"), "version 4.0"},
		{"version 1.1", []byte(magic + "\x01\x01\x02\x00{}"), "version 1.1"},
		{"length cut", []byte(magic + "\x01\x00\x02"), "header length"},
		{"length missing", []byte(magic + "\x02\x00"), "header length"},
		{"header cut", []byte(magic + "\x01\x00\x09\x00{"), "read 1 of 9"},
		{"header huge", []byte(magic + "\x02\x00\xff\xff\xff\xff{"), "at most 65535"},
		{"version 3 not UTF-8", []byte(magic + "\x03\x00\x02\x00\x00\x00{\xff"), "UTF-8"},
		{"header empty", file("", 0), `want "{"`},
		{"not a dictionary", file("[]", 0), `want "{"`},
		{"dictionary open", file("{"+good, 1), `want "}"`},
		{"more after it", file("{"+good+"} + 1", 1), "follows the dictionary"},
		{"key twice", file("{"+good+", 'descr': '|u1'}", 1), `"descr" is there twice`},
		{"key missing", file("{'descr': '|u1', 'shape': (1,)}", 1), "want"},
		{"key unknown", file("{"+good+", 'x': 'y'}", 1), "has keys"},
		{"key not a string", file("{1: 2}", 0), "want a string"},
		{"string open", file("{'descr", 0), "without escapes"},
		{"string escaped", file(`{'des\x63r': '|u1'}`, 0), "without escapes"},
		{"order not a boolean", file("{'descr': '|u1', 'fortran_order': 'no', 'shape': (1,)}", 1), "want True or False"},
		{"order a number", file("{'descr': '|u1', 'fortran_order': 0, 'shape': (1,)}", 1), "want a string"},
		{"code", file("{'descr': __import__('os'), }", 0), "want a string"},
		{"shape a string", shaped("|u1", "'(1,)'", 1), "want a tuple"},
		{"shape a number", shaped("|u1", "(1)", 1), "not a tuple"},
		{"shape open", shaped("|u1", "(1, 2", 1), "want an integer"},
		{"extent negative", shaped("|u1", "(-1,)", 1), "negative"},
		{"extent fractional", shaped("|u1", "(1.5,)", 1), "want \")\""},
		{"extent missing", shaped("|u1", "(,)", 1), "want an integer"},
		{"extent overflows", shaped("|u1", "(99999999999999999999,)", 1), "too many elements"},
		{"product overflows", shaped("|u1", "(4294967296, 4294967296)", 1), "too many elements"},
		{"product overflows past 0", shaped("|u1", "(4294967296, 4294967296, 0)", 0), "too many elements"},
		{"bytes overflow", shaped("<f8", "(2305843009213693952,)", 1), "too many elements"},
		{"too many axes", shaped("|u1", deep, 1), "65 axes; at most 64"},
		{"data cut", shaped("<f4", "(2, 2)", 15), "float32[2 2]"},
		{"data missing", shaped("<f8", fmt.Sprintf("(%d,)", math.MaxInt/64), 15), "read 15 of"},
		{"bool of 2", append(shaped("|b1", "(2,)", 1), 2), "element 1 is stored as 2"},
		{"list open", file("{'descr': [('a', '<f4', 'fortran_order': False}", 0), "want a list"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Read(bytes.NewReader(c.input))
			runtime.ReadMemStats(&after)
			if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v; want ErrFormat with %q", err, c.want)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
				t.Errorf("allocated %d bytes for an input of %d", used, len(c.input))
			}
		})
	}
}

// TestLenient lists spellings that NumPy accepts and does not write today.
func TestLenient(t *testing.T) {
	for name, header := range map[string]string{
		"double quotes": `{"descr": "<i2", "fortran_order": False, "shape": (2,)}`,
		"other order":   `{'shape': (2,), 'fortran_order': True, 'descr': '<i2'}`,
		"tight":         `{'descr':'<i2','fortran_order':False,'shape':(2,)}`,
		"python 2 long": `{'descr': '<i2', 'fortran_order': False, 'shape': (2L,), }`,
		"lines":         "{\n 'descr': '<i2',\n 'fortran_order': False,\n 'shape': (2,),\n}\n",
	} {
		got, err := Read(bytes.NewReader(append(file(header, 0), 1, 2, 3, 4)))
		if want := (Array{ir.Int16, []int{2}, []byte{1, 2, 3, 4}}); err != nil || !cmp.Equal(want, got) {
			t.Errorf("%s: %v, error %v", name, got, err)
		}
	}
}

func TestByteOrders(t *testing.T) {
	for _, descr := range []string{">u1", "<u1", "=i2", "i2", "|f4", ">V2", "|V2", "<b1", "", "<", "<f", "<f3", "<i16"} {
		if _, err := Read(bytes.NewReader(shaped(descr, "(0,)", 0))); !errors.Is(err, ErrDType) {
			t.Errorf("dtype %q gave error %v; want ErrDType", descr, err)
		}
	}
}

func TestWriteErrors(t *testing.T) {
	cases := []struct {
		name  string
		array Array
		want  string
	}{
		{"no dtype", Array{}, "unsupported NumPy dtype invalid (have"},
		{"negative extent", Array{ir.Uint8, []int{-1}, nil}, "negative extent"},
		{"product overflows", Array{ir.Uint8, []int{math.MaxInt, 2}, nil}, "too many elements"},
		{"too many axes", Array{ir.Uint8, make([]int, 65), nil}, "65 axes"},
		{"too little data", Array{ir.Float32, []int{2, 3}, make([]byte, 23)}, "23 bytes of data; float32[2 3] takes 24"},
		{"bool of 2", Array{ir.Bool, nil, []byte{2}}, "element 0 is stored as 2"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var w bytes.Buffer
			for call, err := range map[string]error{
				"Write":        Write(&w, c.array),
				"WriteArchive": WriteArchive(&w, []Named{{"a", c.array}}, Deflate),
			} {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s gave error %v; want one with %q", call, err, c.want)
				}
			}
			if w.Len() != 0 {
				t.Errorf("%d bytes were written", w.Len())
			}
		})
	}
}

// TestMaxRank checks that the largest header a shape can need is written and read.
func TestMaxRank(t *testing.T) {
	shape := []int{0}
	for len(shape) < maxRank {
		shape = append(shape, 1)
	}
	shape[1] = math.MaxInt / 32
	var w bytes.Buffer
	want := Array{ir.Float64, shape, []byte{}}
	if err := Write(&w, want); err != nil {
		t.Fatal(err)
	}
	if w.Len()%alignment != 0 {
		t.Errorf("%d bytes before the data, not a multiple of %d", w.Len(), alignment)
	}
	if got, err := Read(&w); err != nil || !cmp.Equal(want, got) {
		t.Errorf("read %v, error %v; want %v", got, err, want)
	}
}
