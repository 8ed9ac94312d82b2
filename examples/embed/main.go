// Command embed turns sentences into vectors, and finds those that mean much the same.
//
//	python3 examples/models.py embed
//	go run ./examples/embed -query "how do I get my money back" questions.txt
//
// A sentence is a line of the files, or of standard input. With -query it prints the
// nearest sentences, otherwise the nearest other one of each. With -out it writes all
// vectors, too. Built with -tags nocuda and CGO_ENABLED=0 it is one static file; without
// the tag it finds a GPU where there is one.
package main

import (
	"bufio"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/examples/embed/sentence"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
)

func main() {
	if err := command(os.Stdout, os.Stdin, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "embed:", err)
		os.Exit(1)
	}
}

// command runs one command line.
func command(out io.Writer, in io.Reader, args []string) error {
	flags := flag.NewFlagSet("embed", flag.ContinueOnError)
	folder := flags.String("model", "examples/embed/model", "folder of the model")
	query := flags.String("query", "", "a sentence to look for")
	top := flags.Int("top", 3, "how many of the nearest sentences to print")
	to := flags.String("out", "", "an .npy file to write the vectors to")
	on := flags.String("device", device.Best().String(), "the device: cpu, cuda, with an index as in cuda:1")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dev, err := device.Parse(*on)
	if err != nil {
		return err
	}
	lines, err := read(in, flags.Args())
	if err != nil {
		return err
	}
	if len(lines) == 0 || *top < 1 {
		return errors.New("no sentences, or none to print")
	}
	model, err := sentence.Load(*folder, dev)
	if err != nil {
		return err
	}
	all := lines
	if *query != "" {
		all = append(slices.Clone(lines), *query)
	}
	vectors, err := model.Vectors(all)
	if err != nil {
		return err
	}
	if *to != "" {
		flat := slices.Concat(vectors[:len(lines)]...)
		if err := data.SaveArray(*to, tensor.From(flat, len(lines), model.Width())); err != nil {
			return err
		}
	}
	if *query != "" {
		for _, n := range nearest(vectors[len(lines)], vectors[:len(lines)], *top) {
			fmt.Fprintf(out, "%.3f %s\n", n.score, lines[n.place])
		}
		return nil
	}
	for i, v := range vectors {
		for _, n := range nearest(v, vectors, 2) {
			if n.place != i {
				fmt.Fprintf(out, "%.3f %s | %s\n", n.score, lines[i], lines[n.place])
				break
			}
		}
	}
	return nil
}

// read returns the lines of files, or without any those of in. Empty ones do not count.
func read(in io.Reader, names []string) ([]string, error) {
	var lines []string
	scan := func(r io.Reader) error {
		s := bufio.NewScanner(r)
		s.Buffer(nil, 1<<20)
		for s.Scan() {
			if line := strings.TrimSpace(s.Text()); line != "" {
				lines = append(lines, line)
			}
		}
		return s.Err()
	}
	if len(names) == 0 {
		err := scan(in)
		return lines, err
	}
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		err = scan(f)
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return lines, nil
}

// A neighbour is one of the vectors, with its cosine.
type neighbour struct {
	place int
	score float32
}

// nearest returns those of the vectors that lie closest to v.
func nearest(v []float32, vectors [][]float32, n int) []neighbour {
	all := make([]neighbour, len(vectors))
	for i, w := range vectors {
		all[i].place = i
		for k, x := range w {
			all[i].score += x * v[k]
		}
	}
	slices.SortStableFunc(all, func(a, b neighbour) int {
		return cmp.Compare(b.score, a.score)
	})
	return all[:min(n, len(all))]
}
