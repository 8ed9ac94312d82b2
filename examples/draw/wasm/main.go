//go:build js && wasm

// Command wasm is what the page runs: it gives JavaScript the function recognize.
package main

import (
	"syscall/js"

	"github.com/sinter-go/sinter/examples/draw/recognize"
)

func main() {
	r, err := recognize.New()
	if err != nil {
		js.Global().Call("ready", err.Error())
		return
	}
	js.Global().Set("recognize", js.FuncOf(func(_ js.Value, args []js.Value) any { return answer(r, args[0]) }))
	js.Global().Call("ready", js.Null())
	select {} // JavaScript calls for as long as the page is there
}

// answer takes strokes as lists of [x, y] and returns the image that was made of them
// and a probability for each digit, null for no strokes, or an error's text.
func answer(r *recognize.Recognizer, drawn js.Value) any {
	strokes := make([][]recognize.Point, drawn.Length())
	for i := range strokes {
		stroke := drawn.Index(i)
		for k := range stroke.Length() {
			p := stroke.Index(k)
			strokes[i] = append(strokes[i], recognize.Point{X: p.Index(0).Float(), Y: p.Index(1).Float()})
		}
	}
	image, ok := recognize.Image(strokes)
	if !ok {
		return nil
	}
	list, err := r.Probabilities(image)
	if err != nil {
		return err.Error()
	}
	pixels, probabilities := make([]any, len(image)), make([]any, len(list))
	for i, v := range image {
		pixels[i] = int(v)
	}
	for i, v := range list {
		probabilities[i] = float64(v)
	}
	return map[string]any{"image": pixels, "probabilities": probabilities}
}
