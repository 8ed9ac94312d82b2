//go:build race && linux && !android && (amd64 || arm64) && !nocuda

package dl

func init() { raceDetector = true }
