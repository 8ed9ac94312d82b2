package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cuda"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/library"
	"github.com/sinter-go/sinter/runtime/device"
)

// A machine is what figures were measured on, and with.
type machine struct {
	Date       string            `json:"date"`
	Device     string            `json:"device"`
	Capability string            `json:"compute_capability,omitempty"`
	Driver     string            `json:"driver,omitempty"`
	CUDA       string            `json:"cuda,omitempty"` // the newest that the driver supports
	Libraries  map[string]string `json:"libraries,omitempty"`
	Processor  string            `json:"processor"`
	Cores      int               `json:"cores"` // that Go uses
	System     string            `json:"system"`
	Go         string            `json:"go"`
	Version    string            `json:"version"` // of the sources
	PyTorch    string            `json:"pytorch,omitempty"`
	Native     string            `json:"native,omitempty"` // the compiler and library of the native side
	Vectors    string            `json:"vectors"`          // the instructions that CPU kernels use
}

func describe(dev device.Device, t *torchSide, n *nativeSide) machine {
	m := machine{
		Date: time.Now().UTC().Format(time.DateOnly), Device: "cpu", Processor: found("/proc/cpuinfo", `(?m)^model name\s*:\s*(.+)$`),
		Cores: runtime.GOMAXPROCS(0), System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(), Version: version(),
		Vectors: simd.Active().String(),
	}
	if dev.Kind == device.KindCUDA {
		m.describeGPU(dev)
	}
	if t != nil {
		m.PyTorch = fmt.Sprintf("%s on %s, %d threads", t.about.Version, t.about.Device, t.about.Threads)
	}
	if n != nil {
		m.Native = n.about.Version
	}
	return m
}

func (m *machine) describeGPU(dev device.Device) {
	m.Device = dev.String()
	if p, err := cuda.GetDeviceProperties(dev); err == nil {
		m.Device, m.Capability = p.Name, fmt.Sprintf("%d.%d", p.Major, p.Minor)
	}
	m.Driver = found("/proc/driver/nvidia/version", `Kernel Module[^\n]*?(\d+\.\d+[.\d]*)`)
	if api, err := driver.Open(); err == nil {
		m.CUDA = fmt.Sprintf("%d.%d", api.Version()/1000, api.Version()%1000/10)
	}
	m.Libraries = map[string]string{}
	for name, l := range map[string]library.Name{"cuBLASLt": library.CUBLASLt, "cuDNN": library.CUDNN, "NVRTC": library.NVRTC} {
		m.Libraries[name] = "none"
		if lib, err := library.Open(l); err == nil {
			m.Libraries[name] = lib.Name()
		}
	}
}

// found returns the first group of an expression in a file, "" if there is none.
func found(file, expression string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	if m := regexp.MustCompile(expression).FindSubmatch(text); m != nil {
		return strings.TrimSpace(string(m[1]))
	}
	return ""
}

// version returns the commit that the program was built from, if the build knew.
func version() string {
	text := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				text = s.Value[:min(12, len(s.Value))]
			case s.Key == "vcs.modified" && s.Value == "true":
				text += ", changed"
			}
		}
	}
	return text
}

func (m *machine) print(w io.Writer) {
	fmt.Fprintf(w, "%s, %s", m.Date, m.Device)
	if m.Capability != "" {
		fmt.Fprintf(w, " (compute capability %s), driver %s, CUDA %s", m.Capability, m.Driver, m.CUDA)
	}
	fmt.Fprintf(w, "; %s, %d cores, %s, %s, %s, version %s\n", m.Processor, m.Cores, m.Vectors, m.System, m.Go, m.Version)
	if m.PyTorch != "" {
		fmt.Fprintf(w, "PyTorch %s\n", m.PyTorch)
	}
	if m.Native != "" {
		fmt.Fprintf(w, "native: %s\n", m.Native)
	}
}
