package main

import (
	"bytes"
	"crypto"
	//lint:ignore SA1019 keys that registries announce may be of this kind
	"crypto/dsa"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// expired is a list as long as may be, signed by a key that has expired since and
// is announced n times: OpenTofu goes on to the next key then. If there are
// signatures of others, there are no more but those.
func expired(name string, n, others int, says string, worst bool) hostile {
	then := func() time.Time { return time.Date(2019, 6, 1, 0, 0, 0, 0, time.UTC) }
	config := &packet.Config{Algorithm: packet.PubKeyAlgoEdDSA, Time: then, KeyLifetimeSecs: 24 * 3600}
	list := []byte(listed + strings.Repeat("0 0\n", 1<<16-50))
	key, err := openpgp.NewEntity("a", "", "a@evil.example", config)
	var signature bytes.Buffer
	if err == nil {
		err = openpgp.DetachSign(&signature, key, bytes.NewReader(list), config)
	}
	if err != nil {
		panic(err)
	}
	if others > 0 {
		other := bytes.ReplaceAll(signature.Bytes(), binary.BigEndian.AppendUint64(nil, key.PrimaryKey.KeyId), make([]byte, 8))
		signature = *bytes.NewBuffer(bytes.Repeat(other, others))
	}
	public := asAnnounced(func(b *bytes.Buffer) error { return key.Serialize(b) })
	h := registry(name, pathList, func() []byte { return list }, says, worst)
	h.args = append([]string{"upgrade", "--tool=opentofu"}, h.args[1:]...)
	h.answers[pathSignature] = func() []byte { return signature.Bytes() }
	h.answers[pathDownload] = announced(public, repeat(","+public, n-1))
	return h
}

// slowKey is 300 keys in one block, of numbers that each take a signature a
// third of a second.
func slowKey() []byte {
	q, err := rand.Prime(rand.Reader, 256)
	if err != nil {
		panic(err)
	}
	p := new(big.Int).Lsh(big.NewInt(1), 65_000)
	numbers := dsa.Parameters{P: p.Add(p, big.NewInt(1)), Q: q, G: big.NewInt(2)}
	created := time.Date(2019, 6, 1, 0, 0, 0, 0, time.UTC)
	key := packet.NewDSAPrivateKey(created, &dsa.PrivateKey{PublicKey: dsa.PublicKey{Parameters: numbers, Y: big.NewInt(2)}, X: big.NewInt(1)})
	user := packet.NewUserId("a", "", "a@evil.example")
	signature := &packet.Signature{
		Version: 4, SigType: packet.SigTypePositiveCert, PubKeyAlgo: packet.PubKeyAlgoDSA, Hash: crypto.SHA256,
		CreationTime: created, IssuerKeyId: &key.KeyId,
	}
	return []byte(asAnnounced(func(b *bytes.Buffer) error {
		if err := signature.SignUserId(user.Id, &key.PublicKey, key, nil); err != nil {
			return err
		}
		for range 300 {
			if err := key.PublicKey.Serialize(b); err != nil {
				return err
			}
			if err := user.Serialize(b); err != nil {
				return err
			}
			if err := signature.Serialize(b); err != nil {
				return err
			}
		}
		return nil
	}))
}

// asAnnounced is a key as a registry announces it.
func asAnnounced(write func(*bytes.Buffer) error) string {
	var plain, armored bytes.Buffer
	err := write(&plain)
	w, armorErr := armor.Encode(&armored, openpgp.PublicKeyType, nil)
	if err != nil || armorErr != nil {
		panic(fmt.Sprint(err, armorErr))
	}
	w.Write(plain.Bytes())
	w.Close()
	text, err := json.Marshal(map[string]string{"ascii_armor": armored.String()})
	if err != nil {
		panic(err)
	}
	return string(text)
}
