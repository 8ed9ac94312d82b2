package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sinter-go/sinter/examples/draw/handwriting"
)

var screenshots = flag.String("screenshots", "", "folder for pictures of the page with each digit")

// TestDraw makes the page's folder, and uses it with a browser.
func TestDraw(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles for the browser")
	}
	dir := t.TempDir()
	if err := run("", dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"index.html", "style.css", "draw.js", "draw.wasm", "draw.wasm.gz", "wasm_exec.js"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	t.Run("browser", func(t *testing.T) { testPage(t, dir) })
}

// testPage draws digits with the mouse in a browser without a window, and reads what the
// page shows.
func testPage(t *testing.T, dir string) {
	b := open(t)
	server := httptest.NewServer(handler(dir))
	defer server.Close()
	b.call("POST", "/url", map[string]any{"url": server.URL}, nil)
	b.await("status", "ready")
	for i, d := range handwriting.Digits {
		b.click("clear")
		b.await("answer", "–")
		for _, stroke := range d.Strokes {
			points := make([][2]float64, len(stroke))
			for k, p := range stroke {
				points[k] = [2]float64{1.9 * (p.X - 50), 1.9 * (p.Y - 70)} // from the middle of the pad
			}
			b.drag("pad", points)
		}
		b.await("answer", fmt.Sprint(d.Value))
		if *screenshots != "" {
			b.screenshot(filepath.Join(*screenshots, fmt.Sprintf("%d-%d.png", d.Value, i)))
		}
	}
	if text := b.text("status"); !strings.HasPrefix(text, "read in ") {
		t.Errorf("the page says %q", text)
	}
}

// A browser is a session of chromedriver, which speaks WebDriver: JSON over HTTP.
type browser struct {
	t       *testing.T
	session string
}

// open starts a browser, or skips the test where there is none.
func open(t *testing.T) *browser {
	t.Helper()
	driver, err := exec.LookPath("chromedriver")
	if err != nil {
		t.Skip("there is no chromedriver; Debian has it in chromium-driver")
	}
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	cmd := exec.Command(driver, "--port="+address[strings.LastIndex(address, ":")+1:])
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	b := &browser{t, "http://" + address}
	b.until("chromedriver", func() bool {
		answer, err := http.Get(b.session + "/status")
		if err != nil {
			return false
		}
		answer.Body.Close()
		return true
	})
	b.session += "/session"
	options := map[string]any{"args": []string{"--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=900,760"}}
	var made struct{ SessionID string }
	b.call("POST", "", map[string]any{"capabilities": map[string]any{"alwaysMatch": map[string]any{"goog:chromeOptions": options}}}, &made)
	b.session += "/" + made.SessionID
	t.Cleanup(func() { b.call("DELETE", "", nil, nil) })
	return b
}

// call makes a request of the session and reads the value that answers it.
func (b *browser) call(method, path string, body, value any) {
	b.t.Helper()
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			b.t.Fatal(err)
		}
	}
	request, err := http.NewRequest(method, b.session+path, bytes.NewReader(text))
	if err != nil {
		b.t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		b.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err = io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		b.t.Fatalf("%s %s: %s, %v\n%s", method, path, answer.Status, err, text)
	}
	if value == nil {
		return
	}
	if err := json.Unmarshal(text, &struct{ Value any }{value}); err != nil {
		b.t.Fatalf("%s %s: %v\n%s", method, path, err, text)
	}
}

// element returns the reference of the element with an id, as WebDriver writes it.
func (b *browser) element(id string) map[string]string {
	b.t.Helper()
	var found map[string]string
	b.call("POST", "/element", map[string]any{"using": "css selector", "value": "#" + id}, &found)
	return found
}

func (b *browser) text(id string) (text string) {
	b.t.Helper()
	b.call("POST", "/execute/sync", map[string]any{"script": "return document.getElementById(arguments[0]).textContent", "args": []any{id}}, &text)
	return text
}

func (b *browser) click(id string) {
	b.t.Helper()
	for _, reference := range b.element(id) {
		b.call("POST", "/element/"+reference+"/click", map[string]any{}, nil)
	}
}

// drag presses the mouse at the first point, moves it over the others and lets go.
// Points are in pixels from an element's middle.
func (b *browser) drag(id string, points [][2]float64) {
	b.t.Helper()
	origin := b.element(id)
	move := func(p [2]float64) map[string]any {
		return map[string]any{"type": "pointerMove", "duration": 8, "origin": origin, "x": int(p[0]), "y": int(p[1])}
	}
	steps := []map[string]any{move(points[0]), {"type": "pointerDown", "button": 0}}
	for _, p := range points[1:] {
		steps = append(steps, move(p))
	}
	steps = append(steps, map[string]any{"type": "pointerUp", "button": 0})
	b.call("POST", "/actions", map[string]any{"actions": []any{map[string]any{
		"type": "pointer", "id": "mouse", "parameters": map[string]string{"pointerType": "mouse"}, "actions": steps,
	}}}, nil)
}

// await waits until an element has the text.
func (b *browser) await(id, want string) {
	b.t.Helper()
	b.until(fmt.Sprintf("%s to be %q", id, want), func() bool { return b.text(id) == want })
}

// until waits for what must come, as long as the test may run.
func (b *browser) until(what string, holds func() bool) {
	b.t.Helper()
	limit, bounded := b.t.Deadline()
	for !holds() {
		if bounded && time.Until(limit) < 5*time.Second {
			b.t.Fatalf("waited for %s; the page says %q", what, b.text("status"))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (b *browser) screenshot(name string) {
	b.t.Helper()
	var text string
	b.call("GET", "/screenshot", nil, &text)
	picture, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(name, picture, 0o666); err != nil {
		b.t.Fatal(err)
	}
}
