package moduleaddr

import (
	"errors"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// expand reads a source without a scheme. It tries the short forms in the tools' order.
func expand(src string) (p Package, subdir string, err error) {
	scp := scpForm.FindStringSubmatch(src)
	switch {
	case strings.HasPrefix(src, "github.com/"): // OWNER/NAME[/SUBDIR]
		repository, query, _ := strings.Cut(src, "?")
		parts := strings.SplitN(repository, "/", 4)
		if len(parts) < 3 {
			return p, "", errors.New("an address of GitHub must be github.com/OWNER/NAME")
		}
		p, err = expandTo("git", strings.Join(parts[:3], "/"))
		if err == nil {
			p.URL.RawQuery = query
		}
		return p, strings.Join(parts[3:], "/"), err
	case scp != nil && scp[1] == "git": // other users are taken for something else than a repository
		name, query, _ := strings.Cut(scp[3], "?")
		values, err := url.ParseQuery(query)
		if err != nil {
			return p, "", errNoURL
		}
		return Package{"git", &url.URL{Scheme: "ssh", User: url.User("git"), Host: scp[2], Path: "/" + name, RawQuery: values.Encode()}}, "", nil
	case strings.HasPrefix(src, "bitbucket.org/"): // OWNER/NAME, which is always git today
		p, err = expandTo("git", src)
	case strings.Contains(src, "googleapis.com/"): // www.googleapis.com/storage/VERSION/BUCKET/OBJECT
		parts := strings.SplitN(src, "/", 5)
		if len(parts) < 5 {
			return p, "", errors.New("an address of Google Cloud Storage must be www.googleapis.com/storage/VERSION/BUCKET/OBJECT")
		}
		p, err = expandTo("gcs", "www.googleapis.com/storage/"+strings.Join(parts[2:], "/"))
	case strings.Contains(src, ".amazonaws.com/"):
		// s3[-REGION] with the bucket in the path, BUCKET.s3-REGION or BUCKET.s3.REGION
		host, key, _ := strings.Cut(src, "/")
		switch labels := strings.Split(host, "."); {
		case len(labels) == 3:
			p, err = expandTo("s3", labels[0]+".amazonaws.com/"+key)
		case len(labels) == 4:
			p, err = expandTo("s3", labels[1]+".amazonaws.com/"+labels[0]+"/"+key)
		case len(labels) == 5 && labels[1] == "s3":
			p, err = expandTo("s3", "s3."+labels[2]+".amazonaws.com/"+labels[0]+"/"+key)
		default:
			err = errors.New("the host is not one of S3")
		}
	case filepath.IsAbs(src) || path.IsAbs(src):
		p = Package{"file", &url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(filepath.ToSlash(src), "/")}}
	default:
		err = errNoRemote
	}
	return p, "", err
}

// expandTo is a package that is asked for over https, where repositories of git have
// names that end in .git.
func expandTo(getter, place string) (Package, error) {
	u, err := url.Parse("https://" + place)
	if err != nil {
		return Package{}, errNoURL
	}
	if getter == "git" && !strings.HasSuffix(u.Path, ".git") {
		u.Path, u.RawPath = u.Path+".git", ""
	}
	return Package{getter, u}, nil
}

// scpForm is how ssh's copy program writes a remote path: git@HOST:PATH.
var scpForm = regexp.MustCompile(`^(?:([^@]+)@)?([^:]+):/?(.+)$`)

// ParseSCP returns the URL of a repository that is written as HOST:PATH, perhaps with
// a user.
func ParseSCP(text string) (*url.URL, bool) {
	m := scpForm.FindStringSubmatch(text)
	if m == nil || strings.Contains(text, "://") {
		return nil, false
	}
	u := &url.URL{Scheme: "ssh", Host: m[2], Path: "/" + m[3]}
	if m[1] != "" {
		u.User = url.User(m[1])
	}
	return u, true
}
