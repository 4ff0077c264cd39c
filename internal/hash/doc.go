// Package hash computes what lock files say of provider packages: zh, the
// SHA-256 of the zip archive, and h1, the hash of its content. It also says
// which platforms a set of hashes covers.
//
// There are two h1 of one archive. The tools record that of the directory that
// they unpacked, and accept that of the archive's own entries where they verify
// a zip. They are equal for nearly all packages, and differ where an archive
// has entries for directories, an entry twice, or names such as ./a and /a.
package hash
