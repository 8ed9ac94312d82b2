package torchfile

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/sinter-go/sinter/ir"
)

// FuzzPickle, given a pickle and a storage, checks that no input panics, and that what is
// listed can be read and has as many bytes as its shape says.
func FuzzPickle(f *testing.F) {
	paths, err := filepath.Glob("testdata/*.pt")
	if err != nil || len(paths) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		z, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
		if err != nil {
			continue // of an older PyTorch
		}
		for _, m := range z.File {
			if filepath.Base(m.Name) != pickled {
				continue
			}
			r, err := m.Open()
			if err != nil {
				f.Fatal(err)
			}
			program, err := io.ReadAll(r)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(program, make([]byte, 96))
		}
	}
	f.Add([]byte(pickleOf("FloatStorage", 2, 0, "K\x02", "K\x01")), []byte("01234567"))
	f.Fuzz(func(t *testing.T, program, storage []byte) {
		file, err := read(archive(t, "a/data.pkl", string(program), "a/data/0", string(storage)))
		if err != nil {
			return
		}
		for _, name := range file.Names() {
			info, err := file.Info(name)
			if err != nil {
				t.Fatalf("%q is listed: %v", name, err)
			}
			x, err := file.Read(name)
			if err == nil && len(x.Data) != ir.NumElements(info.Shape)*info.DType.Size() {
				t.Fatalf("%q: %d bytes of %v %v", name, len(x.Data), info.DType, info.Shape)
			}
		}
	})
}
