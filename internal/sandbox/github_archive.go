package sandbox

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/gitignore"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// codeloadPath is the path of archives; the API redirects there.
const codeloadPath = "/github/_codeload"

func (c *apiCall) tarball() (any, error) { return c.archiveLink("legacy.tar.gz") }
func (c *apiCall) zipball() (any, error) { return c.archiveLink("legacy.zip") }

// archiveLink redirects to the archive of the ref's present commit.
func (c *apiCall) archiveLink(format string) (any, error) {
	commit, ok := c.repo.commitAt(c.PathValue("ref"))
	if !ok {
		return nil, errNotFound
	}
	c.header.Set("Location", c.origin()+codeloadPath+"/"+c.repo.fullName()+"/"+format+"/"+commit.Hash.String())
	return rawAnswer{http.StatusFound, "text/plain", nil}, nil
}

// codeload makes an archive like git archive: below one directory, and without
// files that .gitattributes marks export-ignore. Files marked export-subst get
// $Format:%H$ filled in.
func (c *apiCall) codeload() (any, error) {
	commit, ok := c.repo.commitAt(c.PathValue("ref"))
	if !ok {
		return nil, errNotFound
	}
	top := fmt.Sprintf("%s-%s-%.7s/", c.repo.owner, c.repo.name, commit.Hash.String())
	var buf bytes.Buffer
	var a archive
	contentType := "application/x-gzip"
	switch c.PathValue("format") {
	case "legacy.tar.gz":
		a = newTarGz(&buf, commit)
	case "legacy.zip":
		a, contentType = zipArchive{zip.NewWriter(&buf)}, "application/zip"
	default:
		return nil, errNotFound
	}
	if err := c.repo.export(commit, top, a); err != nil {
		return nil, err
	}
	if err := a.Close(); err != nil {
		return nil, err
	}
	c.header.Set("Content-Disposition", "attachment; filename="+strings.TrimSuffix(top, "/"))
	return rawAnswer{http.StatusOK, contentType, buf.Bytes()}, nil
}

// archive is a format of archives.
type archive interface {
	// Add writes an entry; a directory's name ends in a slash.
	Add(name string, mode filemode.FileMode, content []byte, modified time.Time) error
	Close() error
}

// export writes the tree of a commit below the top directory. A submodule is
// an empty directory.
func (r *gitRepository) export(commit *object.Commit, top string, a archive) error {
	when := commit.Committer.When
	rules, err := r.exportRules(commit)
	if err != nil {
		return err
	}
	if err := a.Add(top, filemode.Dir, nil, when); err != nil {
		return err
	}
	return r.walkTree(commit.TreeHash, true, func(name string, e gitEntry) error {
		isDir := e.mode == filemode.Dir || e.mode == filemode.Submodule
		if rules.ignores(name, isDir) {
			return nil
		}
		if isDir {
			return a.Add(top+name+"/", filemode.Dir, nil, when)
		}
		content, err := r.readBlob(e.hash)
		if err != nil {
			return err
		}
		if rules.has(name, false, "export-subst") {
			content = substitute(content, commit)
		}
		return a.Add(top+name, e.mode, content, when)
	})
}

func substitute(content []byte, commit *object.Commit) []byte {
	sha := commit.Hash.String()
	return []byte(strings.NewReplacer("$Format:%H$", sha, "$Format:%h$", sha[:7]).Replace(string(content)))
}

// exportRule is one attribute that .gitattributes sets or unsets.
type exportRule struct {
	pattern   gitignore.Pattern // attributes match as .gitignore does
	attribute string
	set       bool
}

// exportRules are those of a whole tree; later ones win.
type exportRules []exportRule

// exportRules reads every .gitattributes of a commit; walkTree's order puts
// deeper ones later.
func (r *gitRepository) exportRules(commit *object.Commit) (exportRules, error) {
	var rules exportRules
	err := r.walkTree(commit.TreeHash, true, func(name string, e gitEntry) error {
		if path.Base(name) != ".gitattributes" || e.mode == filemode.Dir {
			return nil
		}
		content, err := r.readBlob(e.hash)
		if err != nil {
			return err
		}
		var domain []string
		if dir := path.Dir(name); dir != "." {
			domain = strings.Split(dir, "/")
		}
		for line := range strings.Lines(string(content)) {
			rules = append(rules, parseExportRules(line, domain)...)
		}
		return nil
	})
	return rules, err
}

func parseExportRules(line string, domain []string) exportRules {
	words := strings.Fields(line)
	if len(words) == 0 || strings.HasPrefix(words[0], "#") {
		return nil
	}
	var rules exportRules
	for _, word := range words[1:] {
		attribute := strings.TrimLeft(word, "-!")
		rules = append(rules, exportRule{gitignore.ParsePattern(words[0], domain), attribute, attribute == word})
	}
	return rules
}

// ignores reports whether export-ignore covers a path or a directory above it.
func (x exportRules) ignores(name string, isDir bool) bool {
	for ; name != "."; name, isDir = path.Dir(name), true {
		if x.has(name, isDir, "export-ignore") {
			return true
		}
	}
	return false
}

func (x exportRules) has(name string, isDir bool, attribute string) bool {
	for _, rule := range slices.Backward(x) {
		if rule.attribute == attribute && rule.pattern.Match(strings.Split(name, "/"), isDir) != gitignore.NoMatch {
			return rule.set
		}
	}
	return false
}

type tarGz struct {
	gz  *gzip.Writer
	tar *tar.Writer
}

// newTarGz starts an archive with the global header in which git archive puts
// the commit's SHA.
func newTarGz(buf *bytes.Buffer, commit *object.Commit) tarGz {
	gz := gzip.NewWriter(buf)
	t := tarGz{gz, tar.NewWriter(gz)}
	err := t.tar.WriteHeader(&tar.Header{
		Typeflag: tar.TypeXGlobalHeader, Name: "pax_global_header",
		PAXRecords: map[string]string{"comment": commit.Hash.String()},
	})
	if err != nil {
		panic("writing a tar header to memory: " + err.Error())
	}
	return t
}

func (t tarGz) Add(name string, mode filemode.FileMode, content []byte, modified time.Time) error {
	h := &tar.Header{Name: name, ModTime: modified, Mode: int64(permissions(mode)), Size: int64(len(content))}
	switch mode {
	case filemode.Dir:
		h.Typeflag = tar.TypeDir
	case filemode.Symlink:
		h.Typeflag, h.Linkname, h.Size, content = tar.TypeSymlink, string(content), 0, nil
	default:
		h.Typeflag = tar.TypeReg
	}
	if err := t.tar.WriteHeader(h); err != nil {
		return err
	}
	_, err := t.tar.Write(content)
	return err
}

func (t tarGz) Close() error {
	if err := t.tar.Close(); err != nil {
		return err
	}
	return t.gz.Close()
}

// permissions are those of git archive with its umask 002.
func permissions(mode filemode.FileMode) fs.FileMode {
	switch mode {
	case filemode.Regular:
		return 0o664
	case filemode.Symlink:
		return 0o777
	}
	return 0o775
}

type zipArchive struct{ *zip.Writer }

func (z zipArchive) Add(name string, mode filemode.FileMode, content []byte, modified time.Time) error {
	h := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: modified}
	switch mode {
	case filemode.Dir:
		h.SetMode(permissions(mode) | fs.ModeDir)
	case filemode.Symlink:
		h.SetMode(permissions(mode) | fs.ModeSymlink)
	default:
		h.SetMode(permissions(mode))
	}
	w, err := z.CreateHeader(h)
	if err != nil {
		return err
	}
	_, err = w.Write(content)
	return err
}
