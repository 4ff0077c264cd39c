package transport

import (
	"bytes"
	"cmp"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/relock-dev/relock/internal/file"
)

// The bounds of Answers. A registry's list of versions has some hundred
// kilobytes, and all that is asked about one release some tens.
const (
	maxAnswers     = 10_000
	maxAnswerBytes = 64 << 20
	// maxIdle is how long an answer stays that nobody has asked for.
	maxIdle = 30 * 24 * time.Hour
)

const (
	answerPrefix = "answer-"
	// answerHeader ends with the version of the format.
	answerHeader = "relock answer 1\n"
	// answerExtra bounds what a file holds beside the body.
	answerExtra = 64 << 10
)

// Answers keeps answers from one run to the next: each in a file of its own,
// which is there whole or not at all, in one directory, which any number of runs
// may use at the same time. What is old, and what is too much, goes first when
// a run begins.
//
// A file is named for, and sealed with a key made of, the question: the URL with
// its query and the token. Who does not ask with the same token can neither find
// the answer nor read it, and a file that was damaged does not open. Neither
// tokens nor queries are in it.
//
// For as long as an answer is valid it stands for what the server would say over
// TLS, so that whoever can write to the directory speaks for every server. It is
// as much a root of trust as the cache of hashes is.
type Answers struct {
	dir      string
	readOnly bool
	left     atomic.Int64 // bytes that this run may add
	now      func() time.Time
}

// OpenAnswers uses the directory, which is created if it is missing, and removes
// old answers from it. Other files in it are left alone.
func OpenAnswers(dir string) (*Answers, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	a := &Answers{dir: dir, now: time.Now}
	a.left.Store(maxAnswerBytes)
	return a, a.prune(maxAnswers, maxAnswerBytes)
}

// OpenReadOnlyAnswers is OpenAnswers for runs that may use what is kept but
// change nothing. A directory that is missing is empty.
func OpenReadOnlyAnswers(dir string) *Answers {
	return &Answers{dir: dir, readOnly: true, now: time.Now}
}

// prune removes what has not been confirmed for long, and the oldest of what is
// too much. Another run may be doing the same.
func (a *Answers) prune(number int, size int64) error {
	entries, err := os.ReadDir(a.dir)
	if err != nil {
		return err
	}
	var files []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && strings.HasPrefix(e.Name(), answerPrefix) {
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	var failed []error
	for i, f := range files {
		size -= f.Size()
		if i < number && size >= 0 && a.now().Sub(f.ModTime()) <= maxIdle {
			continue
		}
		if err := os.Remove(filepath.Join(a.dir, f.Name())); !errors.Is(err, fs.ErrNotExist) {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// find returns what is kept for a question; nil if there is nothing that can be
// used.
func (a *Answers) find(r Request) *kept {
	name, aead := r.seal()
	limit := cmp.Or(r.Limit, DefaultLimit)
	sealed := read(filepath.Join(a.dir, name), limit+answerExtra)
	sealed, ok := bytes.CutPrefix(sealed, []byte(answerHeader))
	if !ok || len(sealed) < aead.NonceSize() {
		return nil
	}
	nonce, sealed := sealed[:aead.NonceSize()], sealed[aead.NonceSize():]
	plain, err := aead.Open(nil, nonce, sealed, []byte(answerHeader))
	if err != nil {
		return nil
	}
	head, body, _ := bytes.Cut(plain, []byte("\n"))
	k := &kept{body: body}
	if json.Unmarshal(head, k) != nil || int64(len(body)) > limit || !k.answers(r) {
		return nil
	}
	return k
}

// read returns a file; nothing if it is none, or is longer than the limit.
func read(path string, limit int64) []byte {
	info, err := os.Stat(path) // before opening, which waits for a writer of a pipe
	if err != nil || !info.Mode().IsRegular() || info.Size() > limit {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit))
	if err != nil {
		return nil
	}
	return data
}

// keep writes an answer, if it may and need be kept. One that has neither
// validity nor anything to confirm it by is of no use.
func (a *Answers) keep(r Request, k *kept) error {
	validity, keepable := k.validity(r.Validity)
	if a.readOnly || !keepable || validity <= 0 && k.conditions() == nil {
		return nil
	}
	name, aead := r.seal()
	head, err := json.Marshal(k)
	if err != nil || len(head) > answerExtra/2 {
		return err
	}
	nonce := make([]byte, aead.NonceSize())
	rand.Read(nonce) // which never fails
	text := append([]byte(answerHeader), nonce...)
	text = aead.Seal(text, nonce, slices.Concat(head, []byte("\n"), k.body), []byte(answerHeader))
	if a.left.Add(-int64(len(text))) < 0 {
		return nil
	}
	// Half of an answer does not open, so that none need outlive a power failure.
	return file.Replace(filepath.Join(a.dir, name), text, file.Options{})
}

// seal returns the name of the file for a question, and what its content is
// sealed with.
func (r Request) seal() (name string, aead cipher.AEAD) {
	digest := func(purpose string) [sha256.Size]byte {
		return sha256.Sum256(fmt.Appendf(nil, "relock %s\n%q\n%q", purpose, r.URL.String(), r.Token))
	}
	of, key := digest("name"), digest("key")
	block, err := aes.NewCipher(key[:])
	if err == nil {
		aead, err = cipher.NewGCM(block)
	}
	if err != nil {
		panic(err) // the key has a length that there is a cipher for
	}
	return answerPrefix + hex.EncodeToString(of[:]), aead
}
