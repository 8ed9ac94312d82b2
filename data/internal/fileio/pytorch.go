package fileio

import (
	"archive/zip"
	"io"
	"os"
	"strings"
)

// PyTorchAdvice says what a file of torch.save is and what reads it.
const PyTorchAdvice = "it is a file of PyTorch's torch.save, which data.LoadTensors and package data/torchfile read"

// MayBePyTorch reports whether a file that starts so may be one of torch.save.
func MayBePyTorch(start []byte) bool {
	return len(start) >= 2 && (string(start[:2]) == "PK" || start[0] == 0x80 && start[1] >= 2 && start[1] <= 5)
}

// IsPyTorchFile is IsPyTorch for the file at path; it is none where it cannot be read.
func IsPyTorchFile(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	return err == nil && IsPyTorch(f, info.Size())
}

// IsPyTorch reports whether the size bytes of r were written by torch.save: an archive with
// a member data.pkl, or, before PyTorch 1.6, a bare pickle.
func IsPyTorch(r io.ReaderAt, size int64) bool {
	var magic [2]byte
	if _, err := r.ReadAt(magic[:], 0); err != nil || !MayBePyTorch(magic[:]) {
		return false
	}
	if magic[0] == 0x80 {
		// As the length of a safetensors header this would be a likely one: that
		// begins a JSON object.
		var object [1]byte
		_, err := r.ReadAt(object[:], 8)
		return err == nil && object[0] != '{'
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
