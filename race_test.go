//go:build race

package main

// raceDetector says whether the tests, and what they run of themselves, are
// built with the race detector.
const raceDetector = true
