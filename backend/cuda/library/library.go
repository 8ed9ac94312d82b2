// Package library finds and opens NVIDIA's libraries other than the driver,
// each once a process and on first use. It knows where installations put files
// and how to get them, and nothing of what the libraries do.
package library

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
)

// ErrUnusable is wrapped by errors of a library that is not there, or that does
// not work on this machine.
var ErrUnusable = errors.New("a library cannot be used")

// A Name is a library.
type Name int

// The libraries.
const (
	CUBLASLt Name = iota // matrix products
	CUDNN                // convolutions
	CUFFT                // Fourier transforms
	NVRTC                // compiler of CUDA C++
	NCCL                 // communication between devices
	CUPTI                // what ran when
	names
)

// A file is a name a library goes by, of one version of its interface.
type file struct {
	soname string
	cuda   int    // the major version of CUDA it is made for; 0: any
	wheel  string // the folder of NVIDIA's Python packages it comes in
}

// A product is what is known of a library.
type product struct {
	title string
	env   string // names the file to open
	files []file // newest first
	get   string // how to get it
}

var products = [names]product{
	CUBLASLt: {"cuBLASLt", "SINTER_CUBLASLT", []file{
		{"libcublasLt.so.13", 13, "cu13"}, {"libcublasLt.so.12", 12, "cublas"},
	}, "it comes with the CUDA toolkit and with `pip install nvidia-cublas` (CUDA 13) or `nvidia-cublas-cu12` (CUDA 12)"},
	CUDNN: {"cuDNN", "SINTER_CUDNN", []file{
		{"libcudnn.so.9", 0, "cudnn"},
	}, "it comes with `pip install nvidia-cudnn-cu13` (CUDA 13) or `nvidia-cudnn-cu12` (CUDA 12), and from https://developer.nvidia.com/cudnn"},
	CUFFT: {"cuFFT", "SINTER_CUFFT", []file{
		{"libcufft.so.12", 13, "cu13"}, {"libcufft.so.11", 12, "cufft"},
	}, "it comes with the CUDA toolkit and with `pip install nvidia-cufft` (CUDA 13) or `nvidia-cufft-cu12` (CUDA 12)"},
	NVRTC: {"NVRTC", "SINTER_NVRTC", []file{
		{"libnvrtc.so.13", 13, "cu13"}, {"libnvrtc.so.12", 12, "cuda_nvrtc"},
	}, "it comes with the CUDA toolkit and with `pip install nvidia-cuda-nvrtc` (CUDA 13) or `nvidia-cuda-nvrtc-cu12` (CUDA 12)"},
	NCCL: {"NCCL", "SINTER_NCCL", []file{
		{"libnccl.so.2", 0, "nccl"},
	}, "it comes with `pip install nvidia-nccl-cu13` (CUDA 13) or `nvidia-nccl-cu12` (CUDA 12), and from https://developer.nvidia.com/nccl"},
	CUPTI: {"CUPTI", "SINTER_CUPTI", []file{
		{"libcupti.so.13", 13, "cu13"}, {"libcupti.so.12", 12, "cuda_cupti"},
	}, "it comes with the CUDA toolkit and with `pip install nvidia-cuda-cupti` (CUDA 13) or `nvidia-cuda-cupti-cu12` (CUDA 12)"},
}

// String returns the library's name as its makers write it.
func (n Name) String() string { return products[n].title }

type opened struct {
	once sync.Once
	lib  *dl.Library
	err  error
}

var process [names]opened

// Open returns the library. The first call looks for it, at Paths and in that
// order, and settles the answer for the process. The error says what is missing,
// which files were looked for, and how to get it.
func Open(n Name) (*dl.Library, error) {
	o := &process[n]
	o.once.Do(func() { o.lib, o.err = open(n, Paths(n)) })
	return o.lib, o.err
}

func open(n Name, paths []string) (*dl.Library, error) {
	p := products[n]
	if len(paths) == 0 {
		return nil, fmt.Errorf("%w: %s is switched off: the environment has %s=%s", ErrUnusable, p.title, p.env, os.Getenv(p.env))
	}
	lib, err := dl.Open(paths...)
	if err != nil {
		return nil, fmt.Errorf("%w: %s is missing: %w; %s, or name the file by the environment variable %s", ErrUnusable, p.title, err, p.get, p.env)
	}
	return lib, nil
}

// Paths returns the files that Open tries, in order: the one that the environment
// variable of the library names (SINTER_CUBLASLT, SINTER_CUDNN, SINTER_CUFFT,
// SINTER_NVRTC, SINTER_NCCL, SINTER_CUPTI), and no other; or else what the system's loader
// finds, then what there is in CUDA_HOME, CUDA_PATH and /usr/local/cuda, then
// NVIDIA's Python packages of the environment that is active, of the python3 in
// PATH, and of the user. Versions made for a newer CUDA than the driver has are
// left out. The variable's value "none" leaves no file.
func Paths(n Name) []string {
	p := products[n]
	if path := os.Getenv(p.env); path == "none" {
		return nil
	} else if path != "" {
		return []string{path}
	}
	files := p.files
	if api, err := driver.Open(); err == nil {
		files = suited(files, api.Version()/1000)
	}
	return search(files)
}

// suited returns the files that a driver of that major version of CUDA can serve;
// all where that leaves none, so that an error names them.
func suited(files []file, major int) []file {
	var out []file
	for _, f := range files {
		if f.cuda <= major {
			out = append(out, f)
		}
	}
	if len(out) == 0 {
		return files
	}
	return out
}

// Version returns the number that ends a soname, such as 13 of "libnvrtc.so.13";
// 0 if none does.
func Version(path string) int {
	_, text, _ := strings.Cut(path, ".so.")
	n := 0
	if _, err := fmt.Sscanf(text, "%d", &n); err != nil {
		return 0
	}
	return n
}
