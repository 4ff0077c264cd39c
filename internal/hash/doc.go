// Package hash computes what lock files say of provider packages: zh, the
// SHA-256 of the zip archive, and h1, the hash of its content. It remembers both
// in a Cache.
//
// There are two h1 of one archive. The tools record that of the directory that
// they unpacked, and accept that of the archive's own entries where they verify
// a zip. They are equal for nearly all packages, and differ where an archive
// has entries for directories, an entry twice, or names such as ./a and /a [case 26b].
//
// Packages are large, and a run may need hundreds of them, so that they are
// hashed in one pass while their bytes arrive. What a zip archive holds is said
// by a table at its end, though: one pass is only for archives that hold exactly
// what they seem to hold from their beginning on, which it proves when it comes
// to the table. All others go to a temporary file and to archive/zip.
package hash
