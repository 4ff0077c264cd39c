package moduleaddr

import (
	"errors"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// shortForm is what a source without a scheme stands for.
type shortForm struct {
	getter string
	url    *url.URL
	subdir string
}

// expand tries the short forms in the tools' order.
func expand(src string) (shortForm, error) {
	for _, try := range []func(string) (shortForm, bool, error){
		expandGitHub, expandSSH, expandBitbucket, expandGCS, expandS3, expandPath,
	} {
		if short, ok, err := try(src); ok || err != nil {
			return short, err
		}
	}
	return shortForm{}, errNoRemote
}

// expandGitHub reads github.com/OWNER/NAME[/SUBDIR].
func expandGitHub(src string) (shortForm, bool, error) {
	repository, query, _ := strings.Cut(src, "?")
	if !strings.HasPrefix(repository, "github.com/") {
		return shortForm{}, false, nil
	}
	parts := strings.SplitN(repository, "/", 4)
	if len(parts) < 3 {
		return shortForm{}, false, errors.New("an address of GitHub must be github.com/OWNER/NAME")
	}
	u, err := url.Parse("https://" + strings.Join(parts[:3], "/"))
	if err != nil {
		return shortForm{}, false, errNoURL
	}
	u.RawQuery = query
	withGitSuffix(u)
	short := shortForm{getter: "git", url: u}
	if len(parts) == 4 {
		short.subdir = parts[3]
	}
	return short, true, nil
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

// expandSSH reads git@HOST:PATH. Other users than git are taken for something
// else than a repository.
func expandSSH(src string) (shortForm, bool, error) {
	m := scpForm.FindStringSubmatch(src)
	if m == nil || m[1] != "git" {
		return shortForm{}, false, nil
	}
	name, query, _ := strings.Cut(m[3], "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return shortForm{}, false, errNoURL
	}
	u := &url.URL{Scheme: "ssh", User: url.User(m[1]), Host: m[2], Path: "/" + name, RawQuery: values.Encode()}
	return shortForm{getter: "git", url: u}, true, nil
}

// expandBitbucket reads bitbucket.org/OWNER/NAME, which is always git today.
func expandBitbucket(src string) (shortForm, bool, error) {
	if !strings.HasPrefix(src, "bitbucket.org/") {
		return shortForm{}, false, nil
	}
	u, err := url.Parse("https://" + src)
	if err != nil {
		return shortForm{}, false, errNoURL
	}
	withGitSuffix(u)
	return shortForm{getter: "git", url: u}, true, nil
}

func withGitSuffix(u *url.URL) {
	if !strings.HasSuffix(u.Path, ".git") {
		u.Path, u.RawPath = u.Path+".git", ""
	}
}

// expandGCS reads www.googleapis.com/storage/VERSION/BUCKET/OBJECT.
func expandGCS(src string) (shortForm, bool, error) {
	if !strings.Contains(src, "googleapis.com/") {
		return shortForm{}, false, nil
	}
	parts := strings.SplitN(src, "/", 5)
	if len(parts) < 5 {
		return shortForm{}, false, errors.New("an address of Google Cloud Storage must be www.googleapis.com/storage/VERSION/BUCKET/OBJECT")
	}
	return objectForm("gcs", "https://www.googleapis.com/storage/"+strings.Join(parts[2:], "/"))
}

// expandS3 reads the three styles of addresses in S3: s3[-REGION] with the
// bucket in the path, and BUCKET.s3-REGION and BUCKET.s3.REGION.
func expandS3(src string) (shortForm, bool, error) {
	if !strings.Contains(src, ".amazonaws.com/") {
		return shortForm{}, false, nil
	}
	host, key, _ := strings.Cut(src, "/")
	switch labels := strings.Split(host, "."); {
	case len(labels) == 3:
		return objectForm("s3", "https://"+labels[0]+".amazonaws.com/"+key)
	case len(labels) == 4:
		return objectForm("s3", "https://"+labels[1]+".amazonaws.com/"+labels[0]+"/"+key)
	case len(labels) == 5 && labels[1] == "s3":
		return objectForm("s3", "https://s3."+labels[2]+".amazonaws.com/"+labels[0]+"/"+key)
	}
	return shortForm{}, false, errors.New("the host is not one of S3")
}

func objectForm(getter, text string) (shortForm, bool, error) {
	u, err := url.Parse(text)
	if err != nil {
		return shortForm{}, false, errNoURL
	}
	return shortForm{getter: getter, url: u}, true, nil
}

// expandPath reads an absolute path of the machine.
func expandPath(src string) (shortForm, bool, error) {
	if !filepath.IsAbs(src) && !path.IsAbs(src) {
		return shortForm{}, false, nil
	}
	u := &url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(filepath.ToSlash(src), "/")}
	return shortForm{getter: "file", url: u}, true, nil
}
