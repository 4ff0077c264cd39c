// Package coverage finds the platforms that the entries of a lock file cover, so that the
// new entries cover them, too.
//
// A lock file does not name its platforms. This package recovers them: it compares the
// hashes of the locked versions' packages with the h1 hashes of the entries. The caller
// passes entries, releases and evidence about packages. The result is the demand on each
// entry with its ground, or the packages to ask about next. The caller asks, and calls
// again. This package itself sends no requests.
//
// All entries of a lock file are assumed to be made for the same platforms. So the entry
// with the most h1 hashes decides for all of them. An entry with fewer hashes was made on
// fewer machines. The packages of another entry are needed in two cases:
//
//   - It has more hashes than the known platforms give it.
//   - Its version moves. Then its hashes are lost, and so may be a platform that it covers.
//
// The hash cache may still know the packages of a locked release from an earlier run. If it
// does not, up to mostProofs old packages are downloaded to prove that an entry with as
// many hashes has the same platforms. Beyond that the number is taken as proof, unless
// evidence contradicts it, and a warning says so.
//
// A platform may be missing from an entry that has as many hashes and whose release serves
// the platform. Then only the entries that have the platform keep it.
//
// If the release of an entry is withdrawn, nothing can show its platforms any more. Then
// those of the other entries count, or the default list if these are fewer.
//
// A failure is no answer. Another entry may give the answer. Otherwise the entries whose
// platforms are not known stay as they are.
package coverage
