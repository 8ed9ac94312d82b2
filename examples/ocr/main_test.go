package main

import (
	"encoding/json"
	"image"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/examples/ocr/geometry"
	"github.com/sinter-go/sinter/examples/ocr/read"
)

// TestCommand reads a picture and draws what it found.
func TestCommand(t *testing.T) {
	if _, err := os.Stat("model/recognition.onnx"); err != nil {
		t.Skip("no networks: python3 examples/models.py ocr fetches them")
	}
	run := func(args ...string) string {
		t.Helper()
		var out strings.Builder
		if err := command(t.Context(), &out, append([]string{"-device", "cpu", "-model", "model"}, args...)); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	drawn := filepath.Join(t.TempDir(), "drawn.png")
	if got, want := run("-draw", drawn, "testdata/upside.png"), "Push the handle firmly\nEMERGENCY EXIT\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if img, err := open(drawn); err != nil || img.Bounds() != image.Rect(0, 0, 1400, 400) {
		t.Errorf("drawn: %v", err)
	}
	var lines map[string][]read.Line
	if err := json.Unmarshal([]byte(run("-json", "testdata/upside.png", "testdata/blank.png")), &lines); err != nil {
		t.Fatal(err)
	}
	if len(lines) != 2 || len(lines["testdata/upside.png"]) != 2 || len(lines["testdata/blank.png"]) != 0 {
		t.Errorf("got %+v", lines)
	}
}

// TestDraw needs no network.
func TestDraw(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.png")
	line := read.Line{Text: "words", Box: geometry.Quad{{X: 10, Y: 10}, {X: 90, Y: 10}, {X: 90, Y: 30}, {X: 10, Y: 30}}}
	if err := draw(name, image.NewGray(image.Rect(5, 5, 105, 55)), []read.Line{line, {}}); err != nil {
		t.Fatal(err)
	}
	img, err := open(name)
	if err != nil {
		t.Fatal(err)
	}
	if r, g, b, _ := img.At(50, 10).RGBA(); r>>8 != 200 || g>>8 != 30 || b>>8 != 30 {
		t.Errorf("the border has color %d %d %d", r>>8, g>>8, b>>8)
	}
	dark := 0
	for x := 110; x < 190; x++ {
		for y := 12; y < 29; y++ {
			if r, _, _, _ := img.At(x, y).RGBA(); r>>8 < 100 {
				dark++
			}
		}
	}
	if dark < 20 {
		t.Errorf("%d dark points beside the picture", dark)
	}
}

// TestErrors gives command lines that are wrong.
func TestErrors(t *testing.T) {
	for want, args := range map[string][]string{
		"no pictures":    nil,
		"device":         {"-device", "nothing", "a"},
		"detection.onnx": {"-model", t.TempDir(), "a"},
	} {
		var out strings.Builder
		if err := command(t.Context(), &out, args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want it to say %s", args, err, want)
		}
	}
	if _, err := open("main.go"); err == nil {
		t.Error("a program is a picture")
	}
}
