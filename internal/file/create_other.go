//go:build !linux && !darwin && !windows

package file

import "os"

// waysToCreate are the ways in which create tries, the best first. A file system may lack
// one.
var waysToCreate = []func(from, to string) error{os.Link, lookAndRename}
