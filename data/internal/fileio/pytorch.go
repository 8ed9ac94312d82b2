package fileio

import (
	"archive/zip"
	"bytes"
	"io"
	"strings"
)

// PyTorchAdvice says what a file of torch.save is and what to do with it.
const PyTorchAdvice = `it is a file of PyTorch's torch.save, a Python pickle, which is not read here; write it anew in Python: ` +
	`safetensors.torch.save_file(torch.load("model.pt", map_location="cpu"), "model.safetensors")`

// IsPyTorch reports whether the size bytes of r were written by torch.save: an archive with
// a member data.pkl, or, before PyTorch 1.6, a bare pickle.
func IsPyTorch(r io.ReaderAt, size int64) bool {
	var magic [2]byte
	if _, err := r.ReadAt(magic[:], 0); err != nil {
		return false
	}
	if magic[0] == 0x80 && magic[1] >= 2 && magic[1] <= 5 {
		// As the length of a safetensors header this would be a likely one: that
		// begins a JSON object.
		var object [1]byte
		_, err := r.ReadAt(object[:], 8)
		return err == nil && object[0] != '{'
	}
	if !bytes.Equal(magic[:], []byte("PK")) {
		return false
	}
	z, err := zip.NewReader(r, size)
	if err != nil {
		return false
	}
	for _, f := range z.File {
		if f.Name == "data.pkl" || strings.HasSuffix(f.Name, "/data.pkl") {
			return true
		}
	}
	return false
}
