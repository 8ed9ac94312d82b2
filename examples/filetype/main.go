// Command filetype names the types of files by their content: Magika's model in one
// static file, without Python and without a shared library.
//
//	python3 examples/models.py filetype
//	CGO_ENABLED=0 go build -tags nocuda ./examples/filetype
//	./filetype -r some/directory
//
// The model, fetched by the first line, is a part of the program. A program that was built
// without it takes it from a folder, by -model. Without -tags nocuda the program finds a
// GPU where there is one.
package main

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/sinter-go/sinter/examples/filetype/identify"
	"github.com/sinter-go/sinter/runtime/device"
)

//go:embed model
var embedded embed.FS

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := command(ctx, os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "filetype:", err)
		os.Exit(1)
	}
}

// command runs one command line.
func command(ctx context.Context, out io.Writer, args []string) error {
	flags := flag.NewFlagSet("filetype", flag.ContinueOnError)
	asJSON := flags.Bool("json", false, "print JSON")
	recursive := flags.Bool("r", false, "name the files of directories, too")
	folder := flags.String("model", "", "folder of the model, instead of the one in the program")
	on := flags.String("device", device.Best().String(), "the device: cpu, cuda, with an index as in cuda:1")
	var o identify.Options
	flags.BoolVar(&o.NoDereference, "no-dereference", false, "name links, not what they lead to")
	flags.BoolVar(&o.BestGuess, "best-guess", false, "give the model's answer however unsure it is")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return errors.New("no files: usage: filetype [flags] FILE [FILE]")
	}
	dev, err := device.Parse(*on)
	if err != nil {
		return err
	}
	model, err := load(*folder, dev)
	if err != nil {
		return err
	}
	paths := flags.Args()
	if *recursive {
		if paths, err = walk(paths); err != nil {
			return err
		}
	}
	results, err := model.Paths(ctx, paths, o)
	if err != nil {
		return err
	}
	return print(out, results, *asJSON)
}

// load reads the model from a folder, or without one from the program.
func load(folder string, dev device.Device) (*identify.Model, error) {
	if folder != "" {
		return identify.Load(os.DirFS(folder), dev)
	}
	files, err := fs.Sub(embedded, "model")
	if err != nil {
		return nil, err
	}
	model, err := identify.Load(files, dev)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the program was built without a model: python3 examples/models.py filetype fetches it; or name a folder by -model: %w", err)
	}
	return model, err
}

// walk returns the files below directories, in their place among other paths.
func walk(paths []string) ([]string, error) {
	var all []string
	for _, root := range paths {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if d == nil || !d.IsDir() { // a path that is not there is one of the results
				all = append(all, path)
				return nil
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// print writes a line for each file, or JSON.
func print(out io.Writer, results []identify.Result, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(results)
	}
	for _, r := range results {
		line := fmt.Sprint(r.Err)
		if p := r.Prediction; p != nil {
			line = fmt.Sprintf("%s (%s) %.0f%%", p.Type.Description, p.Type.Group, 100*p.Score)
		}
		if _, err := fmt.Fprintf(out, "%s: %s\n", r.Path, line); err != nil {
			return err
		}
	}
	return nil
}
