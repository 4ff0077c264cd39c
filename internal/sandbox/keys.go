package sandbox

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// keyText describes a signing key. Every field is optional.
type keyText struct {
	Owner   string    // NAME (COMMENT) <EMAIL>; default: the key's name
	Created time.Time // default: 2018
	Expires time.Time // default: never
	Signs   time.Time // when it signs; default: 2019
}

var (
	keysCreated = time.Date(2018, 1, 1, 0, 0, 0, 0, time.UTC)
	keysSign    = time.Date(2019, 1, 1, 0, 0, 0, 0, time.UTC)
)

// wellKnownKeys are in every world: two valid keys, and one that expired after it
// signed.
var wellKnownKeys = map[string]keyText{
	"k1":   {},
	"k2":   {},
	"kexp": {Expires: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)},
}

const defaultKey = "k1"

// keyring holds signing keys by name.
type keyring map[string]*signingKey

type signingKey struct {
	public publicKey
	entity *openpgp.Entity
	signs  time.Time
}

// publicKey is a key in a registry's answer.
type publicKey struct {
	ID    string `json:"key_id"`
	Armor string `json:"ascii_armor"`
}

func newKeyring(declared map[string]keyText) (keyring, error) {
	texts := maps.Clone(wellKnownKeys)
	maps.Copy(texts, declared)
	ring := make(keyring, len(texts))
	for name, text := range texts {
		key, err := newSigningKey(name, text)
		if err != nil {
			return nil, fmt.Errorf("making the key %q: %w", name, err)
		}
		ring[name] = key
	}
	return ring, nil
}

// ownerForm splits a user ID of OpenPGP. It matches any string.
var ownerForm = regexp.MustCompile(`(?s)^(.*?)(?: \((.*)\))?(?: <(.*)>)?$`)

// newSigningKey derives a key from its name, so that a world has the same key IDs
// and signatures everywhere. The algorithm is Ed25519 in its old OpenPGP form,
// which every release of the tools reads. RSA and ECDSA keys cannot be derived
// from a seed, and their signatures need randomness.
func newSigningKey(name string, text keyText) (*signingKey, error) {
	created, signs := text.Created, text.Signs
	if created.IsZero() {
		created = keysCreated
	}
	if signs.IsZero() {
		signs = keysSign
	}
	config := keyConfig(created)
	config.Rand = rand.NewChaCha8(sha256.Sum256([]byte("relock sandbox key " + name)))
	if !text.Expires.IsZero() {
		if !text.Expires.After(created) {
			return nil, fmt.Errorf("it expires before it is created")
		}
		config.KeyLifetimeSecs = uint32(text.Expires.Sub(created).Seconds())
	}
	owner := ownerForm.FindStringSubmatch(cmp.Or(text.Owner, name))
	entity, err := openpgp.NewEntity(owner[1], owner[2], owner[3], config)
	if err != nil {
		return nil, err
	}
	public, err := announce(entity)
	if err != nil {
		return nil, err
	}
	return &signingKey{public: public, entity: entity, signs: signs}, nil
}

func keyConfig(now time.Time) *packet.Config {
	return &packet.Config{
		Algorithm: packet.PubKeyAlgoEdDSA,
		Time:      func() time.Time { return now },
		// By default the library salts signatures with random notations.
		NonDeterministicSignaturesViaNotation: new(false),
	}
}

func announce(entity *openpgp.Entity) (publicKey, error) {
	var text bytes.Buffer
	w, err := armor.Encode(&text, openpgp.PublicKeyType, nil)
	if err != nil {
		return publicKey{}, err
	}
	if err := entity.Serialize(w); err != nil {
		return publicKey{}, err
	}
	if err := w.Close(); err != nil {
		return publicKey{}, err
	}
	return publicKey{ID: entity.PrimaryKey.KeyIdString(), Armor: text.String()}, nil
}

func (k keyring) key(name string) (*signingKey, error) {
	key, ok := k[name]
	if !ok {
		return nil, fmt.Errorf("unknown key %q: declare it in the file keys", name)
	}
	return key, nil
}

// sign makes a detached binary signature, the only kind that the tools accept
// for checksum lists.
func (s *signingKey) sign(list []byte) ([]byte, error) {
	var signature bytes.Buffer
	if err := openpgp.DetachSign(&signature, s.entity, bytes.NewReader(list), keyConfig(s.signs)); err != nil {
		return nil, fmt.Errorf("signing a checksum list: %w", err)
	}
	return signature.Bytes(), nil
}
