//go:build !race

package allocations

// RaceDetector says whether the race detector watches, whose own memory grows with what runs.
const RaceDetector = false
