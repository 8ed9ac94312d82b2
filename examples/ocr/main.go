// Command ocr reads text in pictures: where it is, which way up, and what it says, in
// Chinese and Latin script, by the networks of PaddleOCR.
//
//	python3 examples/models.py ocr
//	go run ./examples/ocr -draw read.png photo.jpg
//
// It prints the lines from the top to the bottom, with -json their boxes and scores, too.
// With -draw it writes a picture with the boxes, and beside it what they say. Built with
// -tags nocuda and CGO_ENABLED=0 it is one static file; without the tag it finds a GPU
// where there is one.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"image"
	_ "image/gif"
	_ "image/jpeg"
	_ "image/png"
	"io"
	"os"
	"os/signal"

	"github.com/sinter-go/sinter/examples/ocr/picture"
	"github.com/sinter-go/sinter/examples/ocr/read"
	"github.com/sinter-go/sinter/runtime/device"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := command(ctx, os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "ocr:", err)
		os.Exit(1)
	}
}

// command runs one command line.
func command(ctx context.Context, out io.Writer, args []string) error {
	flags := flag.NewFlagSet("ocr", flag.ContinueOnError)
	folder := flags.String("model", "examples/ocr/model", "folder of the networks")
	asJSON := flags.Bool("json", false, "print JSON")
	to := flags.String("draw", "", "a PNG file to draw the boxes of the first picture in")
	on := flags.String("device", device.Best().String(), "the device: cpu, cuda, with an index as in cuda:1")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return errors.New("no pictures: usage: ocr [flags] PICTURE [PICTURE]")
	}
	dev, err := device.Parse(*on)
	if err != nil {
		return err
	}
	reader, err := read.Load(os.DirFS(*folder), dev)
	if err != nil {
		return err
	}
	all := map[string][]read.Line{}
	for i, name := range flags.Args() {
		img, err := open(name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		lines, err := reader.Read(ctx, picture.From(img))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if i == 0 && *to != "" {
			if err := draw(*to, img, lines); err != nil {
				return err
			}
		}
		all[name] = lines
		for _, line := range lines {
			if !*asJSON {
				fmt.Fprintln(out, line.Text)
			}
		}
	}
	if *asJSON {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(all)
	}
	return nil
}

// most is the number of points that a picture may have.
const most = 1 << 28

// open reads a picture.
func open(name string) (image.Image, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c, _, err := image.DecodeConfig(f)
	if err != nil {
		return nil, err
	}
	if c.Width < 1 || c.Height < 1 || c.Height > most/c.Width {
		return nil, fmt.Errorf("a picture of %d x %d points", c.Width, c.Height)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	img, _, err := image.Decode(f)
	return img, err
}
