package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/runtime/device"
)

// TestRun: the report has its lines, and the page is well-formed and shows every step.
func TestRun(t *testing.T) {
	device.Install(sim.New(sim.Config{Devices: 1, Async: true}))
	for name, given := range map[string]string{"cpu": "call by call", "sim": "one graph"} {
		page := filepath.Join(t.TempDir(), "page.html")
		var out strings.Builder
		if err := run(&out, name, 4, 2, page); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"a step, compiled", "memory, compiled", "max_pool", given} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: there is no %q in\n%s", name, want, out.String())
			}
		}
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		at := strings.Index(string(text), "<svg")
		steps, decoder := 0, xml.NewDecoder(strings.NewReader(string(text[at:strings.Index(string(text), "</body>")])))
		for {
			token, err := decoder.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if e, ok := token.(xml.StartElement); ok && e.Name.Local == "g" {
				steps++
			}
		}
		if steps < 20 || !strings.Contains(string(text), "main.go:") || !strings.Contains(string(text), `class="life"`) {
			t.Errorf("%s: %d steps on\n%s", name, steps, text)
		}
	}
	if err := run(io.Discard, "cpu", 2, 1, ""); err == nil {
		t.Error("2 steps are no error")
	}
}
