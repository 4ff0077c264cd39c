// Package upgrade decides what a dependency lock file should say: which version
// of each required provider is selected and which hashes its entry holds.
//
// It works in batches over all root modules of a run, and in steps: a required
// provider is wanted, a version of it is chosen, the packages are known that its
// entry must cover, they prove its hashes, and of these the entry is made. Each
// step makes values of those before it and changes none. What has to be asked
// between two steps is asked in ask.go, each distinct question once; only that
// waits for the world. Everything else is pure.
//
// The rules are those of "terraform init -upgrade" followed by "terraform
// providers lock" (and tofu's), with the deliberate differences that Options
// and the functions below state.
package upgrade
