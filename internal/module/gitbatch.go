package module

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxTarget bounds the target of a link, as operating systems do.
const maxTarget = 4096

// readBatch reads what git cat-file --batch prints: for each object a line
// "ID TYPE SIZE", its bytes, and a line feed.
func readBatch(stdout io.Reader, into *filling, blobs []blob) error {
	r := bufio.NewReader(stdout)
	for _, b := range blobs {
		line, err := r.ReadString('\n')
		if err != nil {
			return err
		}
		fields := strings.Fields(line)
		if len(fields) != 3 || fields[1] != "blob" {
			return fmt.Errorf("the file %q is not in the repository", b.name)
		}
		size, err := strconv.ParseInt(fields[2], 10, 64)
		if err != nil {
			return err
		}
		content := io.LimitReader(r, size)
		if err := into.blob(b, content); err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, content); err != nil {
			return err
		}
		if _, err := r.Discard(1); err != nil {
			return err
		}
	}
	return nil
}

func (f *filling) blob(b blob, content io.Reader) error {
	if !b.link {
		return f.file(b.name, content)
	}
	target, err := io.ReadAll(io.LimitReader(content, maxTarget))
	if err != nil {
		return err
	}
	return f.AddLink(b.name, string(target))
}
