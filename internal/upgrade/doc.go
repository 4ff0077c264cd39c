// Package upgrade decides what a dependency lock file should say: which version
// of each required provider is selected and which hashes its entry holds.
//
// It works in batches over all root modules of a run, so that each question
// about a provider is asked once: distinct addresses are turned into releases,
// releases into selections, selections into distinct packages, packages into
// hashes, and hashes into new entries. Only the questions wait for the world;
// they go through Source. Everything between them is pure.
//
// The rules are those of "terraform init -upgrade" followed by "terraform
// providers lock" (and tofu's), with the deliberate differences that Options
// and the functions below state.
package upgrade
