// Command draw serves a page on which digits are drawn with the mouse and recognized
// in the browser: sinter runs there, compiled to WebAssembly. The server only hands out
// files.
//
//	go run ./examples/draw
//
// With -build DIR it writes the files to a folder instead, for any web server.
package main

import (
	"compress/gzip"
	"embed"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/sinter-go/sinter/examples/settings"
)

//go:embed page
var page embed.FS

// program is the package that runs in the browser.
const program = "github.com/sinter-go/sinter/examples/draw/wasm"

func main() {
	address := flag.String("addr", "localhost:8017", "address to serve the page at")
	build := flag.String("build", "", "write the page to this folder, and serve nothing")
	settings.Parse()
	if err := run(*address, *build); err != nil {
		slog.Error("draw", "error", err)
		os.Exit(1)
	}
}

func run(address, build string) error {
	if build != "" {
		return site(build)
	}
	dir, err := os.MkdirTemp("", "draw")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Println("compiling for the browser ...")
	if err := site(dir); err != nil {
		return err
	}
	fmt.Printf("draw a digit at http://%s\n", address)
	return http.ListenAndServe(address, handler(dir))
}

// site writes the page, the program and Go's loader for it to a folder.
func site(dir string) error {
	files, err := fs.Sub(page, "page")
	if err != nil {
		return err
	}
	if err := os.CopyFS(dir, files); err != nil {
		return err
	}
	binary := filepath.Join(dir, "draw.wasm")
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", binary, program)
	cmd.Env = append(cmd.Environ(), "GOOS=js", "GOARCH=wasm")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w\n%s", program, err, text)
	}
	if err := compress(binary); err != nil {
		return err
	}
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return err
	}
	loader, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(goroot)), "lib", "wasm", "wasm_exec.js"))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "wasm_exec.js"), loader, 0o666)
}

// compress writes a file's gzip form beside it: browsers take a fifth of the bytes.
func compress(name string) error {
	from, err := os.Open(name)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.Create(name + ".gz")
	if err != nil {
		return err
	}
	defer to.Close()
	z := gzip.NewWriter(to)
	if _, err := io.Copy(z, from); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return to.Close()
}

// handler serves a folder, the program compressed to those who take it so.
func handler(dir string) http.Handler {
	files := http.FileServer(http.Dir(dir))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/draw.wasm" {
			w.Header().Set("Content-Type", "application/wasm")
			if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
				w.Header().Set("Content-Encoding", "gzip")
				http.ServeFile(w, r, filepath.Join(dir, "draw.wasm.gz"))
				return
			}
		}
		files.ServeHTTP(w, r)
	})
}
