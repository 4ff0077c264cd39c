// Package upgrade decides what a dependency lock file should say: the selected version of
// each required provider, and the hashes of its entry.
//
// It handles all root modules of a run together, in five steps:
//
//   - want: which providers are required.
//   - choose: which version of each.
//   - cover: which packages the entry must cover.
//   - prove: which hashes these packages prove.
//   - result: the new entries.
//
// Each step makes new values from those of earlier steps and changes none. Questions to
// registries and mirrors are asked between the steps, in ask.go, each distinct one once.
// Only that code waits for a network. All other code is pure.
//
// A failure is a value. A provider that fails is a Selection with an error, and its entry
// keeps its bytes; the others go on. Where it had no entry, the whole lock file stays as it
// is, since half a lock file is worse than an old one.
//
// The rules are those of "terraform init -upgrade" followed by "terraform providers lock"
// (and tofu's). Options and the functions below state the deliberate differences.
package upgrade
