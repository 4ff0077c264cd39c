package module

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// climbing are names of objects that lead out of the directory to a file that a later login
// reads.
var climbing = []string{
	"mod/../../escaped.tf", "../escaped.tf", "../../home/u/.ssh/authorized_keys", "mod/a/../../../../escaped.tf", `mod/..\..\escaped.tf`, "/escaped.tf",
}

// temporary makes a temporary directory for the process, inside a directory that it
// returns, so that the test finds a file outside it.
func temporary(t *testing.T) string {
	t.Helper()
	outer := t.TempDir()
	inner := filepath.Join(outer, "a", "b", "tmp")
	if err := os.MkdirAll(inner, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", inner)
	return outer
}

// filesBelow are the regular files below a directory.
func filesBelow(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			found = append(found, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestClimbingObjectsOfS3(t *testing.T) {
	for _, key := range climbing {
		t.Run(key, func(t *testing.T) {
			outer := temporary(t)
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Has("prefix") {
					fmt.Fprintf(w, "<ListBucketResult><Contents><Key>mod/main.tf</Key></Contents><Contents><Key>%s</Key></Contents></ListBucketResult>", key)
					return
				}
				fmt.Fprint(w, "ssh-ed25519 AAAA")
			})
			source := "s3::" + s.URL + "/bucket/mod?aws_access_key_id=a&aws_access_key_secret=b"
			if p, err := newClient(t, Options{}, s).Fetch(t.Context(), terraform, call(source)); err == nil {
				t.Errorf("Fetch = %v, want that the object %q is refused", names(t, p.FS), key)
			}
			if found := filesBelow(t, outer); len(found) > 0 {
				t.Errorf("the object %q was written to %v", key, found)
			}
		})
	}
}

func TestClimbingObjectsOfGCS(t *testing.T) {
	for _, key := range climbing {
		t.Run(key, func(t *testing.T) {
			outer := temporary(t)
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/o") {
					items := []map[string]string{{"name": "mod/main.tf", "bucket": "bucket"}, {"name": key, "bucket": "bucket"}}
					json.NewEncoder(w).Encode(map[string]any{"items": items})
					return
				}
				fmt.Fprint(w, "ssh-ed25519 AAAA")
			})
			c := withGoogle(t, s, "GOOGLE_OAUTH_ACCESS_TOKEN=t0ken")
			if p, err := c.Fetch(t.Context(), terraform, call("www.googleapis.com/storage/v1/bucket/mod")); err == nil {
				t.Errorf("Fetch = %v, want that the object %q is refused", names(t, p.FS), key)
			}
			if found := filesBelow(t, outer); len(found) > 0 {
				t.Errorf("the object %q was written to %v", key, found)
			}
		})
	}
}
