package registry

import (
	//lint:ignore SA1019 keys that registries announce may be of this kind
	"crypto/dsa"
	"crypto/rsa"
	"fmt"
	"strings"

	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"github.com/relock-dev/relock/internal/collect"
)

// The bounds of the keys that a registry announces for a package. Usually they are one or
// two. Reading a key verifies each of its bindings, and each key verifies the list. The
// time for that grows with the size of the numbers, and no context ends it.
const (
	mostKeys    = 50
	mostPackets = 1_000 // keys, names and signatures of all keys together
	mostBits    = 16384 // of RSA's modulus; GnuPG makes keys of up to 4096
	mostBitsDSA = 3072  // of the prime; mostBitsQ is for the other number, by FIPS 186-4
	mostBitsQ   = 256
)

// checkKeys returns an error if verifying with these keys would take too long.
func checkKeys(keys []signingKey) error {
	if len(keys) > mostKeys {
		return badAnswer("announces more than %d signing keys", mostKeys)
	}
	packets := 0
	for _, key := range keys {
		block, err := armor.Decode(strings.NewReader(key.ASCIIArmor))
		if err != nil {
			continue // an error if the key is used
		}
		for all := packet.NewOpaqueReader(block.Body); ; packets++ {
			p, err := all.Next()
			if err != nil {
				break
			}
			if packets > mostPackets {
				return badAnswer("announces signing keys of more than %d parts", mostPackets)
			}
			if err := checkNumbers(p); err != nil {
				return badAnswer("announces a signing key that takes too long to verify with: %v", err)
			}
		}
	}
	return nil
}

// checkNumbers compares a key's numbers with the bounds.
func checkNumbers(p *packet.OpaquePacket) error {
	parsed, err := p.Parse()
	if err != nil {
		return nil // the library skips it or fails when it verifies
	}
	var key any
	switch k := parsed.(type) {
	case *packet.PublicKey:
		key = k.PublicKey
	case *packet.PrivateKey:
		key = k.PublicKey.PublicKey
	}
	switch k := key.(type) {
	case *rsa.PublicKey:
		if n := k.N.BitLen(); n > mostBits {
			return fmt.Errorf("an RSA modulus of %s, and at most %d are read", collect.Count(n, "bit", "bits"), mostBits)
		}
	case *dsa.PublicKey:
		if p, q := k.P.BitLen(), k.Q.BitLen(); p > mostBitsDSA || q > mostBitsQ {
			return fmt.Errorf("DSA numbers of %d and %s, and at most %d and %d are read", p, collect.Count(q, "bit", "bits"), mostBitsDSA, mostBitsQ)
		}
	}
	return nil
}
