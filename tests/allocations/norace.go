//go:build !race

package allocations

const raceDetector = false
