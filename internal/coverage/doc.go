// Package coverage says which platforms the entries of a lock file are made for, and
// so which ones the new entries must cover.
//
// A lock file does not name its platforms. They are recovered by hashing the packages
// of locked versions and looking for the results among the h1 hashes of the entries.
// Entries, releases and evidence about packages go in. What comes out is the demand on
// each entry with its reason, or the packages to ask about next: the caller asks, and
// calls again. This package asks nobody.
//
// The entries of one lock file are taken to be made for the same platforms, and one
// that covers fewer to be made on fewer machines. So the entry with the most h1 hashes
// decides for all of them. Another entry needs packages if it has more hashes than
// those platforms give it, or if its version moves: then its hashes are lost, and no
// platform that it covers may get lost unseen. The run that locked its release knew
// what the packages hash to, and the hash cache may have kept that. If it did not,
// mostProofs old packages are downloaded where the number of hashes agrees with the
// platforms of the others. Beyond that the number is taken for a proof while nothing
// speaks against it, and a warning says so.
//
// A platform that another entry evidently does without, though it covers no fewer and
// its release serves the platform, stays with the entries that have it.
//
// A failure is no answer. Another entry may answer instead. Where none does, those
// entries stay as they are whose platforms the failure leaves open.
package coverage
