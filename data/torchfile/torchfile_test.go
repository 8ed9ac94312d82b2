package torchfile

import (
	"archive/zip"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// stored is a tensor as testdata/files.py wrote it.
type stored struct {
	Name, DType, Data string
	Shape             []int
}

// TestFiles compares what is read with what PyTorch says is in its files.
func TestFiles(t *testing.T) {
	raw, err := os.ReadFile("testdata/tensors.json")
	if err != nil {
		t.Fatal(err)
	}
	var files map[string][]stored
	if err := json.Unmarshal(raw, &files); err != nil {
		t.Fatal(err)
	}
	files["protocol5"] = files["state"]
	for name, want := range files {
		t.Run(name, func(t *testing.T) {
			f, err := Open("testdata/" + name + ".pt")
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			var got []stored
			for _, name := range f.Names() {
				info, err := f.Info(name)
				if err != nil {
					t.Fatal(err)
				}
				s := stored{Name: name, DType: info.DType.String(), Shape: info.Shape}
				x, err := f.Read(name)
				switch {
				case errors.Is(err, ErrDType): // its name is all that is known
					s.DType = strings.TrimPrefix(info.Stored, "torch.")
				case err != nil:
					t.Fatal(err)
				default:
					if diff := cmp.Diff(info.Shape, x.Shape); diff != "" || x.DType != info.DType {
						t.Errorf("%s: Info has %v, Read %v %v", name, info, x.DType, x.Shape)
					}
					s.Data = hex.EncodeToString(x.Data)
				}
				got = append(got, s)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("tensors (-PyTorch +read):\n%s", diff)
			}
		})
	}
}

func TestMetadata(t *testing.T) {
	for name, want := range map[string]map[string]string{
		"state": nil,
		"checkpoint": {
			"epoch": "3", "loss": "0.25", "name": "net", "best": "None", "done": "false", "big": "1099511627776", "minus": "-129",
			"history.0": "1", "history.1": "2.5",
		},
	} {
		f, err := Open("testdata/" + name + ".pt")
		if err != nil {
			t.Fatal(err)
		}
		got := f.Metadata()
		for key := range got {
			if strings.HasPrefix(key, "optimizer.") {
				delete(got, key)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// archive returns a file with these members.
func archive(t testing.TB, members ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for i := 0; i < len(members); i += 2 {
		w, err := z.CreateHeader(&zip.FileHeader{Name: members[i], Method: zip.Store})
		if err == nil {
			_, err = io.WriteString(w, members[i+1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func read(raw []byte) (*File, error) { return NewFile(bytes.NewReader(raw), int64(len(raw))) }

// pickleOf is a pickle of one tensor: its storage's class and count, offset, shape and strides.
func pickleOf(class string, count, offset int, shape, strides string) string {
	return fmt.Sprintf("\x80\x02ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\n%s\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuJ%stQJ%s(%st(%st\x89ccollections\nOrderedDict\n)RtR.",
		class, word(count), word(offset), shape, strides)
}

func word(n int) string { return string([]byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)}) }

// TestBigEndian reads a file of a big-endian machine.
func TestBigEndian(t *testing.T) {
	f, err := read(archive(t, "a/data.pkl", pickleOf("ComplexFloatStorage", 1, 0, "", ""), "a/byteorder", "big", "a/data/0", "\x3f\x80\x00\x00\x40\x00\x00\x01"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.Read("")
	if want := "\x00\x00\x80\x3f\x01\x00\x00\x40"; err != nil || string(got.Data) != want {
		t.Errorf("read %x, error %v, want %x", got.Data, err, want)
	}
}

// TestRefused holds that what is not read is refused by its name.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		is   error
		text string
	}{
		{"old", ErrRefused, "before 1.6"},
		{"model", ErrRefused, "torch.nn.modules.container.Sequential"},
		{"sparse", ErrRefused, "torch._utils._rebuild_sparse_tensor"},
		{"conj", ErrRefused, "[conj]"},
	} {
		path := filepath.Join("testdata", c.name+".pt")
		if _, err := Open(path); !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.text) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.text)
		}
	}
}

// TestBroken holds that files which are not what they seem are refused before anything is read.
func TestBroken(t *testing.T) {
	one := func(class string, count, offset int, shape, strides string) []byte {
		return archive(t, "a/data.pkl", pickleOf(class, count, offset, shape, strides), "a/data/0", "01234567")
	}
	whole, err := os.ReadFile("testdata/state.pt")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		raw  []byte
		is   error
		text string
	}{
		{"nothing", nil, ErrFormat, "zip"},
		{"half", whole[:len(whole)/2], ErrFormat, "zip"},
		{"no pickle", archive(t, "a/version", "3"), ErrFormat, "no member data.pkl"},
		{"no storage", archive(t, "a/data.pkl", pickleOf("FloatStorage", 2, 0, "K\x02", "K\x01")), ErrFormat, "no member data/0"},
		{"twice", archive(t, "a/data.pkl", "}.", "a/data.pkl", "}."), ErrFormat, "twice"},
		{"order", archive(t, "a/data.pkl", "}.", "a/byteorder", "middle"), ErrFormat, `"middle"`},
		{"count", one("FloatStorage", 3, 0, "K\x02", "K\x01"), ErrFormat, "data/0 has 8 bytes, 3 elements of float32 take 12"},
		{"shape", one("FloatStorage", 2, 0, "K\x03", "K\x01"), ErrFormat, "outside its storage of 2 elements"},
		{"offset", one("FloatStorage", 2, 1, "K\x02", "K\x01"), ErrFormat, "from element 1 on"},
		{"negative offset", one("FloatStorage", 2, -1, "K\x01", "K\x01"), ErrFormat, "a tensor made of"},
		{"strides", one("FloatStorage", 2, 0, "K\x02K\x02", "K\x01K\x01"), ErrFormat, "outside"},
		{"large stride", one("FloatStorage", 2, 0, "K\x03", "\x8a\x08"+strings.Repeat("\xff", 7)+"\x7f"), ErrFormat, ""},
		{"ranks", one("FloatStorage", 2, 0, "K\x02", ""), ErrFormat, "a tensor made of"},
		{"repeated", one("FloatStorage", 2, 0, "J\x00\x00\x00\x05", "K\x00"), ErrRefused, "save a clone"},
		{"class", archive(t, "a/data.pkl", "cos\nsystem\nX\x02\x00\x00\x00ls\x85R."), ErrRefused, "os.system"},
		{"class of protocol 4", archive(t, "a/data.pkl", "\x80\x04\x8c\x02os\x8c\x06system\x93."), ErrRefused, "os.system"},
		{"script", archive(t, "a/data.pkl", "\x80\x02c__torch__.Net\nNet\n)\x81."), ErrRefused, "__torch__.Net.Net"},
		{"instruction", archive(t, "a/data.pkl", "\x80\x02\x8f."), ErrRefused, "0x8f"},
		{"end", archive(t, "a/data.pkl", "\x80\x02}"), ErrFormat, "ends in the middle"},
		{"no value", archive(t, "a/data.pkl", "\x80\x02."), ErrFormat, "not there"},
		{"mark", archive(t, "a/data.pkl", "\x80\x02(."), ErrFormat, "not there"},
		{"memo", archive(t, "a/data.pkl", "\x80\x02h\x07."), ErrFormat, "value 7"},
		{"text", archive(t, "a/data.pkl", "\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x7f."), ErrFormat, "ends in the middle"},
		{"key", archive(t, "a/data.pkl", "\x80\x02})K\x01s."), ErrRefused, "a tuple as a key"},
		{"cycle", archive(t, "a/data.pkl", "\x80\x02]q\x00h\x00a."), ErrFormat, "in themselves"},
		{"laughs", archive(t, "a/data.pkl", "\x80\x02]"+strings.Repeat("q\x00]h\x00ah\x00ah\x00ah\x00a", 40)+"."), ErrFormat, "in themselves"},
		{"bytes", archive(t, "a/data.pkl", "\x80\x03C\x01a."), ErrRefused, "is bytes"},
		{"names", archive(t, "a/data.pkl", "\x80\x02}(X\x01\x00\x00\x00a"+inside+"X\x01\x00\x00\x00b}X\x01\x00\x00\x00a"+inside+"sX\x03\x00\x00\x00b.a"+inside+"u.", "a/data/0", "01234567"),
			ErrRefused, `two tensors are named "b.a"`},
	} {
		if _, err := read(c.raw); !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.text)
		}
	}
	f, err := read(archive(t, "a/data.pkl", pickleOf("BoolStorage", 8, 1, "K\x02", "K\x01"), "a/data/0", "\x00\x01\x02\x00\x00\x00\x00\x00"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Read(""); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "stored as 2") {
		t.Errorf("a bool of 2: error %v", err)
	}
	if _, err := f.Read("x"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a name that is not there: error %v", err)
	}
}

// inside is a tensor within another pickle.
var inside = strings.TrimSuffix(strings.TrimPrefix(pickleOf("FloatStorage", 2, 0, "K\x02", "K\x01"), "\x80\x02"), ".")

// TestChecksum holds that a storage which was damaged is found.
func TestChecksum(t *testing.T) {
	raw := archive(t, "a/data.pkl", pickleOf("FloatStorage", 2, 0, "K\x02", "K\x01"), "a/data/0", "01234567")
	raw[bytes.Index(raw, []byte("01234567"))]++
	f, err := read(raw)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Read(""); !errors.Is(err, ErrFormat) || !errors.Is(err, zip.ErrChecksum) {
		t.Errorf("error %v, want %v", err, zip.ErrChecksum)
	}
}

func TestNil(t *testing.T) {
	var f *File
	_, info := f.Info("x")
	_, read := f.Read("x")
	_, file := NewFile(nil, 0)
	for name, err := range map[string]error{"Info": info, "Read": read, "Close": f.Close(), "NewFile": file} {
		if err == nil || !strings.Contains(err.Error(), "NewFile") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if f.Names() != nil || f.Metadata() != nil {
		t.Error("a nil file has names or metadata")
	}
}
