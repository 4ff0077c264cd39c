package staticeval

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"hash"
	"net/url"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

const digests = "terraform 1.11 internal/lang/funcs/crypto.go"

// Encodings are functions of content. Here they are functions of texts; callers
// that read files make functions of files of them.
var Encodings = map[string]func(content []byte) string{
	"base64":       base64.StdEncoding.EncodeToString,
	"base64sha256": digest(sha256.New, base64.StdEncoding.EncodeToString),
	"base64sha512": digest(sha512.New, base64.StdEncoding.EncodeToString),
	"md5":          digest(md5.New, hex.EncodeToString),
	"sha1":         digest(sha1.New, hex.EncodeToString),
	"sha256":       digest(sha256.New, hex.EncodeToString),
	"sha512":       digest(sha512.New, hex.EncodeToString),
}

func digest(make func() hash.Hash, encode func([]byte) string) func([]byte) string {
	return func(content []byte) string {
		h := make()
		h.Write(content)
		return encode(h.Sum(nil))
	}
}

// encoded is a function of a text.
func encoded(name string) function.Function {
	return Text(func(text string) (cty.Value, error) { return cty.StringVal(Encodings[name]([]byte(text))), nil })
}

var base64DecodeFunc = Text(func(text string) (cty.Value, error) {
	decoded, err := base64.StdEncoding.DecodeString(text)
	if err != nil || !utf8.Valid(decoded) {
		return cty.NilVal, errors.New("it is no text in base64")
	}
	return cty.StringVal(string(decoded)), nil
})

var urlEncodeFunc = Text(func(text string) (cty.Value, error) { return cty.StringVal(url.QueryEscape(text)), nil })
